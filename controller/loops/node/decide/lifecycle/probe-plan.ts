import type { NodeMachines } from '../../facts/machines.ts'
import type { Decision, ProbePlan } from '../decision.ts'
import type { NodeFacts } from '../node-facts.ts'
import { intervalFor, probeInterval } from './deletion-step.ts'
import { agentSignOf, evidenceOn, isGone, lifeSignOf, type ProbeRequest } from './evidence.ts'
import { presenceOf } from './presence.ts'

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

/**
 * The probe of a VM that is not found while another has its UUID, and when to decide again, milliseconds. Where the last one
 * found that other gone as well, which no vCenter has pushed, it is as of a VM that is missing: sooner again if the machine
 * has spoken since, which may have been before it was destroyed.
 */
export function probeDeparture(
  machines: NodeMachines,
  facts: NodeFacts,
): { readonly probePlan: ProbePlan; readonly requeueAfter: number } {
  const { node, settings } = facts
  const { lifecycle } = settings
  const most = intervalFor(lifecycle.absentFor, lifecycle)
  const evidence = evidenceOn(machines, facts)
  const interval =
    evidence?.absent === undefined ? most : Math.min(most, probeInterval({ node, evidence, settings }, []))
  const dueIn = evidence === undefined ? 0 : evidence.askedAt + interval - facts.monotonic
  const probePlan = planProbe(machines, facts, { due: dueIn <= 0 })
  return { probePlan, requeueAfter: dueIn <= 0 ? interval : dueIn }
}

/** Longest time between two looks at a Node whose VM is missing, milliseconds. */
export const LOOK = 60_000

/**
 * What is still done for a Node that is being deleted: nothing is written to it, but where no vCenter shows its machine, or a
 * copy alone, it is probed as before a deletion. Once that is proven gone the Node holds no address and no VM, though a finalizer may keep
 * the Node itself forever. It does not count for the brake: its deletion is decided.
 */
export function judgeDepartingNode(
  facts: NodeFacts,
): Pick<Decision, 'probePlan' | 'recheck' | 'requeueAfter'> {
  const { node, report, machines, lookups, interlock, settings, monotonic } = facts
  if (machines === undefined || interlock.state === 'held' || node.ready?.status === 'True') return {}
  const { kind } = presenceOf(machines, lookups)
  // A copy must not keep what the machine held.
  if (kind !== 'missing' && kind !== 'other') return {}
  const how = kind === 'missing' ? ({ missing: true } as const) : {}
  const evidence = evidenceOn(machines, facts)
  if (evidence === undefined)
    return { probePlan: planProbe(machines, facts, { due: true, ...how }), requeueAfter: LOOK }
  const unmet = isGone(node, report, evidence) ? [] : ['Confirmed']
  const interval = probeInterval({ node, evidence, settings }, unmet)
  const dueIn = evidence.askedAt + interval - monotonic
  return {
    probePlan: planProbe(machines, facts, { due: dueIn <= 0, ...how }),
    recheck: dueIn <= 0 ? [] : machines.machines.map(({ biosUUID }) => biosUUID),
    requeueAfter: dueIn <= 0 ? LOOK : Math.min(LOOK, dueIn),
  }
}
