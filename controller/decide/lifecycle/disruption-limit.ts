/**
 * The brake is a disruption limit: too many VMs that vanish from one vCenter at the same time look like a fault of that
 * vCenter, as after the restore of an old backup, and none of their Nodes is deleted. VMs that vanish one after the other
 * look like work.
 */
import type { BoundVM } from '../../../agent/contract.ts'
import type { LifecycleConfig } from '../../config/config.ts'
import { ANNOTATION_DELETION, type Node } from '../../types/node.ts'
import type { Evidence } from './evidence.ts'
import type { Missing } from './proofs.ts'
import { isUnseen } from './subject.ts'

/** When a VM vanished: between when it was first missed and when its machine was last there for certain. */
export interface Span {
  readonly since: number
  readonly until: number
}

/** The other Nodes of one vCenter, in numbers. Times are monotonic, milliseconds. */
export interface Fleet {
  /** Nodes that are verified to be VMs of this vCenter, the one that is judged among them. */
  readonly bound: number
  /** Since when the VM is missed, of each other Node that counts. */
  readonly absentSince: readonly Span[]
  /** The same of each that may yet come to count. */
  readonly pendingSince: readonly Span[]
  /** Other Nodes that the brake has closed for, by their status. */
  readonly latched: number
  /** The last deletions. */
  readonly deleted: readonly {
    readonly ago: number
    /** Since when the VM was missed; undefined where its removal was meant. */
    readonly absentSince: number | undefined
  }[]
  /** For how long no more were missed than may be. */
  readonly fewFor: number
}

/** How many of a vCenter's VMs may vanish at once before that looks like a fault of vCenter. */
export function allowedAbsent(bound: number, settings: LifecycleConfig): number {
  return Math.max(settings.maxAbsentMinimum, Math.floor(bound * settings.maxAbsentShare))
}

/**
 * VMs that vanish within so many milliseconds of one another vanish at once. The moment is that of the first search that
 * found nothing, which takes a while for many, so it is a minute unless `absentFor` is shorter than its default.
 */
export function atOnce({ absentFor }: LifecycleConfig): number {
  return Math.min(60_000, Math.max(5_000, absentFor / 5))
}

/** Those of these that vanished in one wave, each within `gap` of another; the waves in order. */
function wavesOf(spans: readonly Span[], gap: number): readonly (readonly Span[])[] {
  const waves: Span[][] = []
  let end = Number.NEGATIVE_INFINITY
  for (const span of spans.toSorted((a, b) => a.since - b.since)) {
    if (span.since - end > gap) waves.push([])
    waves.at(-1)?.push(span)
    end = Math.max(end, span.until)
  }
  return waves
}

/** How many of these vanished in one wave with this one, itself included. */
export function waveOf(own: Span, others: readonly Span[], gap: number): number {
  return wavesOf([own, ...others], gap).find((wave) => wave.includes(own))?.length ?? 1
}

/** Whether those that are missed now are too many: then it closes, and stays so. */
export function tooManyAbsent(own: Span, fleet: Fleet, settings: LifecycleConfig): boolean {
  const recent = recentlyDeleted(fleet, settings)
  return (
    waveOf(own, fleet.absentSince, atOnce(settings)) > allowedAbsent(fleet.bound + recent.length, settings)
  )
}

/**
 * The same with those that were deleted just before, and those of which it is not known yet whether they count: no more go
 * until it is. Where half of a vCenter vanishes, proofs come one by one and so does what says that a Node is not Ready;
 * the first of them must not go while the others are still to come.
 */
export function tooManyForNow(own: Span, fleet: Fleet, settings: LifecycleConfig): boolean {
  const recent = recentlyDeleted(fleet, settings)
  const wave = waveOf(own, [...fleet.absentSince, ...fleet.pendingSince, ...recent], atOnce(settings))
  return wave > allowedAbsent(fleet.bound + recent.length, settings)
}

/**
 * Whether it holds no more than may vanish at once, and no more of the missed have: those that went one after the other
 * while it held them must not keep it closed.
 */
