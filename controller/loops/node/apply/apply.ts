import { isDeepStrictEqual } from 'node:util'
import type { NodeReportSpec, NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import type { NodeWriter, WriteResult } from '../../../kubernetes/node-writer.ts'
import type { Node, NodePatch, NodeReport } from '../../../types/node.ts'
import type { Decision, Deletion } from '../decide/decision.ts'
import type { NodeEvent } from '../decide/node-events.ts'
import type { RejectedWrite } from '../decide/rejected-write.ts'

/** All that a decision may change in the cluster. */
export interface Writer extends NodeWriter {
  /** Never fails and never waits: losing an Event must not stop the work. */
  recordEvent(node: Pick<Node, 'name' | 'uid'>, event: NodeEvent): void
  /** Confirms that this replica still leads. */
  confirm(): Promise<boolean>
}

export interface ApplyResult {
  /** The API server's answers to the writes, in order. */
  readonly nodes: readonly Node[]
  readonly reports: readonly NodeReport[]
  /** Whether the Node was deleted. */
  readonly deleted?: boolean
  /** Why the API server rejected the deletion, in its own words. */
  readonly deletionRejected?: string
  /** A write did not go through; requeue the Node. */
  readonly incomplete: boolean
  /** What is to be written later, as {@link ApplyOptions.defer} asked; the Events are to be recorded then. */
  readonly deferred?: { readonly status: NodeReportStatus; readonly events: readonly NodeEvent[] }
  /** The write that the API server rejected or did not answer: none was tried after it, and no Event was recorded. */
  readonly rejected?: RejectedWrite
}

export interface ApplyOptions {
  readonly node: Node
  /** With the status that is on record. */
  readonly report: NodeReport | undefined
  /** Whether the status may be written later. What a deletion rests on is written at once all the same. */
  readonly defer?: boolean
}

/**
 * Applies a decision: first the Node's addresses, then its metadata and taints in one patch, then the report's status, then
 * Events, and a deletion last. Creating a NodeReport happens on its own. Writes only differences: a second call after a
 * first that succeeded writes nothing.
 */
export async function apply(
  { node, report, defer = false }: ApplyOptions,
  decision: Decision,
  writer: Writer,
): Promise<ApplyResult> {
  if (decision.create !== undefined) return makeReport(node, decision.create, writer)
  if (decision.confirmLease === true && !(await writer.confirm()))
    return { nodes: [], reports: [], incomplete: true }
  const nodes: Node[] = []
  const failure = await applyToNode(node, decision.patch, writer, nodes)
  if (failure !== undefined) return endedBy('node', failure, nodes)

  const { status, events, deletion } = decision
  const mayWait = defer && !decision.confirmLease
  if (mayWait && status !== undefined && differs(report, status))
    return { nodes, reports: [], deferred: { status, events }, incomplete: false }
  const written = await applyToReport(report, status, writer)
  if (written !== undefined && written.outcome !== 'written') return endedBy('status', written, nodes)
  // Recorded only once the status is written: otherwise the next reconcile would record the same Events again.
  for (const event of events) writer.recordEvent(node, event)
  return {
    nodes,
    reports: written === undefined ? [] : [written.object],
    ...(deletion === undefined ? { incomplete: false } : await applyDeletion(node, deletion, writer)),
  }
}

type Failure = Exclude<WriteResult<never>, { readonly outcome: 'written' }>

/** An object that is gone needs nothing more. */
function endedBy(write: RejectedWrite['write'], failure: Failure, nodes: readonly Node[]): ApplyResult {
  const { outcome } = failure
  const rejected =
    outcome === 'rejected' || outcome === 'unanswered' ? { rejected: { ...failure, outcome, write } } : {}
  return { nodes, reports: [], incomplete: outcome !== 'gone', ...rejected }
}

/** Comes last, once the status tells the reason. */
async function applyDeletion(
  node: Node,
  { event, cpiEvent }: Deletion,
  writer: Writer,
): Promise<Pick<ApplyResult, 'deleted' | 'deletionRejected' | 'incomplete'>> {
  // The writes before took time.
  if (!(await writer.confirm())) return { incomplete: true }
  const result = await writer.deleteNode(node.name, node)
  if (result.outcome === 'written') {
    for (const one of [event, cpiEvent]) writer.recordEvent(node, one)
    return { deleted: true, incomplete: false }
  }
  if (result.outcome === 'rejected') return { deletionRejected: result.message, incomplete: true }
  return { incomplete: result.outcome !== 'gone' }
}

/** Whether it was created now or exists already, the watch will show it. */
async function makeReport(node: Node, spec: NodeReportSpec, writer: Writer): Promise<ApplyResult> {
  const written = await writer.createReport(node, spec)
  return written.outcome === 'rejected' || written.outcome === 'unanswered'
    ? endedBy('report', written, [])
    : { nodes: [], reports: [], incomplete: false }
}

/** Writes what differs and collects the answers; returns the failure that ended it, if any. */
async function applyToNode(
  node: Node,
  patch: NodePatch | undefined,
  writer: Writer,
  answers: Node[],
): Promise<Failure | undefined> {
  if (patch === undefined) return undefined
  const { addresses, ...rest } = patch
  let guard = node
  if (addresses !== undefined) {
    const write = await writer.patchNodeStatus(node.name, node, { addresses })
    if (write.outcome !== 'written') return write
    answers.push(write.object)
    // The first write was guarded by the version decided on, so the new one differs only in the addresses.
    guard = write.object
  }
  if (Object.keys(rest).length === 0) return undefined
  const write = await writer.patchNode(node.name, guard, rest)
  if (write.outcome !== 'written') return write
  answers.push(write.object)
  return undefined
}

async function applyToReport(
  report: NodeReport | undefined,
  status: NodeReportStatus | undefined,
  writer: Writer,
): Promise<WriteResult<NodeReport> | undefined> {
  if (status === undefined || !differs(report, status)) return undefined
  return writer.patchReportStatus(report.name, report, status)
}

function differs(report: NodeReport | undefined, status: NodeReportStatus): report is NodeReport {
  return report !== undefined && !isDeepStrictEqual(status, report.status)
}
