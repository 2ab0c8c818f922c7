import type { IdentityLevel } from '../../agent/contract.ts'
import { type LabelSelector, parseLabelSelector, type Requirement } from '../label-selector.ts'
import type { IdentityConfig } from './config.ts'
import type { Findings } from './findings.ts'
import { kubeletMaySet } from './kubelet-labels.ts'
import type { Section } from './sections.ts'
import { parseChoice, take } from './values.ts'

const LEVELS: readonly IdentityLevel[] = ['asserted', 'reported', 'proven']
const DEFAULT_LEVEL: IdentityLevel = 'reported'

/** How much a Node must prove, and which Nodes are exempt. Errors go to the findings, and the default is used instead. */
export function checkIdentity(section: Section, findings: Findings): IdentityConfig {
  const level = section.get('require')
  const selector = section.get('exempt')
  const require = take(level, (text) => parseChoice(text, LEVELS), findings) ?? DEFAULT_LEVEL
  const exempt = take(selector, parseLabelSelector, findings)
  if (require === 'asserted' && level !== undefined) findings.warn(level.path, level.at, ASSERTED)
  if (selector !== undefined && exempt !== undefined) {
    if (require === 'asserted') findings.warn(selector.path, selector.at, IDLE_EXEMPT)
    else if (!standsFirm(exempt)) findings.warn(selector.path, selector.at, SELF_EXEMPT)
  }
  return { require, exempt }
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
