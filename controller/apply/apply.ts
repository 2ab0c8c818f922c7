import { isDeepStrictEqual } from 'node:util'
import type { NodeReportSpec, NodeReportStatus } from '../../agent/contract.ts'
import { type ConditionValue, mergeConditions, no } from '../decide/condition.ts'
import type { Decision, Deletion, Refusal } from '../decide/decision.ts'
import { conditionEvents, type NodeEvent, warning, words } from '../decide/node-events.ts'
import type { NodePatch } from '../decide/node-patch.ts'
import type { NodeWriter, WriteResult } from '../kubernetes/node-writer.ts'
import type { Node, NodeReport } from '../types/node.ts'

/** All effects of the controller on the cluster. */
export interface Writer extends NodeWriter {
  /** Never fails and never waits: losing an Event must not stop the work. */
  recordEvent(node: Node, event: NodeEvent): void
  /** Confirms that this replica still leads. */
  confirm(): Promise<boolean>
}

export interface ApplyResult {
  /** The API server's answers to the writes, in order. */
  readonly nodes: readonly Node[]
  readonly reports: readonly NodeReport[]
  /** Whether the Node was deleted. */
  readonly deleted?: boolean
  /** Why the API server refused the deletion, in its own words. */
  readonly deletionRefused?: string
  /** A write did not go through; requeue the Node. */
  readonly incomplete: boolean
  /** What is to be written later, as {@link ApplyOptions.defer} asked; the Events are to be recorded then. */
  readonly deferred?: { readonly status: NodeReportStatus; readonly events: readonly NodeEvent[] }
  /** Which write the API server refused, in its own words. */
  readonly refusal?: Refusal & { readonly message: string }
}

export interface ApplyOptions {
  readonly node: Node
  /** With the status that is on record. */
  readonly report: NodeReport | undefined
  readonly now: number
  /** Whether the status may be written later. Refusals, and what a deletion rests on, are written at once all the same. */
  readonly defer?: boolean
}

/**
 * Applies a decision: first the Node's addresses, then its metadata and taints in one patch, then the report's status, then
 * Events, and a deletion last. Creating a NodeReport happens on its own. Writes only differences: a second call after a
 * first that succeeded writes nothing.
 */
export async function apply(
  { node, report, now, defer = false }: ApplyOptions,
  decision: Decision,
  writer: Writer,
): Promise<ApplyResult> {
  if (decision.create !== undefined) return makeReport(node, decision.create, writer)
  if (decision.fenced === true && !(await writer.confirm()))
    return { nodes: [], reports: [], incomplete: true }
  const nodes: Node[] = []
  const failure = await applyToNode(node, decision.patch, writer, nodes)
  if (failure?.outcome === 'conflict') return { nodes, reports: [], incomplete: true }
  if (failure?.outcome === 'gone') return { nodes, reports: [], incomplete: false }

  const refused = failure === undefined ? undefined : patchRefused(failure.message)
  const status = refused === undefined ? decision.status : withRefusal(decision.status, report, refused, now)
  const events =
    refused === undefined
      ? decision.events
      : conditionEvents(report?.status.conditions ?? [], { Initialized: refused })

  const mayWait = defer && refused === undefined && !decision.fenced && decision.deletion === undefined
  if (mayWait && status !== undefined && differs(report, status))
    return { nodes, reports: [], deferred: { status, events }, incomplete: false }
  const written = await applyToReport(report, status, writer)
  if (written?.outcome === 'refused') {
    const condition = statusRefused(written.message)
    writer.recordEvent(node, warning(condition))
    return {
      nodes,
      reports: [],
      refusal: { condition: 'Initialized', ...words(condition) },
      incomplete: true,
    }
  }
  // Recorded only once the status is written: otherwise the next reconcile would record the same Events again.
  if (written === undefined || written.outcome === 'written') {
    for (const event of events) writer.recordEvent(node, event)
  }
  return {
    nodes,
    reports: written?.outcome === 'written' ? [written.object] : [],
    ...(refused === undefined ? {} : { refusal: { condition: 'Initialized', ...words(refused) } }),
    ...(decision.deletion === undefined || refused !== undefined
      ? { incomplete: refused !== undefined || written?.outcome === 'conflict' }
      : await applyDeletion(node, decision.deletion, written, writer)),
  }
}

/** Comes last, once the status tells the reason. */
async function applyDeletion(
  node: Node,
  { event }: Deletion,
  written: WriteResult<NodeReport> | undefined,
  writer: Writer,
): Promise<Pick<ApplyResult, 'deleted' | 'deletionRefused' | 'incomplete'>> {
  if (written !== undefined && written.outcome !== 'written') return { incomplete: true }
  // The writes before took time.
  if (!(await writer.confirm())) return { incomplete: true }
  const result = await writer.deleteNode(node.name, node)
  if (result.outcome === 'written') {
    writer.recordEvent(node, event)
    return { deleted: true, incomplete: false }
  }
  if (result.outcome === 'refused') return { deletionRefused: result.message, incomplete: true }
  return { incomplete: result.outcome !== 'gone' }
}

/** Whether it was created now or exists already, the watch will show it. */
async function makeReport(node: Node, spec: NodeReportSpec, writer: Writer): Promise<ApplyResult> {
  const written = await writer.createReport(node, spec)
  if (written.outcome !== 'refused') return { nodes: [], reports: [], incomplete: false }
  const condition = no(
    'ReportRefused',
    `the API server refuses a NodeReport for this Node, which has no agent: ${written.message}; apply the CRD, the policies and the RBAC that belong to this controller`,
  )
  writer.recordEvent(node, warning(condition))
  return {
    nodes: [],
    reports: [],
    refusal: { condition: 'Initialized', ...words(condition) },
    incomplete: true,
  }
}

/** Writes what differs and collects the answers; returns the failure that ended it, if any. */
async function applyToNode(
  node: Node,
  patch: NodePatch | undefined,
  writer: Writer,
  answers: Node[],
): Promise<Exclude<WriteResult<Node>, { outcome: 'written' }> | undefined> {
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

function patchRefused(message: string): ConditionValue {
  return no(
    'NodePatchRefused',
    `the API server refuses the patch of this Node: ${message}; look for an admission webhook or a missing right of rollcall-controller`,
  )
}

/** Told by an Event only, since it is the conditions that are refused. */
function statusRefused(message: string): ConditionValue {
  return no(
    'StatusRefused',
    `the API server refuses the status of this Node's NodeReport: ${message}; apply the CRD and the RBAC that belong to this controller`,
  )
}

function withRefusal(
  status: NodeReportStatus | undefined,
  report: NodeReport | undefined,
  refused: ConditionValue,
  now: number,
): NodeReportStatus | undefined {
  if (status === undefined || report === undefined) return undefined
  const before = report.status.conditions?.filter(({ type }) => type === 'Initialized') ?? []
  const others = status.conditions?.filter(({ type }) => type !== 'Initialized') ?? []
  return {
    ...status,
    conditions: mergeConditions(
      [...others, ...before],
      { Initialized: refused },
      {
        now,
        generation: report.generation,
      },
    ),
  }
}
