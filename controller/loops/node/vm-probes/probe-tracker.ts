import type { ProbePlan } from '../decide/decision.ts'
import type { Fleet, LatchedNode, Span } from '../decide/lifecycle/brake.ts'
import {
  type Evidence,
  isAbout,
  type ProbeRequest,
  type ProbeResult,
  weigh,
} from '../decide/lifecycle/evidence.ts'
import { createRecentDeletions, type RecentDeletions } from './recent-deletions.ts'

/**
 * Keeps the probe requests of Nodes whose VM is missing or off, the evidence from their results, and the recent deletions.
 * In memory only, for one term of leadership; it outlives a change of the configuration.
 */
export interface ProbeTracker extends Pick<RecentDeletions, 'deleting' | 'refusal'> {
  /** Takes the probe that a decision wants; undefined where it wants none, and the evidence is dropped. */
  track(name: string, probePlan: ProbePlan | undefined): void
  /**
   * To be called when the configuration was replaced: forgets the Nodes that were deleted while nobody watched. Evidence
   * from before is kept but no longer fresh, so the vCenters configured now are probed once more before anything follows.
   */
  resume(exists: (name: string) => boolean): void
  /** The probe request of a Node; undefined where none is wanted any more. */
  request(name: string): ProbeRequest | undefined
  /** Adds a result to the evidence. The result of a request that is no longer wanted is dropped. */
  record(name: string, request: ProbeRequest, result: ProbeResult): void
  /** What the probes of this Node's VM have shown so far. */
  evidence(name: string): Evidence | undefined
  /** When the VM of this Node first went missing, monotonic; undefined where it is not missing or this leader does not know. */
  absentSince(name: string, nodeUID: string): number | undefined
  /** The missing and the recently deleted Nodes of a group (see `brakeGroup`), without this one. */
  fleet(group: string, except: string, latched: Iterable<LatchedNode>): Omit<Fleet, 'bound'>
  /** Whether the last decision on this Node was that its VM is missing. */
  tracksMissing(name: string, nodeUID: string): boolean
  /** How long the VM of this Node has been missing, milliseconds: 0 where it is not, infinite where the Node was deleted. */
  missingFor(name: string): number
  /** For metrics: the Nodes whose VM was in this vCenter, by its name in the configuration. */
  missing(
    vCenter: string,
    latched: Iterable<LatchedNode>,
  ): { readonly missing: number; readonly brakeEngaged: boolean }
}

/** By both clocks. */
const LONG_AGO = { monotonic: -Infinity, now: -Infinity }

export function createProbeTracker(monotonic: () => number): ProbeTracker {
  const entries = new Map<
    string,
    { readonly probePlan: ProbePlan; readonly evidence: Evidence | undefined }
  >()
  /** For each group, since when few of its VMs have been missing. */
  const few = new Map<string, number>()
  /** For each group, when vCenter was last wrong about too many of its machines. */
  const doubted = new Map<string, number>()
  const deletions = createRecentDeletions(monotonic)

  return {
    track(name, probePlan) {
      if (probePlan === undefined) {
        entries.delete(name)
        deletions.forgetRefusal(name)
        return
      }
      const before = entries.get(name)
      const same = before !== undefined && isAbout(before.probePlan.request, probePlan.request)
      entries.set(name, { probePlan, evidence: same ? before.evidence : undefined })
      const { absence } = probePlan
      if (absence?.few === false) few.delete(absence.group)
      else if (absence !== undefined && !few.has(absence.group)) few.set(absence.group, monotonic())
      if (absence?.doubted) doubted.set(absence.group, monotonic())
    },
    resume(exists) {
      for (const [name, { probePlan, evidence }] of entries) {
        if (exists(name)) {
          if (evidence !== undefined)
            entries.set(name, { probePlan, evidence: { ...evidence, answeredAt: LONG_AGO } })
          continue
        }
        entries.delete(name)
        deletions.forgetRefusal(name)
      }
    },
    request: (name) => entries.get(name)?.probePlan.request,
    record(name, request, result) {
      const entry = entries.get(name)
      if (entry === undefined || !isAbout(entry.probePlan.request, request)) return
      entries.set(name, { ...entry, evidence: weigh(entry.evidence, request, result) })
    },
    evidence: (name) => entries.get(name)?.evidence,
    absentSince(name, nodeUID) {
      const { request, absence } = entries.get(name)?.probePlan ?? {}
      return request?.nodeUID === nodeUID ? absence?.since : undefined
    },
    fleet(group, except, latched) {
      const absentSince: Span[] = []
      const pendingSince: Span[] = []
      const closedFor = new Set<string>()
      let living = 0
      const gone = deletions.of(group)
      for (const [name, { probePlan }] of entries) {
        const { nodeUID } = probePlan.request
        const { absence } = probePlan
        const itself = name === except
        // A deleted Node may still be reconciled until the watch shows the deletion. If it was not confirmed, the Node exists.
        if (!itself && (absence === undefined || gone.get(nodeUID)?.sure)) continue
        gone.delete(nodeUID)
        if (itself || absence === undefined || absence.group !== group) continue
        if (absence.counts) absentSince.push(absence)
        if (absence.pending) pendingSince.push(absence)
        if (absence.lives) living++
        if (absence.latched) closedFor.add(name)
      }
      // Nodes that are not probed now because their vCenter is away are still held.
      for (const each of latched) if (each.name !== except && each.group === group) closedFor.add(each.name)
      return {
        absentSince,
        pendingSince,
        latched: closedFor.size,
        living,
        doubtedAgo: monotonic() - (doubted.get(group) ?? Number.NEGATIVE_INFINITY),
        deleted: [...gone.values()].map(({ at, vanished }) => ({ ago: monotonic() - at, vanished })),
        fewFor: monotonic() - (few.get(group) ?? monotonic()),
      }
    },
    tracksMissing(name, nodeUID) {
      const probePlan = entries.get(name)?.probePlan
      return probePlan?.missing === true && probePlan.request.nodeUID === nodeUID
    },
    missingFor(name) {
      const probePlan = entries.get(name)?.probePlan
      if (probePlan === undefined) return 0
      const { nodeUID } = probePlan.request
      if (deletions.has(nodeUID)) return Number.POSITIVE_INFINITY
      return probePlan.absence === undefined ? 0 : monotonic() - probePlan.absence.since
    },
    missing(vCenter, latched) {
      const absences = [...entries.values()].flatMap(({ probePlan: { absence, request } }) =>
        absence !== undefined && request.vm.vCenter === vCenter ? [absence] : [],
      )
      return {
        missing: absences.length,
        brakeEngaged:
          absences.some(({ held, doubted }) => held || doubted) ||
          [...latched].some((node) => node.vCenter === vCenter),
      }
    },
    deleting: deletions.deleting,
    refusal: deletions.refusal,
  }
}
