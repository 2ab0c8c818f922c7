import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../../agent/shared/clock.ts'
import type { NodeReportStatus } from '../../../agent/shared/node-report.ts'
import { compact } from '../../lib/memory.ts'
import { createReverseIndex } from '../../lib/multimap.ts'
import { every } from '../../lib/tasks.ts'
import type { ReconcileResult } from '../../lib/work-queue.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import { type ApplyOptions, type ApplyResult, apply, type Writer } from './apply/apply.ts'
import type { createLastingFailures } from './apply/lasting-failures.ts'
import type { createSlowLane } from './apply/slow-lane.ts'
import { createStatusQueue, type PendingStatus } from './apply/status-queue.ts'
import { decide } from './decide/decide.ts'
import type { Decision, Deletion } from './decide/decision.ts'
import type { NodeEvent } from './decide/node-events.ts'
import type { AbsentLabels } from './decide/node-facts.ts'
import { decideOnRejectedWrite, type RejectedDecision } from './decide/rejected-write.ts'
import { createAddressWaits, heldAddresses, undeniedAddresses } from './gather/address-holders.ts'
import { createAgentContacts } from './gather/agent-contacts.ts'
import { gather } from './gather/gather.ts'
import { createMutationCache } from './gather/mutation-cache.ts'
import { addressesOf } from './gather/node-keys.ts'
import type { Sources } from './gather/sources.ts'
import type { ProbeTracker } from './vm-probes/probe-tracker.ts'

/** Milliseconds between two looks for agents that have fallen silent. */
const SILENCE_INTERVAL = 30_000

/**
 * The status of a Node that has just lost its taint is put off: it is written when no Node is waiting for its taint to
 * go. From then on it counts here as if it were written, also beside a newer report of the agent: which VM a Node is,
 * is decided once. Where it cannot be written as it is, the Node is looked at again.
 */
