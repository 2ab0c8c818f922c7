import { BETA_LABELS } from '../../types/well-known.ts'
import type { IdentityConfig } from '../config.ts'
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

/** Labels that a kubelet may set on its own Node although they are Kubernetes' own (pkg/apis `kubeletLabels`, 0.36). */
const ALLOWED: ReadonlySet<string> = new Set([
  'kubernetes.io/hostname',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
  ...Object.entries(BETA_LABELS).flat(),
])
const ALLOWED_DOMAINS = ['kubelet.kubernetes.io', 'node.kubernetes.io']

/**
 * Whether the admission plugin NodeRestriction lets a kubelet set, change and remove this label of its own Node: any label
 * except Kubernetes' own, and of those the ones that describe the machine.
 */
export function kubeletMaySet(key: string): boolean {
  const [domain] = key.includes('/') ? key.split('/') : []
  if (domain === undefined) return true
  if (within(domain, 'node-restriction.kubernetes.io')) return false
  if (!within(domain, 'kubernetes.io') && !within(domain, 'k8s.io')) return true
  return ALLOWED.has(key) || ALLOWED_DOMAINS.some((allowed) => within(domain, allowed))
}

function within(domain: string, parent: string): boolean {
  return domain === parent || domain.endsWith(`.${parent}`)
}
