import type { BoundVM } from '../../../agent/contract.ts'
import { ANNOTATION_DELETION, type Node } from '../../facts/node.ts'
import type { LifecycleSettings } from '../../facts/settings.ts'
import type { Missing } from './proofs.ts'

/** The Nodes of one vCenter, in numbers. */
export interface Fleet {
  /** Those that are verified to be one of its VMs, the missed ones among them. */
  readonly bound: number
  /** Those whose VM it does not show. */
  readonly missed: number
  /** Those among the missed for which the brake has closed before. */
  readonly braked: number
  /** How long ago each of the last deletions was, milliseconds. */
  readonly deletedAgo: readonly number[]
}

/** How many of a vCenter's VMs may be missed at once before that looks like a fault of vCenter. */
export function allowedMissed(bound: number, settings: LifecycleSettings): number {
  return Math.max(settings.maxAbsentMinimum, Math.floor(bound * settings.maxAbsentShare))
}

/**
 * Whether so many VMs are missed that no deletion is to be believed in: a vCenter restored from an old backup, or one
 * whose inventory is still loading, looks like that. As long as any of those that closed it is missed, it stays closed.
 */
export function brakeCloses(fleet: Fleet, settings: LifecycleSettings): boolean {
  // Those that just went were missed at the same time; else a vCenter that empties by and by would never close it.
  const deleted = fleet.deletedAgo.filter((ago) => ago < 2 * settings.absentFor).length
  return fleet.braked > 0 || fleet.missed + deleted > allowedMissed(fleet.bound + deleted, settings)
}

const MINUTE = 60_000

/** Milliseconds until the rate allows another deletion; 0 for now. */
export function waitForRate({ deletedAgo }: Fleet, settings: LifecycleSettings): number {
  const recent = deletedAgo.filter((ago) => ago < MINUTE).sort((a, b) => a - b)
  const nth = recent[settings.deletionsPerMinute - 1]
  return nth === undefined ? 0 : MINUTE - nth
}

/** Without numbers: they change with each Node that comes and goes, and every Node that is held would be written anew. */
export function brakeHolds({ name }: Pick<Node, 'name'>, { vCenter }: Pick<BoundVM, 'vCenter'>): Missing {
  return {
    reason: 'BrakeClosed',
    message: `the brake holds: more Nodes of vCenter ${vCenter} lost their VMs at once than lifecycle.maxAbsentShare and lifecycle.maxAbsentMinimum allow, which looks like a fault of vCenter; bring the VMs back, or, if they are gone on purpose: kubectl annotate node ${name} ${ANNOTATION_DELETION}=proceed`,
  }
}
