import { type ConditionValue, no, yes } from '../condition.ts'
import type { NodeFacts } from '../node-facts.ts'
import type { PreviousReport } from '../status.ts'

/**
 * Whether it could be proven that the VM of a Node is gone, told while it is there: an account that may not read enough
 * shows in nothing else until its Node ought to go, and then stays. Only what is wrong is told, and that it is so no
 * more: a thousand Nodes that are well cost no write.
 */
export function judgeDeletionPossible(
  { status: { vm, identityLevel, conditions = [] } }: PreviousReport,
  { provable, settings }: Pick<NodeFacts, 'provable' | 'settings'>,
): ConditionValue | undefined {
  if (vm === undefined || identityLevel === undefined || settings.lifecycle.deletion === 'off')
    return undefined
  for (const proof of provable) {
    if (proof?.state !== 'unproven') continue
    const { vCenter, reason, message } = proof.failure
    return no(
      reason,
      `once its VM is gone that could not be proven, and the Node would be kept for ever: vCenter ${vCenter}: ${message}`,
    )
  }
  const told = conditions.some(({ type, status }) => type === 'DeletionPossible' && status !== 'True')
  if (!told || provable.includes(undefined)) return undefined
  return yes('AbsenceProvable', 'the account may read all that a proof of absence rests on')
}