export function createReconciler(options: {
  readonly sources: Omit<Sources, 'reservedBy' | 'agentContact' | 'absentLabels'>
  readonly writer: Writer
  /** Gives each Node the patience that its writes need; by default all are written alike. */
  readonly slowLane?: Pick<ReturnType<typeof createSlowLane>, 'writer' | 'forget'>
  /** What the writers remember of writes that fail; by default nothing. */
  readonly lastingFailures?: Pick<ReturnType<typeof createLastingFailures>, 'forget'>
  /** The writer of the statuses that were put off: at the end they are written when others are cut off already. */
  readonly statusWriter: (signal: AbortSignal) => Pick<Writer, 'patchReportStatus'>
  readonly tracker: Pick<ProbeTracker, 'track' | 'deleting'>
  /** Queues the probe of a Node's VM; its result goes to {@link ProbeTracker.record}. */
  readonly enqueueProbe: (name: string) => void
  readonly clock: Clock
  /** Enqueues a Node because another one has changed. */
  readonly enqueue: (name: string) => void
  /** Called with the decision of each reconcile, and with undefined when the Node is gone. */
  readonly onDecision: (name: string, decision: Decision | undefined, node: Node | undefined) => void
  readonly onDeleted: (node: Node, deletion: Deletion) => void
  /** Called with what is told of a write that the API server rejected or did not answer. */
  readonly onRejected: (name: string, refusal: RejectedDecision['refusal']) => void
  /** Told of a report whose status counts from now on, though the API server does not have it. */
  readonly onStatus: (name: string, report: NodeReport | undefined) => void
  /** Told why a status that was put off could not be written; its Node is looked at again. */
  readonly onStatusError: (name: string, error: unknown) => void
}) {
  const { writer, slowLane, lastingFailures, clock, tracker, onDecision } = options
  const nodes = createMutationCache<Node>(options.sources.node)
  const reports = createMutationCache<NodeReport>(options.sources.report)
  const addresses = createAddressWaits(options.enqueue)
  const reservations = createReverseIndex()
  const contacts = createAgentContacts()
  const absentLabels = new Map<string, AbsentLabels>()
  const sources: Sources = {
    ...options.sources,
    node: nodes.get,
    report: reports.get,
    reservedBy: reservations.get,
    agentContact: contacts.of,
    absentLabels: (name) => absentLabels.get(name) ?? new Map(),
  }

  const statuses = createStatusQueue({
    async write(name, { node, report, status, events }, signal) {
      const written = await options.statusWriter(signal).patchReportStatus(name, report, status)
      if (written.outcome !== 'written') return reconsider(name, { node, report, status, events })
      reports.wrote(report, written.object)
      for (const event of events) writer.recordEvent(node, event)
    },
    onError(name, error, pending) {
      options.onStatusError(name, error)
      reconsider(name, pending)
    },
    clock,
  })
  /** Statuses that could not be written when it was their turn, by the names of their Nodes. */
  const overdue = new Map<string, PendingStatus>()

  /** The versions of Nodes and reports that were decided on, or written since, while a status is put off. */
  const known = new Map<string, string>()

  /** What is wrong shows when the Node is reconciled: then the status is written at once. */
  function reconsider(name: string, pending: PendingStatus): void {
    overdue.set(name, pending)
    options.enqueue(name)
  }

  /**
   * Reserves the addresses of a Node for as long as the index may not show them, because its status is not written. Returns
   * what is reserved.
   */
  function reserve(node: Node, isOnRecord: boolean, status: NodeReportStatus): readonly string[] {
    const { name } = node
    const wanted = status.identityLevel === undefined ? [] : addressesOf(node, { previous: status })
    const shown = sources.index.addressesOf(name)
    const isShown = isOnRecord && wanted.every((address) => shown.includes(address))
    const reserved = isShown ? [] : wanted
    reservations.set(name, reserved)
    return reserved
  }

  /** Returns to what is written. */
  function forgetStatus(name: string): void {
    statuses.delete(name)
    overdue.delete(name)
    reports.forget(name)
    options.onStatus(name, reports.get(name))
  }

  /** Lets a status count from now on, as if it were written. */
  function letCount(name: string, pending: PendingStatus): PendingStatus {
    const decided = { ...pending.report, status: pending.status }
    reports.wrote(pending.report, decided)
    options.onStatus(name, decided)
    return pending
  }

  /**
   * Lets a status that is not on record count beside the report as it is now, as if it had been written before the agent
   * wrote that report. Returns undefined, and counts no longer, where the report is of another Node or has another's status.
   */
  function carryOver(
    name: string,
    pending: PendingStatus,
    node: Node | undefined,
  ): PendingStatus | undefined {
    const report = reports.get(name)
    const isSameNode = node?.uid === pending.node.uid && report?.uid === pending.report.uid
    if (isSameNode && report.resourceVersion === pending.report.resourceVersion) return pending
    const ours = [pending.report.status, pending.status]
    if (!isSameNode || !ours.some((one) => isDeepStrictEqual(one, report.status))) {
      forgetStatus(name)
      return undefined
    }
    return letCount(name, { ...pending, report })
  }

  /** Reconciles one Node: gather, decide, apply. Level-triggered: it does not depend on what changed. */
  async function reconcile(name: string): Promise<ReconcileResult> {
    // The watch may show a write before it is answered: what that write is to tell would be told twice.
    const waiting = await statuses.settled(name)
    known.delete(name)
    const notOnRecord = waiting ?? overdue.get(name)
    const pending = notOnRecord && carryOver(name, notOnRecord, nodes.get(name))
    const now = clock.now()
    const facts = gather(name, sources, { now, monotonic: clock.monotonic() })
    if (facts === undefined) {
      nodes.forget(name)
      reports.forget(name)
      statuses.delete(name)
      overdue.delete(name)
      slowLane?.forget(name)
      lastingFailures?.forget(name)
      tracker.track(name, undefined)
      addresses.waits(name, [])
      addresses.holds(name, [])
      reservations.set(name, [])
      contacts.forget(name)
      absentLabels.delete(name)
      onDecision(name, undefined, undefined)
      return 'done'
    }
    const decision = withPending(pending, decide(facts))
    // Before anything is awaited: another Node may be decided on meanwhile.
    const reserved = reserve(facts.node, pending === undefined, decision.status ?? facts.previous)
    const { deletion } = decision
    const attempt = deletion && tracker.deleting(deletion, facts.node.uid)
    tracker.track(name, decision.probePlan)
    if (decision.absentLabels === undefined) absentLabels.delete(name)
    else absentLabels.set(name, decision.absentLabels)
    addresses.waits(name, decision.waitsFor ?? [])
    const held = [...new Set([...heldAddresses(facts, sources), ...reserved])]
    addresses.holds(name, addresses.isAwaited(name) ? undeniedAddresses(name, held, sources) : held)
    if (decision.probePlan?.due === true) options.enqueueProbe(name)
    for (const uuid of decision.recheck ?? []) {
      for (const inventory of sources.inventories) inventory.recheck(uuid)
    }
    const record = recordOf(facts.report, pending)
    const defer = !overdue.has(name) && (pending !== undefined || decision.state === 'initializing')
    const target = { node: facts.node, report: record, defer }
    const writing = { writer: { ...writer, ...slowLane?.writer(facts.node) }, now }
    const applied = await applyAndTell(target, decision, writing)
    const { refusal } = applied
    // Nothing is left that failed before.
    if (!applied.incomplete) lastingFailures?.forget(name)
    if (deletion !== undefined && applied.deleted) {
      attempt?.succeeded()
      nodes.deleted(facts.node)
      options.onDeleted(facts.node, deletion)
    } else attempt?.failed(name, applied.deletionRejected)
    if (refusal !== undefined) options.onRejected(name, refusal)
    onDecision(
      name,
      refusal === undefined ? decision : { ...decision, state: 'refused', refusal },
      facts.node,
    )
    remember(nodes, facts.node, applied.nodes)
    if (record !== undefined) remember(reports, record, applied.reports)
    if (record !== undefined && applied.deferred !== undefined) {
      const node = { name, uid: facts.node.uid }
      const deferred = letCount(name, { node, report: record, ...compact(applied.deferred) })
      // The agent may have written meanwhile.
      const carried = carryOver(name, deferred, nodes.get(name))
      if (carried === undefined) statuses.delete(name)
      else {
        statuses.put(name, carried)
        known.set(name, versionsOf(applied.nodes.at(-1) ?? facts.node, record))
      }
    } else if (applied.reports.length > 0) {
      statuses.delete(name)
      overdue.delete(name)
    } else if (pending !== undefined && !applied.incomplete) forgetStatus(name)
    if (decision.requeue || applied.incomplete) return 'requeue'
    return decision.requeueAfter === undefined ? 'done' : { requeueAfter: decision.requeueAfter }
  }

  const lookForSilentAgents = every(
    SILENCE_INTERVAL,
    async () => {
      for (const name of contacts.fallenSilent(clock.monotonic())) options.enqueue(name)
    },
    clock,
  )

  return {
    reconcile,
    /**
     * Whether what the watch shows of a Node and its report is news. While its status is put off, our own writes are not: it
     * is looked at once all of it is written, as the watch shows the status last.
     */
    isNews: (name: string) => known.get(name) !== versionsOf(nodes.get(name), reports.get(name)),
    /**
     * Writes the statuses that were put off, until the signal aborts; those that wait then are written before it ends. Enqueues
     * Nodes whose agents have fallen silent.
     */
    async run(signal: AbortSignal): Promise<void> {
      await Promise.all([statuses.run(signal), lookForSilentAgents(signal)])
    },
  }
}

