import { type ConditionValue, no, yes } from '../condition-value.ts'
import type { NodeFacts } from '../node-facts.ts'

/**
 * Whether it could be proven that a Node's VM is gone, told while the VM is still there: an account that may not read
 * enough goes unnoticed until the Node should be deleted and is not. Set only when something is wrong, and once more when
 * it is fixed, so that a thousand healthy Nodes cost no write.
 */
export function judgeDeletionPossible({
  previous: { vm, identityLevel, conditions = [] },
  provable,
  settings,
}: Pick<NodeFacts, 'previous' | 'provable' | 'settings'>): ConditionValue | undefined {
  if (vm === undefined || identityLevel === undefined || settings.lifecycle.deletion === 'off')
    return undefined
  for (const proof of provable) {
    if (proof?.state !== 'unproven') continue
    const { vCenter, reason, message } = proof.failure
    return no(
      reason,
      `if its VM vanished, that could not be proven, and the Node would be kept for ever: vCenter ${vCenter}: ${message}`,
    )
  }
  const told = conditions.some(({ type, status }) => type === 'DeletionPossible' && status !== 'True')
  if (!told || provable.includes(undefined)) return undefined
  return yes('AbsenceProvable', 'the account may read everything that a proof of absence needs')
}
