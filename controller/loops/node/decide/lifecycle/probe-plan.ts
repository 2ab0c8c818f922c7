import type { NodeMachines } from '../../facts/machines.ts'
import type { ProbePlan } from '../decision.ts'
import type { NodeFacts } from '../node-facts.ts'
import { agentSignOf, evidenceOn, lifeSignOf, type ProbeRequest } from './evidence.ts'

/** The probe of a Node's machines that a decision wants. */
export function planProbe(
  { machines: [vm, ...others] }: NodeMachines,
  { node, report, settings }: NodeFacts,
  how: Omit<ProbePlan, 'request'>,
): ProbePlan {
  const request: ProbeRequest = {
    nodeUID: node.uid,
    vm,
    others,
    lifeSign: lifeSignOf(node, report),
    agentSign: agentSignOf(report),
    volumes: how.absence !== undefined && settings.lifecycle.waitForVolumes !== undefined,
  }
  return { request, ...how }
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
