import * as v from 'valibot'
import { ApiError } from '../../agent/shared/api-error.ts'
import type { NodeReportSpec, NodeReportStatus } from '../../agent/shared/node-report.ts'
import { API_GROUP, API_VERSION, KIND, PLURAL } from '../../agent/shared/node-report.ts'
import type { Node, NodeAddress, NodeReport, Taint } from '../types/node.ts'
import type { ContentType, KubeClient, KubeRequest } from './client.ts'
import { NoAnswerError } from './deadline.ts'
import { parseNode } from './parse-node.ts'
import { parseNodeReport } from './parse-node-report.ts'

/** The exact object that a decision was made on: the API server rejects a write to any other version. */
export interface ObjectVersion {
  readonly uid: string
  readonly resourceVersion: string
}

export type WriteResult<T> =
  /** What the server stored. Its resourceVersion guards the next write. */
  | { readonly outcome: 'written'; readonly object: T }
  /** It has changed meanwhile, or is another object of the same name: reconcile again. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'gone' }
  /** By validation, admission or RBAC: retrying the same write will not help. */
  | { readonly outcome: 'rejected'; readonly message: string }
  /** Not in time; the API server may have stored it all the same, or may still do so. */
  | { readonly outcome: 'unanswered'; readonly message: string }

export interface NodeChanges {
  /** Merged with the present ones; null removes one. */
  readonly labels?: Readonly<Record<string, string | null>>
  readonly annotations?: Readonly<Record<string, string | null>>
  readonly providerID?: string
  /** The whole list: it replaces the present one. */
  readonly taints?: readonly Taint[]
}

/** What happened to an object that was deleted. */
export interface DeletionResult {
  /** False where finalizers keep it for a while; it is then marked as being deleted. */
  readonly gone: boolean
}

/** The controller's writes to Nodes and NodeReports. Each is one request and throws as `KubeClient.request`. */
export interface NodeWriter {
  /** Replaces the list of addresses. */
  patchNodeStatus(
    name: string,
    seen: ObjectVersion,
    changes: { readonly addresses: readonly NodeAddress[] },
  ): Promise<WriteResult<Node>>
  patchNode(name: string, seen: ObjectVersion, changes: NodeChanges): Promise<WriteResult<Node>>
  /** Deletes exactly the Node that was decided on. The garbage collector then deletes what it owns. */
  deleteNode(name: string, seen: ObjectVersion): Promise<WriteResult<DeletionResult>>
  /** Creates the NodeReport of a Node without an agent, owned by the Node; a conflict where one exists already. */
  createReport(node: Pick<Node, 'name' | 'uid'>, spec: NodeReportSpec): Promise<WriteResult<NodeReport>>
  /** Replaces the whole status: a field that the new status lacks is removed. */
  patchReportStatus(
    name: string,
    seen: ObjectVersion,
    status: NodeReportStatus,
  ): Promise<WriteResult<NodeReport>>
}

const Deleted = v.variant('kind', [
  v.object({ kind: v.literal('Status'), status: v.literal('Success') }),
  v.object({ kind: v.literal('Node') }),
])

const NODES = '/api/v1/nodes'
const REPORTS = `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}`
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'

/**
 * Nodes get JSON merge patches, which replace lists as a whole. (A strategic merge merges `addresses` by type: two of one
 * type become one, and stale ones stay.) The resourceVersion in the patch makes that safe: no two objects ever share one,
 * even if they have the same name. A UID that differs is rejected too.
 *
 * A report's status gets a JSON patch, because a merge patch could not drop unknown fields. The patch sets the
 * resourceVersion instead of testing it: a failed test is answered with 422, just as an invalid status, but this with 409.
 * The API server ignores a UID there.
 *
 * A deletion names both as preconditions.
 *
 * @param timeout milliseconds that each write may take
 */
export function createNodeWriter(client: KubeClient, timeout: number, signal: AbortSignal): NodeWriter {
  async function write<T>(
    request: Pick<KubeRequest, 'method' | 'path' | 'contentType' | 'body'>,
    parse: (object: unknown) => T | undefined,
  ): Promise<WriteResult<T>> {
    let answer: unknown
    try {
      answer = await client.request({ ...request, timeout, signal })
    } catch (error) {
      if (error instanceof ApiError) return outcomeOf(error)
      if (error instanceof Error && error.cause instanceof NoAnswerError)
        return { outcome: 'unanswered', message: `no answer within ${error.cause.ms / 1_000} s` }
      throw error
    }
    const object = parse(answer)
    if (!object)
      throw new Error(`${request.method} ${request.path} was answered with an object of another kind`)
    return { outcome: 'written', object }
  }

  function patch<T>(
    path: string,
    contentType: ContentType,
    body: object,
    parse: (object: unknown) => T | undefined,
  ): Promise<WriteResult<T>> {
    return write({ method: 'PATCH', path, contentType, body }, parse)
  }

  return {
    patchNodeStatus(name, seen, { addresses }) {
      const body = { metadata: guard(seen), status: { addresses } }
      return patch(`${NODES}/${encodeURIComponent(name)}/status`, MERGE, body, parseNode)
    },
    patchNode(name, seen, { labels, annotations, providerID, taints }) {
      const body = {
        metadata: { ...guard(seen), ...(labels && { labels }), ...(annotations && { annotations }) },
        spec: { ...(providerID !== undefined && { providerID }), ...(taints && { taints }) },
      }
      return patch(`${NODES}/${encodeURIComponent(name)}`, MERGE, body, parseNode)
    },
    deleteNode(name, seen) {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        preconditions: guard(seen),
        propagationPolicy: 'Background',
      }
      return write({ method: 'DELETE', path: `${NODES}/${encodeURIComponent(name)}`, body }, parseDeletion)
    },
    createReport({ name, uid }, spec) {
      const ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name, uid }]
      const apiVersion = `${API_GROUP}/${API_VERSION}`
      const body = { apiVersion, kind: KIND, metadata: { name, ownerReferences }, spec }
      return write({ method: 'POST', path: REPORTS, body }, parseNodeReport)
    },
    patchReportStatus(name, seen, status) {
      const body = [
        { op: 'replace', path: '/metadata/resourceVersion', value: seen.resourceVersion },
        { op: 'add', path: '/status', value: status },
      ]
      return patch(`${REPORTS}/${encodeURIComponent(name)}/status`, JSON_PATCH, body, parseNodeReport)
    },
  }
}

function guard({ uid, resourceVersion }: ObjectVersion) {
  return { uid, resourceVersion }
}

/** The API server answers with a Status when the object is gone, and with the object itself when finalizers keep it. */
function parseDeletion(answer: unknown): DeletionResult | undefined {
  const parsed = v.safeParse(Deleted, answer)
  return parsed.success ? { gone: parsed.output.kind === 'Status' } : undefined
}

/** Classifies an unsuccessful answer; throws it if it says nothing about the write itself. */
function outcomeOf(error: ApiError): Exclude<WriteResult<never>, { outcome: 'written' }> {
  const { status, message } = error
  if (status === 409) return { outcome: 'conflict' }
  if (status === 404) return { outcome: 'gone' }
  // The API server's own time for a request is over.
  if (status === 504) return { outcome: 'unanswered', message }
  // Expired credentials and overload are temporary.
  if (status >= 500 || status === 401 || status === 408 || status === 429) throw error
  return { outcome: 'rejected', message }
}
