import type { NodeMachines } from '../../node/machines.ts'
import type { ProbePlan } from '../decision.ts'
import type { NodeFacts } from '../node-facts.ts'
import { isFresh } from './evidence.ts'
import { evidenceOn, planProbe } from './probe-plan.ts'

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

/** Least time between two probes, milliseconds. */
const LEAST = 1_000

/** The probe of a VM that is not found while another has its UUID, and when to decide again, milliseconds. */
export function probeDeparture(
  machines: NodeMachines,
  facts: NodeFacts,
): { readonly probePlan: ProbePlan; readonly requeueAfter: number } {
  const { confirmations, absentFor } = facts.settings.lifecycle
  const interval = Math.max(LEAST, absentFor / Math.max(1, confirmations - 1))
  const evidence = evidenceOn(machines, facts)
  const dueIn = evidence === undefined ? 0 : evidence.askedAt + interval - facts.monotonic
  const probePlan = planProbe(machines, facts, { due: dueIn <= 0 })
  return { probePlan, requeueAfter: dueIn <= 0 ? interval : dueIn }
}
