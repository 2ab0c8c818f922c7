/** What `/readyz` says of a leader's work, one line each: what keeps it from being ready, and what else people should know. */
import { timeOfDay } from '../lib/format-time.ts'
import type { InterlockState } from '../types/interlock-state.ts'
import type { PolicyState } from '../types/policy-state.ts'
import type { RunningInventory } from '../vcenter/running-inventory.ts'

export function policyProblem(policy: PolicyState): readonly string[] {
  if (policy.state === 'in-force') return []
  return [policy.state === 'pending' ? 'the policy for reports is not proven yet' : policy.message]
}

export function interlockProblem(interlock: InterlockState): readonly string[] {
  return interlock.state === 'held' ? [interlock.message] : []
}

/** Without the failure's message, which names users and addresses: anyone can read this port. The log has it. */
export function vCenterProblem(inventory: RunningInventory): readonly string[] {
  if (inventory.connected()) return []
  const failure = inventory.failure()
  const retryAt = failure?.retryAt
  const when = retryAt === undefined ? '' : `, will be retried at ${timeOfDay(retryAt)}`
  return [`vCenter ${inventory.vCenter}: ${failure?.reason ?? 'not connected yet'}${when}`]
}

/** Undefined while nobody knows. */
export function absenceProvable(inventory: RunningInventory): boolean | undefined {
  const proof = inventory.provableEverywhere()
  return proof && proof.state === 'proven'
}

/** The reason only, for the same cause. */
export function unprovable(inventory: RunningInventory): readonly string[] {
  const proof = inventory.provableEverywhere()
  if (proof?.state !== 'unproven') return []
  return [
    `vCenter ${inventory.vCenter}: ${proof.failure.reason}, so that Nodes whose VMs are gone are kept; see the condition DeletionPossible of NodeReports`,
  ]
}
