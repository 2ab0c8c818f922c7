import type { IdentityConfig } from '../config.ts'
import { kubeletMaySet } from '../kubelet-labels.ts'
import { type LabelSelector, parseLabelSelector, type Requirement } from '../label-selector.ts'
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
      // Its default depends on the command line, and may be the weakest level.
      neverEmpty: true,
      meaning:
        'The level that a Node must reach: `asserted`, `reported` or `proven`; see [below](#how-much-a-node-must-prove), also for the risk that the default leaves.',
      warn: (level) => (level === 'asserted' ? ASSERTED : undefined),
    }),
    exempt: row(selector, {
      meaning: 'Label selector; the Nodes that it selects may stay at `asserted`.',
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
  'is for migration only, because the kubelet is believed, as by the CPI: set reported once agents run on every node'
const IDLE_EXEMPT = 'has no effect with "require: asserted", because no Node must prove more: remove it'
const SELF_EXEMPT =
  'selects by labels that a kubelet can set on its own Node, so a compromised node could exempt itself: use a label under "node-restriction.kubernetes.io/", such as example.com.node-restriction.kubernetes.io/no-agent'

/** Whether no kubelet can get its own Node selected: it would need a label that it may not set. */
function standsFirm({ requirements }: LabelSelector): boolean {
  return requirements.some((requirement) => needsLabel(requirement) && !kubeletMaySet(requirement.key))
}

/** Otherwise a Node is selected as soon as it registers, until somebody gives it the label. */
function needsLabel({ operator }: Requirement): boolean {
  return operator !== 'notIn' && operator !== 'doesNotExist'
}