function versionsOf(node: Node | undefined, report: NodeReport | undefined): string {
  return `${node?.resourceVersion} ${report?.resourceVersion}`
}

/**
 * Applies a decision. If the API server rejects a write or does not answer it, what to tell of that is decided and applied at
 * once.
 */
export async function applyAndTell(
  target: ApplyOptions,
  decision: Decision,
  { writer, now }: { readonly writer: Writer; readonly now: number },
): Promise<ApplyResult & Pick<Partial<RejectedDecision>, 'refusal'>> {
  const applied = await apply(target, decision, writer)
  if (applied.rejected === undefined) return applied
  const told = decideOnRejectedWrite(applied.rejected, decision, target, now)
  const telling = await applyAndTell({ ...target, defer: false }, told, { writer, now })
  return { refusal: told.refusal, ...telling, nodes: applied.nodes, incomplete: true }
}

/** The report as the API server has it, where what is known of it is a status that was put off. */
function recordOf(
  report: NodeReport | undefined,
  pending: PendingStatus | undefined,
): NodeReport | undefined {
  const counts =
    report?.uid === pending?.report.uid && report?.resourceVersion === pending?.report.resourceVersion
  return counts ? (pending?.report ?? report) : report
}

/**
 * Carries over to a new decision what the previous one has not written or recorded yet, even if the new one has nothing to
 * say.
 */
function withPending(pending: PendingStatus | undefined, decision: Decision): Decision {
  if (pending === undefined) return decision
  const isNew = ({ reason }: NodeEvent) => decision.events.every((event) => event.reason !== reason)
  const { status = pending.status } = decision
  return { ...decision, status, events: [...pending.events.filter(isNew), ...decision.events] }
}

function remember<T extends Node | NodeReport>(
  writes: ReturnType<typeof createMutationCache<T>>,
  before: T,
  answers: readonly T[],
): void {
  let last = before
  for (const answer of answers) {
    writes.wrote(last, answer)
    last = answer
  }
}
