import { type NodeReportStatus, timestamp } from '../../../../../agent/shared/node-report.ts'
import { brakeGroup, isUnseen, type NodeMachines } from '../../facts/machines.ts'
import { isDecided, isRemovalMeant } from '../../facts/removal.ts'
import type { Absence } from '../decision.ts'
import type { AbsenceRecord } from '../draft.ts'
import type { NodeFacts } from '../node-facts.ts'
import type { Unmet } from './absence-proofs.ts'
import {
  brakeEngaged,
  brakeUndecided,
  brakeWouldEngage,
  countsAsAbsent,
  type Fleet,
  fewAbsent,
  quietTime,
  releasesItself,
  tooManyAbsent,
  tooManyForNow,
} from './brake.ts'
import {
  isStillUnknown,
  livesOn,
  speaksByKubeletAlone,
  tooManyLive,
  vCenterDoubted,
  wasDoubted,
} from './doubted-vcenter.ts'
import type { Evidence } from './evidence.ts'

/** The brake for one Node whose VM is missing. */
export interface BrakeState {
  readonly absence: Absence
  readonly status: AbsenceRecord
  /** Why the brake keeps this Node from being deleted; undefined where it does not. */
  readonly holds: Unmet | undefined
  /** Whether the brake engages for this Node in this reconcile. */
  readonly engages: boolean
  /** Milliseconds until the brake may release itself; undefined where time alone does not release it. */
  readonly requeueAfter: number | undefined
}

/**
 * Whether the brake holds a Node whose VM is missing, and whether the status should remember it. It engages only where too
 * many VMs are missing now and the Node would be deleted otherwise.
 */
export function judgeBrake(
  nodeMachines: NodeMachines,
  missing: {
    /** See `mayGoUnseen`. */
    readonly goesUnseen: boolean
    readonly evidence: Evidence | undefined
    /** Whether vCenter has the VM after all, though no search finds it; `renamed` where none ever will, by another BIOS UUID. */
    readonly there: 'renamed' | 'unsearchable' | undefined
    readonly fleet: Fleet
  },
  facts: NodeFacts,
): BrakeState {
  const { node, previous: before, now } = facts
  const { goesUnseen, evidence, there, fleet } = missing
  const [bound] = nodeMachines.machines
  const mayGo = goesUnseen || !isUnseen(bound)
  const settings = facts.settings.lifecycle
  const since = absentSince(before, facts)
  const own = { from: Math.min(since, shownUntil(facts)), until: vanishedBy(since, evidence, facts) }
  const missingFor = facts.monotonic - since
  const lives = there === undefined && livesOn(node, evidence, missingFor, settings)
  // What vCenter is wrong about.
  const contradicts = lives && !speaksByKubeletAlone(evidence, settings)
  const counts = there === undefined && !lives && countsAsAbsent(node, evidence)
  const deletes = settings.deletion === 'on' && mayGo
  const wasEngaged = deletes && !lives && before.brakeEngagedAt !== undefined
  const doubted = tooManyLive(fleet.living + (contradicts ? 1 : 0), fleet, settings)
  const few =
    !doubted && fewAbsent({ latched: wasEngaged, counted: counts ? own : undefined }, fleet, settings)
  const tooMany = counts && tooManyAbsent(own, fleet, settings)
  const releases =
    wasEngaged && !tooMany && few && evidence !== undefined && releasesItself(evidence, fleet, settings)
  const engages = deletes && tooMany && !wasEngaged
  const engaged = engages || (wasEngaged && !releases)
  // The `proceed` annotation lets this Node pass without releasing the brake: once removed, the brake holds as before.
  const passes = lives || isRemovalMeant(node)
  const holdsAll = engaged || fleet.latched > 0
  let holds: Unmet | undefined
  if (passes) holds = undefined
  else if (doubted || wasDoubted(fleet, settings)) holds = vCenterDoubted(node, bound, settings)
  else if (holdsAll) holds = brakeEngaged(node, bound)
  else if (tooMany) holds = brakeWouldEngage(node, bound)
  else if (counts && tooManyForNow(own, fleet, settings)) holds = brakeUndecided(node, bound, settings)
  // For a while only where its absence stays unproven: that must not hold the others.
  const uncertain = missingFor < quietTime(settings) || isStillUnknown(evidence)
  const pending = there === undefined && !counts && !lives && !isDecided(node) && uncertain
  const latch = engaged
    ? {
        brakeEngagedAt: before.brakeEngagedAt ?? timestamp(now),
        brakeEngagedFor: before.brakeEngagedFor ?? bound.vCenter,
      }
    : {}
  return {
    absence: {
      group: brakeGroup(nodeMachines),
      since,
      ...own,
      counts,
      lives: contradicts,
      pending,
      latched: engaged && !isDecided(node),
      held: holds !== undefined,
      few,
      doubted,
    },
    engages,
    holds,
    ...(there === 'renamed'
      ? latchWhileThere(latch, facts)
      : {
          status: {
            ...(there === undefined
              ? { absentSince: before.absentSince ?? timestamp(now - (facts.monotonic - since)) }
              : {}),
            ...latch,
          },
          requeueAfter: engaged && few ? Math.max(1_000, quietTime(settings) - fleet.fewFor) : undefined,
        }),
  }
}

