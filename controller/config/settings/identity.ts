import { type LabelSelector, parseLabelSelector, type Requirement } from '../../label-selector.ts'
import type { IdentityConfig } from '../config.ts'
import { kubeletMaySet } from '../kubelet-labels.ts'
import { row, type SectionTable, type ValueType } from './row.ts'
import { choice, TEXT } from './value-types.ts'

const selector: ValueType<LabelSelector | undefined> = {
  form: 'text',
  parse: parseLabelSelector,
  nothing: undefined,
  schema: TEXT,
}

export const IDENTITY: SectionTable<IdentityConfig> = {
  others: {},
  rows: {
    require: row(choice(['asserted', 'reported', 'proven']), {
      default: 'reported',
      // What it means when absent depends on the command line, and may be the weakest level.
      neverEmpty: true,
      meaning:
        'The level that a Node must reach: `asserted`, `reported` or `proven`; see [below](#how-much-a-node-must-prove), also for what the default leaves open.',
      warn: (level) => (level === 'asserted' ? ASSERTED : undefined),
    }),
    exempt: row(selector, {
      meaning: 'Label selector; the Nodes that it picks may stay at `asserted`.',
      otherwise: 'none',
      warn: (exempt, { require }) => {
        if (exempt === undefined) return undefined
        if (require === 'asserted') return IDLE_EXEMPT
        return standsFirm(exempt) ? undefined : SELF_EXEMPT
      },
    }),
  },
}

const ASSERTED =
  "is for migration only, the kubelet's word is believed as by the CPI: set reported once agents run on every node"
const IDLE_EXEMPT = 'has no effect beside "require: asserted", no Node must prove more: remove it'
const SELF_EXEMPT =
  'selects by labels that a kubelet can set on its own Node, so a compromised node could exempt itself: use a label under "node-restriction.kubernetes.io/", as example.com.node-restriction.kubernetes.io/no-agent'

/** Whether no kubelet can bring its Node among those that are picked: it would need a label that it may not set. */
function standsFirm({ requirements }: LabelSelector): boolean {
  return requirements.some((requirement) => needsLabel(requirement) && !kubeletMaySet(requirement.key))
}

/** Else a Node is picked as soon as it registers, until somebody gives it the label. */
function needsLabel({ operator }: Requirement): boolean {
  return operator !== 'notIn' && operator !== 'doesNotExist'
}
