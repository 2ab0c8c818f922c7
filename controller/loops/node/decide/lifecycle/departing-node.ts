import type { Decision } from '../decision.ts'
import type { NodeFacts } from '../node-facts.ts'
import { probeInterval } from './deletion-step.ts'
import { evidenceOn, isGone } from './evidence.ts'
import { presenceOf } from './presence.ts'
import { planProbe } from './probe-plan.ts'

/** Longest time between two looks, milliseconds. */
const LOOK = 60_000

/**
 * What is still done for a Node that is being deleted: nothing is written to it, but where no vCenter shows its machine, or a
 * copy alone, it is probed as before a deletion. Once that is proven gone the Node holds no address and no VM, though a finalizer may keep
 * the Node itself for ever. It does not count for the brake: its deletion is decided.
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
  const interval = probeInterval({ node, evidence, settings: settings.lifecycle }, unmet)
  const dueIn = evidence.askedAt + interval - monotonic
  return {
    probePlan: planProbe(machines, facts, { due: dueIn <= 0, ...how }),
    recheck: dueIn <= 0 ? [] : machines.machines.map(({ biosUUID }) => biosUUID),
    requeueAfter: dueIn <= 0 ? LOOK : Math.min(LOOK, dueIn),
  }
}