/**
 * The latch of a Node whose VM is there after all, though never again as the Node knows it: it looks like a copy, or has
 * another BIOS UUID. It is not missing, so once the brake would have released itself it no longer holds other Nodes.
 */
export function latchWhileThere(
  latch: AbsenceRecord,
  { settings, now }: Pick<NodeFacts, 'settings' | 'now'>,
): Pick<BrakeState, 'status' | 'requeueAfter'> {
  if (latch.brakeEngagedAt === undefined) return { status: latch, requeueAfter: undefined }
  // A clock that was ahead may have written a time to come, up to which it would hold them.
  const since = Math.min(Date.parse(latch.brakeEngagedAt), now)
  const left = since + quietTime(settings.lifecycle) - now
  if (left <= 0) return { status: {}, requeueAfter: undefined }
  return { status: { ...latch, brakeEngagedAt: timestamp(since) }, requeueAfter: left }
}

/** Monotonic: as this leader has seen it begin, otherwise as an earlier leader wrote it into the status. */
function absentSince(before: NodeReportStatus, { absentSince, monotonic, now }: NodeFacts): number {
  if (absentSince !== undefined) return absentSince
  const written = Date.parse(before.absentSince ?? '')
  return Number.isNaN(written) ? monotonic : monotonic - Math.max(0, now - written)
}

/**
 * The last moment at which a vCenter is known to have shown the VM. While vCenter hangs or is away VMs may vanish that go
 * missing when it is back: they may have vanished with those of which it told just before.
 */
function shownUntil({ lookups }: NodeFacts): number {
  const moments = lookups.flatMap(({ lookup }) =>
    lookup.state === 'answered' ? (lookup.shownUntil ?? []) : [],
  )
  return moments.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...moments)
}

/** A silent kubelet is noticed within this many milliseconds: kube-controller-manager's `--node-monitor-grace-period`, 50 s. */
const NOTICE = 60_000
/** A kubelet that spoke is not called silent sooner, milliseconds: the default was 40 s before Kubernetes 1.32. */
const SOONEST_NOTICE = 30_000

/**
 * The last moment at which the VM may have vanished. A machine that was destroyed falls silent about when it first goes
 * missing. Machines that fell silent together vanished at once, even if they went missing one by one while vCenter restarted or
 * leaders changed: so it is not before the kubelet of a Node that is not Ready was last certainly alive. A machine that was
 * alive long after it went missing may have been back unseen, and vanished again before its silence was noticed; unless it
 * was proven absent from an earlier moment on, without a sign of life until its Node was no longer Ready.
 */
function vanishedBy(
  since: number,
  evidence: Pick<Evidence, 'absent'> | undefined,
  { node: { ready }, monotonic, now }: NodeFacts,
): number {
  const silentSince = Date.parse(ready?.lastTransitionTime ?? '')
  if (ready?.status === 'True' || Number.isNaN(silentSince)) return since
  const noticed = monotonic - Math.max(0, now - silentSince)
  const aliveUntil = noticed - NOTICE
  const latest = aliveUntil > since + NOTICE ? noticed : aliveUntil
  const absent = evidence?.absent
  const proven = absent !== undefined && absent.last >= noticed - SOONEST_NOTICE ? absent.since : latest
  return Math.max(since, Math.min(latest, proven))
}
