import type { IdentityConfig } from '../config.ts'
import { kubeletMaySet } from '../kubelet-labels.ts'
import { type LabelSelector, parseLabelSelector, type Requirement } from '../label-selector.ts'
import { row, type SectionTable } from './row.ts'
import { choice, flag, textOf } from './values.ts'

const selector = textOf<LabelSelector | undefined>(parseLabelSelector, undefined)

export const IDENTITY: SectionTable<IdentityConfig> = {
  others: {},
  rows: {
    require: row(choice(['asserted', 'reported', 'proven']), {
      default: 'reported',
      // Its default depends on the command line, and may be the weakest level.
      neverEmpty: true,
      meaning: 'Level that a Node needs: [`asserted`, `reported` or `proven`](#how-much-a-node-must-prove).',
      warn: (level) => (level === 'asserted' ? ASSERTED : undefined),
    }),
    exempt: row(selector, {
      meaning: 'Label selector of Nodes that may stay at `asserted`.',
      otherwise: 'none',
      warn: (exempt, { require }) => {
        if (exempt === undefined) return undefined
        if (require === 'asserted') return IDLE_EXEMPT
        return standsFirm(exempt) ? undefined : SELF_EXEMPT
      },
    }),
    requireAllVCenters: row(flag, {
      default: 'true',
      meaning:
        'Whether a new Node without a [claim](security.md#the-claim) waits until every vCenter answers. `false` draws a warning: it may be bound to a copy.',
      warn: (all) => (all ? undefined : ANY_VCENTER),
    }),
  },
}

const ASSERTED =
  'is for migration only, because the kubelet is believed, as by the CPI: set reported once agents run on every node'
const ANY_VCENTER =
  'false lets anyone who can give a VM the UUID of a new Node in one vCenter get that Node while another vCenter does not answer: remove it once agents write claims'
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