export function fewAbsent(
  own: { readonly latched: boolean; readonly counted: Span | undefined },
  fleet: Fleet,
  settings: LifecycleConfig,
): boolean {
  const missed = own.counted === undefined ? fleet.absentSince : [own.counted, ...fleet.absentSince]
  const largest = Math.max(0, ...wavesOf(missed, atOnce(settings)).map(({ length }) => length))
  return Math.max(largest, fleet.latched + (own.latched ? 1 : 0)) <= allowedAbsent(fleet.bound, settings)
}

/** For so long few must be missed before it opens by itself, and for so long those that were deleted count. */
export function quietTime({ absentFor }: LifecycleConfig): number {
  return 2 * absentFor
}

/**
 * Whether it opens again by itself: few have been missed for so long, and vCenter has said throughout that this VM is gone.
 * Of a machine that goes on speaking each answer begins anew; that must not hold all others for ever.
 */
export function opensAgain(
  { absent, spoken }: Pick<Evidence, 'absent' | 'spoken'>,
  fleet: Fleet,
  settings: LifecycleConfig,
): boolean {
  const quiet = quietTime(settings)
  return fleet.fewFor >= quiet && absent !== undefined && (spoken || absent.last - absent.since >= quiet)
}

/**
 * Taints by which autoscalers say that they are removing the machine. Neither is a kubelet's to write once its Node is
 * there (NodeRestriction), and a cordon is not among them: it comes before maintenance, too.
 */
const REMOVAL_TAINTS: ReadonlySet<string> = new Set([
  'ToBeDeletedByClusterAutoscaler',
  'karpenter.sh/disrupted',
])

/** Whether somebody has said that the machine goes on purpose. */
export function isRemovalMeant({ deletion, taints }: Pick<Node, 'deletion' | 'taints'>): boolean {
  return deletion === 'proceed' || taints.some(({ key }) => REMOVAL_TAINTS.has(key))
}

/** Whether somebody has said what becomes of the Node, that it goes or that it stays: then it says nothing of vCenter. */
export function isDecided(node: Pick<Node, 'deletion' | 'taints'>): boolean {
  return isRemovalMeant(node) || node.deletion !== undefined
}

/**
 * Whether an absence counts: it is proven, nobody has said that it is meant or that the Node stays, and the Node is not
 * Ready. One that is Ready since its kubelet goes on speaking counts: vCenter is wrong about that one.
 */
export function countsAsAbsent(node: Node, evidence: Evidence | undefined): boolean {
  if (evidence?.absent === undefined || isDecided(node)) return false
  return node.ready?.status !== 'True' || evidence.spoken
}

const MINUTE = 60_000

/** Milliseconds until the rate allows another deletion; 0 for now. */
export function waitForRate({ deleted }: Pick<Fleet, 'deleted'>, settings: LifecycleConfig): number {
  const recent = deleted
    .map(({ ago }) => ago)
    .filter((ago) => ago < MINUTE)
    .sort((a, b) => a - b)
  const nth = recent[settings.deletionsPerMinute - 1]
  return nth === undefined ? 0 : MINUTE - nth
}

/** Without numbers: they change with each Node that comes and goes, and every Node that is held would be written anew. */
export function brakeClosed(
  { name }: Pick<Node, 'name'>,
  { vCenter, moref }: Pick<BoundVM, 'vCenter' | 'moref'>,
): Missing {
  const machines = isUnseen({ moref })
    ? 'machines that no vCenter has ever shown'
    : `VMs of vCenter ${vCenter}`
  const held = `$(kubectl get nr -o jsonpath='{.items[?(@.status.brakeClosedFor=="${vCenter}")].metadata.name}')`
  return {
    reason: 'BrakeClosed',
    message: `the brake holds: more ${machines} vanished at once than lifecycle.maxAbsentShare and lifecycle.maxAbsentMinimum allow, which looks like a fault of vCenter; bring the VMs back, or, if they are gone on purpose: kubectl annotate node ${name} ${ANNOTATION_DELETION}=proceed, or for all that it holds: kubectl annotate node ${held} ${ANNOTATION_DELETION}=proceed`,
  }
}

function recentlyDeleted({ deleted }: Fleet, settings: LifecycleConfig): readonly Span[] {
  return deleted.flatMap(({ ago, absentSince }) =>
    absentSince !== undefined && ago < quietTime(settings)
      ? [{ since: absentSince, until: absentSince }]
      : [],
  )
}
