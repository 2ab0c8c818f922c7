import type { NodeMachines } from '../../node/machines.ts'
import type { ProbePlan } from '../decision.ts'
import type { NodeFacts } from '../node-facts.ts'
import { type Evidence, isAbout, lifeSignOf, type ProbeRequest } from './evidence.ts'

/** The evidence, where it is about these machines of this Node. */
export function evidenceOn(
  { machines: [vm, ...others] }: NodeMachines,
  { node, evidence }: NodeFacts,
): Evidence | undefined {
  return evidence !== undefined && isAbout(evidence.request, { nodeUID: node.uid, vm, others })
    ? evidence
    : undefined
}

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
    volumes: how.absence !== undefined && settings.lifecycle.waitForVolumes !== undefined,
  }
  return { request, ...how }
}
