import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import { ApiError } from '../../agent/shared/api-error.ts'
import {
  API_GROUP,
  API_VERSION,
  KIND,
  type NodeAddress,
  type NodeReportSpec,
  type NodeReportStatus,
  REPORTS_PATH,
} from '../../agent/shared/node-report.ts'
import type { Node, NodePatch, NodeReport, Taint } from '../types/node.ts'
import { type KubeClient, type KubeRequest, NoAnswerError } from './client.ts'
import type { ObjectParsers } from './object-parsers.ts'

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

type NodeChanges = Omit<NodePatch, 'addresses'>

/** The version of a Node, and what it has of that whose differences are written. */
type SeenNode = ObjectVersion & Pick<Node, 'labelCount' | 'hasAnnotations' | 'taints'>

/** The controller's writes to Nodes and NodeReports. Each throws as `KubeClient.request`. */
export interface NodeWriter {
  /** Replaces the list of addresses. */
  patchNodeStatus(
    name: string,
    seen: ObjectVersion,
    changes: { readonly addresses: readonly NodeAddress[] },
  ): Promise<WriteResult<Node>>
  patchNode(name: string, seen: SeenNode, changes: NodeChanges): Promise<WriteResult<Node>>
  /**
   * Deletes exactly the Node that was decided on. The garbage collector then deletes what it owns. `gone` is false where
   * finalizers keep it for a while; it is then marked as being deleted.
   */
  deleteNode(name: string, seen: ObjectVersion): Promise<WriteResult<{ readonly gone: boolean }>>
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
const MERGE = 'application/merge-patch+json'
const JSON_PATCH = 'application/json-patch+json'

/**
 * A Node's addresses get a JSON merge patch, which replaces the list as a whole. (A strategic merge merges it by type: two of
 * one type become one, and stale ones stay.) The resourceVersion in the patch makes that safe: no two objects ever share
 * one, even if they have the same name. A UID that differs is rejected too.
 *
 * The rest of a Node, and a report's status, get a JSON patch. Of taints, which others may have set by the thousand, it
 * carries only the differences, by their places in the list; a strategic merge knows them by their key alone, and would take
 * somebody else's taint of the same key and another effect. Of a report, a merge patch could not drop unknown fields. The
 * patch sets the resourceVersion instead of testing it: a failed test is answered with 422, just as an invalid object, but
 * this with 409. Where a Node has changed so much that an operation finds nothing at its place, the answer is 422 all the
 * same. So a patch that is rejected is followed by one that sets the version alone, which tells whether it is still that
 * one: it changes nothing. Of a report, the API server ignores a UID there.
 *
 * A deletion names both as preconditions.
 *
 * @param timeout milliseconds that each write may take
 */
export function createNodeWriter(
  client: KubeClient,
  parsers: ObjectParsers,
  timeout: number,
  signal: AbortSignal,
): NodeWriter {
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
    contentType: NonNullable<KubeRequest['contentType']>,
    body: object,
    parse: (object: unknown) => T | undefined,
  ): Promise<WriteResult<T>> {
    return write({ method: 'PATCH', path, contentType, body }, parse)
  }

  return {
    patchNodeStatus(name, seen, { addresses }) {
      const body = { metadata: guard(seen), status: { addresses } }
      return patch(`${NODES}/${encodeURIComponent(name)}/status`, MERGE, body, parsers.node.answer)
    },
    async patchNode(name, seen, changes) {
      const path = `${NODES}/${encodeURIComponent(name)}`
      const result = await patch(path, JSON_PATCH, operations(seen, changes), parsers.node.answer)
      if (result.outcome !== 'rejected') return result
      const { outcome } = await patch(path, JSON_PATCH, operations(seen, {}), parsers.node.answer)
      return outcome === 'conflict' || outcome === 'gone' ? { outcome } : result
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
      return write({ method: 'POST', path: REPORTS_PATH, body }, parsers.report.answer)
    },
    patchReportStatus(name, seen, status) {
      const body = [
        { op: 'replace', path: '/metadata/resourceVersion', value: seen.resourceVersion },
        { op: 'add', path: '/status', value: status },
      ]
      return patch(
        `${REPORTS_PATH}/${encodeURIComponent(name)}/status`,
        JSON_PATCH,
        body,
        parsers.report.answer,
      )
    },
  }
}

interface Operation {
  readonly op: 'add' | 'remove' | 'replace'
  readonly path: string
  readonly value?: unknown
}

/** A JSON patch that makes of the Node that was seen what the changes say. */
function operations(
  seen: SeenNode,
  { labels = {}, annotations = {}, providerID, taints }: NodeChanges,
): Operation[] {
  const hasLabels = seen.labelCount > 0 || Object.keys(labels).length === 0
  const hasAnnotations = seen.hasAnnotations || Object.keys(annotations).length === 0
  return [
    { op: 'replace', path: '/metadata/resourceVersion', value: seen.resourceVersion },
    { op: 'replace', path: '/metadata/uid', value: seen.uid },
    ...(hasLabels ? [] : [{ op: 'add', path: '/metadata/labels', value: {} } as const]),
    ...merge('/metadata/labels', labels),
    ...(hasAnnotations ? [] : [{ op: 'add', path: '/metadata/annotations', value: {} } as const]),
    ...merge('/metadata/annotations', annotations),
    ...(providerID === undefined
      ? []
      : [{ op: 'add', path: '/spec/providerID', value: providerID } as const]),
    ...(taints === undefined ? [] : taintOperations(seen.taints, taints)),
  ]
}

function merge(path: string, changes: Readonly<Record<string, string | null>>): Operation[] {
  return Object.entries(changes).map(([key, value]) => {
    const place = `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
    return value === null ? { op: 'remove', path: place } : { op: 'add', path: place, value }
  })
}

/** The first taints that are wanted in this order stay, all others go, and those that are missing come to the end. */
function taintOperations(present: readonly Taint[], wanted: readonly Taint[]): Operation[] {
  let kept = 0
  const removed: Operation[] = []
  for (const [index, taint] of present.entries()) {
    if (isDeepStrictEqual(taint, wanted[kept])) kept++
    // The last one first, so that no place moves.
    else removed.unshift({ op: 'remove', path: `/spec/taints/${index}` })
  }
  const added = wanted.slice(kept)
  if (added.length === 0) return removed
  return present.length === 0
    ? [{ op: 'add', path: '/spec/taints', value: added }]
    : [...removed, ...added.map((value) => ({ op: 'add', path: '/spec/taints/-', value }) as const)]
}

function guard({ uid, resourceVersion }: ObjectVersion) {
  return { uid, resourceVersion }
}

/** The API server answers with a Status when the object is gone, and with the object itself when finalizers keep it. */
function parseDeletion(answer: unknown): { readonly gone: boolean } | undefined {
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
