/**
 * The brake is a disruption limit: when too many VMs vanish from one vCenter at the same time, that looks like a fault of
 * vCenter, such as the restore of an old backup, and none of their Nodes is deleted. VMs that vanish one after the other
 * look like ordinary work.
 */
import type { BoundVM } from '../../../../../agent/shared/node-report.ts'
import type { LifecycleConfig } from '../../../../config/config.ts'
import { duration } from '../../../../lib/format.ts'
import { ANNOTATION_DELETION, type Node } from '../../../../types/node.ts'
import { isUnseen } from '../../facts/machines.ts'
import { isDecided } from '../../facts/removal.ts'
import type { Unmet } from './absence-proofs.ts'
import type { Evidence } from './evidence.ts'

/**
 * When a VM vanished: at the earliest when its vCenter last showed it, at the latest when it first went missing, or when its
 * machine was last certainly alive, if that is later.
 */
export interface Span {
  readonly from: number
  readonly until: number
}

/** A Node that the brake is engaged for, by its report's status. */
export interface LatchedNode {
  readonly name: string
  /** Its vCenter's name in the configuration. */
  readonly vCenter: string
  /** See `brakeGroup`. */
  readonly group: string
}

/** The other Nodes of one vCenter, in numbers. Times are monotonic, milliseconds. */
export interface Fleet {
  /** Nodes verified to be VMs of this vCenter, including the one being decided on. */
  readonly bound: number
  /** For each other Node that counts, when its VM vanished. */
  readonly absentSince: readonly Span[]
  /** The same for each Node that may still come to count. */
  readonly pendingSince: readonly Span[]
  /** Other Nodes whose status says that the brake is engaged for them. */
  readonly latched: number
  /** Other Nodes whose machine lives though vCenter says that its VM is gone: see `livesOn`. */
  readonly living: number
  /** How long ago there were too many of those; infinite where there never were. */
  readonly doubtedAgo: number
  /** Recent deletions. */
  readonly deleted: readonly {
    readonly ago: number
    /** When the VM vanished; undefined where its removal was meant. */
    readonly vanished: Span | undefined
  }[]
  /** For how long the number of missing VMs has been within the limit. */
  readonly fewFor: number
}

/** How many of a vCenter's VMs may vanish at once before that looks like a fault of vCenter. */
export function allowedAbsent(bound: number, settings: LifecycleConfig): number {
  return Math.max(settings.maxAbsentMinimum, Math.floor(bound * settings.maxAbsentShare))
}

/**
 * VMs that vanish within this many milliseconds of one another vanish at once. A VM goes missing when a search first fails to
 * find it, and searching for many takes a while: hence a minute, or less where `absentFor` is below its default.
 */
export function atOnce({ absentFor }: LifecycleConfig): number {
  return Math.min(60_000, Math.max(5_000, absentFor / 4))
}

/** Groups these into waves, in order: within a wave, each vanished within `gap` of another. */
function wavesOf(spans: readonly Span[], gap: number): readonly (readonly Span[])[] {
  const waves: Span[][] = []
  let end = Number.NEGATIVE_INFINITY
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    if (span.from - end > gap) waves.push([])
    waves.at(-1)?.push(span)
    end = Math.max(end, span.until)
  }
  return waves
}

/** How many vanished in the same wave as this one, itself included. */
export function waveOf(own: Span, others: readonly Span[], gap: number): number {
  return wavesOf([own, ...others], gap).find((wave) => wave.includes(own))?.length ?? 1
}

/** Whether too many are missing now, so that the brake engages and stays engaged. */
export function tooManyAbsent(own: Span, fleet: Fleet, settings: LifecycleConfig): boolean {
  const recent = recentlyDeleted(fleet, settings)
  return (
    waveOf(own, fleet.absentSince, atOnce(settings)) > allowedAbsent(fleet.bound + recent.length, settings)
  )
}

/**
 * Also counts recent deletions, so that a vCenter losing its VMs one at a time still trips the limit, and VMs that may
 * still come to count. When half of a vCenter vanishes, the proofs arrive one by one, and so do the Nodes' changes to not
 * Ready: the first Nodes must not be deleted while the others are still to come.
 */
export function tooManyForNow(own: Span, fleet: Fleet, settings: LifecycleConfig): boolean {
  const recent = recentlyDeleted(fleet, settings)
  const wave = waveOf(own, [...fleet.absentSince, ...fleet.pendingSince, ...recent], atOnce(settings))
  return wave > allowedAbsent(fleet.bound + recent.length, settings)
}

/**
 * Whether the brake holds no more Nodes than may vanish at once, and no wave of missing VMs is larger than that. VMs that
 * went one after the other while the brake held them must not keep it engaged.
 */
