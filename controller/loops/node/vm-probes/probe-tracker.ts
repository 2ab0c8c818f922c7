import type { Clock } from '../../../../agent/shared/clock.ts'
import type { BoundVM } from '../../../../agent/shared/node-report.ts'
import type { Logger } from '../../../lib/log.ts'
import type { ReconcileResult } from '../../../lib/work-queue.ts'
import type { Inventory } from '../../../types/inventory.ts'
import type { VCenterProbe } from '../../../types/vcenter-probe.ts'
import type { Deletion, ProbePlan } from '../decide/decision.ts'
import type { Inhabitants } from '../decide/lifecycle/absence-proofs.ts'
import type { Fleet, Span } from '../decide/lifecycle/disruption-limit.ts'
import {
  type Evidence,
  isAbout,
  type ProbeRequest,
  type ProbeResult,
  weigh,
} from '../decide/lifecycle/evidence.ts'
import type { LatchedNode } from '../gather/node-keys.ts'

/**
 * Keeps the probe requests of Nodes whose VM is missing or off, the evidence from their results, and the recent deletions.
 * In memory only, for one term of leadership; it outlives a change of the configuration.
 */
export interface ProbeTracker {
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
  /** The missing and the recently deleted Nodes of a group (see `disruptionGroup`), without this one. */
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
  /** To be called before a deletion, so that two at once count as two. A deletion that is retried counts once. */
  deleting(
    deletion: Pick<Deletion, 'group' | 'vanished'>,
    nodeUID: string,
  ): {
    /** The Node was deleted. */
    succeeded(): void
    /** The deletion failed; `refusal` is what the API server said if it refused. */
    failed(name: string, refusal: string | undefined): void
  }
  /** What the API server said if it refused the deletion of this Node in the last few minutes. */
  refusal(name: string): string | undefined
}

interface Deleted {
  readonly at: number
  readonly vanished: Span | undefined
  /** Whether the API server has confirmed it; otherwise its answer is still to come, or was lost. */
  readonly sure: boolean
}

interface Entry {
  readonly probePlan: ProbePlan
  readonly evidence: Evidence | undefined
}

/** How long deletions are remembered, milliseconds: twice the longest `absentFor`. */
const MEMORY = 2 * 168 * 3_600_000
/** How long after a refusal a deletion is not retried, milliseconds. */
const REFUSED = 300_000
/** By both clocks. */
const LONG_AGO = { monotonic: -Infinity, now: -Infinity }

export function createProbeTracker(monotonic: () => number): ProbeTracker {
  const entries = new Map<string, Entry>()
  /** For each group, since when few of its VMs have been missing. */
  const few = new Map<string, number>()
  /** For each group, when vCenter was last wrong about too many of its machines. */
  const doubted = new Map<string, number>()
  /** For each group, its Nodes by their UIDs. */
  const deleted = new Map<string, Map<string, Deleted>>()
  const refusals = new Map<string, { readonly at: number; readonly message: string }>()

  function recent(group: string): Map<string, Deleted> {
    return new Map([...(deleted.get(group) ?? [])].filter(([, { at }]) => monotonic() - at < MEMORY))
  }

  return {
    track(name, probePlan) {
      if (probePlan === undefined) {
        entries.delete(name)
        refusals.delete(name)
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
        refusals.delete(name)
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
      const gone = recent(group)
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
      if ([...deleted.values()].some((each) => each.has(nodeUID))) return Number.POSITIVE_INFINITY
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
    deleting({ group, vanished }, nodeUID) {
      const at = monotonic()
      const known = recent(group)
      const before = known.get(nodeUID)
      if (!before?.sure) known.set(nodeUID, { at, vanished, sure: false })
      deleted.set(group, known)
      return {
        succeeded() {
          deleted.get(group)?.set(nodeUID, { at, vanished, sure: true })
        },
        failed(name, refusal) {
          if (before === undefined) deleted.get(group)?.delete(nodeUID)
          if (refusal !== undefined) refusals.set(name, { at, message: refusal })
        },
      }
    },
    refusal(name) {
      const refusal = refusals.get(name)
      return refusal !== undefined && monotonic() - refusal.at < REFUSED ? refusal.message : undefined
    },
  }
}

/** Runs the probe request of one Node against every vCenter and the API server. Never throws because of their answers. */
export function createProbeWorker(options: {
  readonly tracker: Pick<ProbeTracker, 'request' | 'record'>
  readonly inventories: readonly Pick<Inventory, 'probe'>[]
  /** A text that changes each time this Node's kubelet renews its Lease. */
  readonly heartbeatOf: (nodeName: string, signal: AbortSignal) => Promise<string>
  /** VolumeAttachments that name this Node. */
  readonly volumesAttachedTo: (nodeName: string, signal: AbortSignal) => Promise<number>
  readonly inhabitantsOf: (
    of: Pick<VCenterProbe, 'vCenter' | 'vCenterInstanceUUID'>,
    except: string,
  ) => Inhabitants | undefined
  /** Called when there is a new result. */
  readonly onResult: (name: string) => void
  readonly clock: Clock
  readonly logger: Logger
}): (name: string, signal: AbortSignal) => Promise<ReconcileResult> {
  const { tracker, inventories, heartbeatOf, volumesAttachedTo, clock } = options

  /** Undefined where it cannot be read. */
  async function read<T>(
    name: string,
    what: string,
    ask: (name: string, signal: AbortSignal) => Promise<T>,
    signal: AbortSignal,
  ): Promise<T | undefined> {
    try {
      return await ask(name, signal)
    } catch (error) {
      if (!signal.aborted) options.logger.warn({ node: name, err: error }, `${what} cannot be read`)
      return undefined
    }
  }

  return async (name, signal) => {
    const request = tracker.request(name)
    if (request === undefined) return 'done'
    const askedAt = clock.monotonic()
    const probe = async (vm: BoundVM) =>
      Promise.all(inventories.map((inventory) => inventory.probe(vm, signal)))
    const [heartbeat, attachments, probes, others] = await Promise.all([
      read(name, 'the Lease of the kubelet', heartbeatOf, signal),
      request.volumes ? read(name, 'VolumeAttachments', volumesAttachedTo, signal) : undefined,
      probe(request.vm),
      Promise.all(request.others.map(async (vm) => ({ vm, probes: await probe(vm) }))),
    ])
    if (signal.aborted) return 'done'
    const answeredAt = { monotonic: clock.monotonic(), now: clock.now() }
    const inhabited = new Map<string, Inhabitants>()
    for (const each of probes) {
      const { vCenterInstanceUUID } = each
      const inhabitants = options.inhabitantsOf(each, name)
      if (vCenterInstanceUUID !== undefined && inhabitants !== undefined)
        inhabited.set(vCenterInstanceUUID, inhabitants)
    }
    tracker.record(name, request, {
      probes,
      others,
      inhabited,
      heartbeat,
      attachments,
      askedAt,
      answeredAt,
    })
    options.onResult(name)
    return 'done'
  }
}
