import { type ConditionValue, no, yes } from '../condition-value.ts'
import type { NodeFacts } from '../node-facts.ts'
import { mayReadAll } from './absence-proofs.ts'

/**
 * Whether it could be proven that a Node's VM is gone, told while the VM is still there: an account that may not read
 * enough goes unnoticed until the Node should be deleted and is not. Set only when something is wrong, and once more when
 * it is fixed, so that a thousand healthy Nodes cost no write. Once a VM is missing nobody may look after what was above it
 * any more; then its own probe says that it is fixed.
 */
export function judgeDeletionPossible({
  node,
  previous: { vm, identityLevel, conditions = [] },
  provable,
  evidence,
  settings,
}: Pick<NodeFacts, 'node' | 'previous' | 'provable' | 'evidence' | 'settings'>): ConditionValue | undefined {
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
  const { request, probes = [] } = evidence ?? {}
  const probed = request?.nodeUID === node.uid && request.vm.moref === vm.moref && mayReadAll(probes)
  if (!told || (provable.includes(undefined) && !probed)) return undefined
  return yes('AbsenceProvable', 'the account may read everything that a proof of absence needs')
}