export function fewAbsent(
  own: { readonly latched: boolean; readonly counted: Span | undefined },
  fleet: Fleet,
  settings: LifecycleConfig,
): boolean {
  const missing = own.counted === undefined ? fleet.absentSince : [own.counted, ...fleet.absentSince]
  const largest = Math.max(0, ...wavesOf(missing, atOnce(settings)).map(({ length }) => length))
  return Math.max(largest, fleet.latched + (own.latched ? 1 : 0)) <= allowedAbsent(fleet.bound, settings)
}

/** Milliseconds until `lifecycle.deletionsPerMinute` allows another deletion; 0 for now. */
export function waitForRate({ deleted }: Pick<Fleet, 'deleted'>, settings: LifecycleConfig): number {
  const recent = deleted
    .map(({ ago }) => ago)
    .filter((ago) => ago < MINUTE)
    .sort((a, b) => a - b)
  const nth = recent[settings.deletionsPerMinute - 1]
  return nth === undefined ? 0 : MINUTE - nth
}

const MINUTE = 60_000

/** How long few VMs must be missing before the brake releases itself, and how long deletions count. */
export function quietTime({ absentFor }: LifecycleConfig): number {
  return 2 * absentFor
}

/**
 * Whether the brake releases itself: few VMs have been missing for long enough, and vCenter has said throughout that this
 * VM is gone.
 */
export function releasesItself(
  { absent }: Pick<Evidence, 'absent'>,
  fleet: Fleet,
  settings: LifecycleConfig,
): boolean {
  const quiet = quietTime(settings)
  return fleet.fewFor >= quiet && absent !== undefined && absent.last - absent.since >= quiet
}

/**
 * Whether an absence counts toward the limit: it is proven, nobody has decided on the Node, and the Node is not Ready. To
 * be asked only where the machine does not live on.
 */
export function countsAsAbsent(node: Node, evidence: Evidence | undefined): boolean {
  return evidence?.absent !== undefined && !isDecided(node) && node.ready?.status !== 'True'
}

/**
 * Why an engaged brake holds a Node. Without numbers: they change with every Node that comes or goes, and each change would
 * rewrite every held Node.
 */
export function brakeEngaged(node: Pick<Node, 'name'>, bound: Pick<BoundVM, 'vCenter' | 'moref'>): Unmet {
  const held = `$(kubectl get nr -o jsonpath='{.items[?(@.status.brakeEngagedFor=="${bound.vCenter}")].metadata.name}')`
  return {
    reason: 'BrakeEngaged',
    message: `the deletion brake is engaged: ${tooManyVanished(bound)}; bring them back, or ${allow(node)}, or that of all Nodes that it holds: kubectl annotate node ${held} ${ANNOTATION_DELETION}=proceed`,
  }
}

/** The same where Nodes like this one are never deleted, so that nothing is recorded. */
export function brakeWouldEngage(node: Pick<Node, 'name'>, bound: Pick<BoundVM, 'vCenter' | 'moref'>): Unmet {
  return {
    reason: 'BrakeEngaged',
    message: `the deletion brake would engage: ${tooManyVanished(bound)}; bring them back, or ${allow(node)}`,
  }
}

/** Why a brake that has engaged for nobody holds a Node: see {@link tooManyForNow}. */
export function brakeUndecided(
  node: Pick<Node, 'name'>,
  bound: Pick<BoundVM, 'vCenter' | 'moref'>,
  settings: LifecycleConfig,
): Unmet {
  return {
    reason: 'BrakeUndecided',
    message: `deletion is on hold until it is known how many ${machinesOf(bound)} vanished at once: counting those not yet checked, and those whose Nodes were deleted within ${duration(quietTime(settings))}, there may be more than lifecycle.maxAbsentShare and maxAbsentMinimum allow; this ends by itself, or ${allow(node)}`,
  }
}

function tooManyVanished(bound: Pick<BoundVM, 'vCenter' | 'moref'>): string {
  return `more ${machinesOf(bound)} vanished at once than lifecycle.maxAbsentShare and maxAbsentMinimum allow`
}

function machinesOf({ vCenter, moref }: Pick<BoundVM, 'vCenter' | 'moref'>): string {
  return isUnseen({ moref }) ? 'machines that no vCenter has ever shown' : `VMs of vCenter ${vCenter}`
}

function allow({ name }: Pick<Node, 'name'>): string {
  return `allow the deletion of this Node: kubectl annotate node ${name} ${ANNOTATION_DELETION}=proceed`
}

function recentlyDeleted({ deleted }: Fleet, settings: LifecycleConfig): readonly Span[] {
  return deleted.flatMap(({ ago, vanished }) => (ago < quietTime(settings) ? (vanished ?? []) : []))
}
