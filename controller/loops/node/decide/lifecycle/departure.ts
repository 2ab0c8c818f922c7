import type { NodeFacts } from '../node-facts.ts'
import { evidenceOn, isFresh } from './evidence.ts'

/**
 * Whether the VM that a Node is bound to is proven gone from its own vCenter, by as many answers over as much time as a
 * deletion takes, and its machine has spoken since. It is another VM by now.
 */
export function hasDeparted(facts: NodeFacts): boolean {
  const { machines, settings } = facts
  const evidence = machines === undefined ? undefined : evidenceOn(machines, facts)
  const departed = evidence?.departed
  if (evidence === undefined || departed === undefined || !isFresh(evidence, facts)) return false
  const { confirmations, absentFor } = settings.lifecycle
  return departed.spoke && departed.times >= confirmations && departed.last - departed.since >= absentFor
}
