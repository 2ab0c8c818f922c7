import type { NodeReportStatus } from '../../agent/contract.ts'
import { API_GROUP, API_VERSION, PLURAL } from '../../agent/contract.ts'
import type { Node, NodeAddress, NodeReport, Taint } from '../facts/node.ts'
import { hasStatus } from './api-error.ts'
import type { ContentType, KubeClient } from './client.ts'
import { parseNode } from './parse-node.ts'
import { parseNodeReport } from './parse-node-report.ts'

/** The very object that was looked at: a write to any other version of it is refused by the API server. */
export interface ObjectVersion {
  readonly name: string
  readonly uid: string
  readonly resourceVersion: string
}

export type WriteResult<T> =
  /** What the server stored; its resourceVersion guards the next write. */
  | { readonly outcome: 'written'; readonly object: T }
  /** It changed meanwhile, or is another object of the same name: look again, then decide again. */
  | { readonly outcome: 'conflict' }
  | { readonly outcome: 'not-found' }

export interface NodeChanges {
  /** Added to those that are there. */
  readonly labels?: Readonly<Record<string, string>>
  readonly providerID?: string
  /** All of them: the list is replaced whole. */
  readonly taints?: readonly Taint[]
}

/** The controller's writes to Nodes and NodeReports. Each is one request, and throws what `KubeClient.request` does. */
export interface NodeWriter {
  /** Replaces the list of addresses. */
  patchNodeStatus(
    node: ObjectVersion,
    changes: { readonly addresses: readonly NodeAddress[] },
    signal: AbortSignal,
  ): Promise<WriteResult<Node>>
  patchNode(node: ObjectVersion, changes: NodeChanges, signal: AbortSignal): Promise<WriteResult<Node>>
  /** Replaces the status whole: a field that the new one lacks is gone. */
  replaceReportStatus(
    report: ObjectVersion,
    status: NodeReportStatus,
    signal: AbortSignal,
  ): Promise<WriteResult<NodeReport>>
}

/**
 * Nodes take JSON merge patches, which replace lists whole. (A strategic merge merges `addresses` by type, so two of one
 * type become one, and leaves stale ones.) The UID and resourceVersion within the patch make that safe.
 *
 * A report's status takes a JSON patch, as a merge patch could not drop fields without knowing them. It sets the
 * resourceVersion rather than test it: a failed test is answered with 422, as an invalid status is; this with 409.
 */
export function createNodeWriter(client: KubeClient): NodeWriter {
  async function patch<T>(
    path: string,
    contentType: ContentType,
    body: object,
    parse: (object: unknown) => T | undefined,
    signal: AbortSignal,
  ): Promise<WriteResult<T>> {
    let answer: unknown
    try {
      answer = await client.request({ method: 'PATCH', path, contentType, body, signal })
    } catch (error) {
      if (hasStatus(error, 409)) return { outcome: 'conflict' }
      if (hasStatus(error, 404)) return { outcome: 'not-found' }
      throw error
    }
    const object = parse(answer)
    if (!object) throw new Error(`PATCH ${path} was answered with an object of another kind`)
    return { outcome: 'written', object }
  }

  const node = ({ name }: ObjectVersion) => `/api/v1/nodes/${encodeURIComponent(name)}`
  const report = ({ name }: ObjectVersion) =>
    `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}/${encodeURIComponent(name)}`
  const merge = 'application/merge-patch+json'

  return {
    patchNodeStatus(version, { addresses }, signal) {
      const body = { metadata: guard(version), status: { addresses } }
      return patch(`${node(version)}/status`, merge, body, parseNode, signal)
    },
    patchNode(version, { labels, ...spec }, signal) {
      const body = { metadata: { ...guard(version), ...(labels && { labels }) }, spec }
      return patch(node(version), merge, body, parseNode, signal)
    },
    replaceReportStatus(version, status, signal) {
      const { uid, resourceVersion } = guard(version)
      const body = [
        { op: 'replace', path: '/metadata/uid', value: uid },
        { op: 'replace', path: '/metadata/resourceVersion', value: resourceVersion },
        { op: 'add', path: '/status', value: status },
      ]
      return patch(`${report(version)}/status`, 'application/json-patch+json', body, parseNodeReport, signal)
    },
  }
}

function guard({ uid, resourceVersion }: ObjectVersion) {
  return { uid, resourceVersion }
}
