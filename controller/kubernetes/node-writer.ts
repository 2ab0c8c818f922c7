import * as v from 'valibot'
import type { NodeReportSpec, NodeReportStatus } from '../../agent/contract.ts'
import { API_GROUP, API_VERSION, KIND, PLURAL } from '../../agent/contract.ts'
import type { Node, NodeAddress, NodeReport, Taint } from '../types/node.ts'
import { ApiError } from './api-error.ts'
import type { ContentType, KubeClient, KubeRequest } from './client.ts'
import { parseNode } from './parse-node.ts'
import { parseNodeReport } from './parse-node-report.ts'

/** The very object that was looked at: a write to any other version of it is refused by the API server. */
export interface ObjectVersion {
  readonly uid: string
  readonly resourceVersion: string
}

export type WriteResult<T> =
  /** What the server stored; its resourceVersion guards the next write. */
  | { readonly outcome: 'written'; readonly object: T }
  /** It changed meanwhile, or is another object of the same name: look again, then decide again. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'gone' }
  /** By validation, admission or RBAC: the same write will not do better. */
  | { readonly outcome: 'refused'; readonly message: string }

export interface NodeChanges {
  /** Added to those that are there; null takes one away. */
  readonly labels?: Readonly<Record<string, string | null>>
  readonly annotations?: Readonly<Record<string, string | null>>
  readonly providerID?: string
  /** All of them: the list is replaced whole. */
  readonly taints?: readonly Taint[]
}

/** What became of an object that was told to go. */
export interface DeletionResult {
  /** False where finalizers keep it for a while: it is marked as being deleted. */
  readonly gone: boolean
}

/** The controller's writes to Nodes and NodeReports. Each is one request, and throws what `KubeClient.request` does. */
export interface NodeWriter {
  /** Replaces the list of addresses. */
  patchNodeStatus(
    name: string,
    seen: ObjectVersion,
    changes: { readonly addresses: readonly NodeAddress[] },
  ): Promise<WriteResult<Node>>
  patchNode(name: string, seen: ObjectVersion, changes: NodeChanges): Promise<WriteResult<Node>>
  /** Deletes just the Node that was looked at. What it owns goes after it, by the garbage collector. */
  deleteNode(name: string, seen: ObjectVersion): Promise<WriteResult<DeletionResult>>
  /** Makes the NodeReport of a Node that does without an agent, owned by it; a conflict where there is one already. */
  createReport(node: Pick<Node, 'name' | 'uid'>, spec: NodeReportSpec): Promise<WriteResult<NodeReport>>
  /** Replaces the status whole: a field that the new one lacks is gone. */
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
 * Nodes take JSON merge patches, which replace lists whole. (A strategic merge merges `addresses` by type, so two of one
 * type become one, and leaves stale ones.) The resourceVersion within the patch makes that safe: no two objects, not even
 * of one name, ever share one. The UID beside it is refused by itself where it is another's.
 *
 * A report's status takes a JSON patch, as a merge patch could not drop fields without knowing them. It sets the
 * resourceVersion rather than test it: a failed test is answered with 422, as an invalid status is; this with 409. The
 * API server does not look at a UID there.
 *
 * A deletion names both as preconditions.
 */
export function createNodeWriter(client: KubeClient, signal: AbortSignal): NodeWriter {
  async function write<T>(
    request: Pick<KubeRequest, 'method' | 'path' | 'contentType' | 'body'>,
    parse: (object: unknown) => T | undefined,
  ): Promise<WriteResult<T>> {
    let answer: unknown
    try {
      answer = await client.request({ ...request, signal })
    } catch (error) {
      if (error instanceof ApiError) return outcomeOf(error)
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

/** The API server answers with a Status when the object is gone, with the object itself when it lingers. */
function parseDeletion(answer: unknown): DeletionResult | undefined {
  const parsed = v.safeParse(Deleted, answer)
  return parsed.success ? { gone: parsed.output.kind === 'Status' } : undefined
}

/** What an answer other than success comes to; throws those that say nothing of the write itself. */
function outcomeOf(error: ApiError): Exclude<WriteResult<never>, { outcome: 'written' }> {
  const { status, message } = error
  if (status === 409) return { outcome: 'conflict' }
  if (status === 404) return { outcome: 'gone' }
  // Credentials may be on their way, time may be short: those pass.
  if (status >= 500 || status === 401 || status === 408 || status === 429) throw error
  return { outcome: 'refused', message }
}
