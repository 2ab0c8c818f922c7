/** What a write makes of an object, by the API server's rules. Each throws an ApiError where it is refused. */
import * as v from 'valibot'
import { ApiError } from '../../../agent/shared/api-error.ts'
import {
  ApprovalPatch,
  DeleteOptions,
  deletedAt,
  type Metadata,
  NodePatch,
  NodeStatusPatch,
  PatchedNode,
  StatusPatch,
  type StoredNode,
  type StoredReport,
  type StoredRequest,
} from './objects.ts'

/** An object before and after a write; `after` is undefined where it is gone. */
export type Written =
  | {
      readonly what: 'node' | 'node status' | 'node deletion'
      readonly before: StoredNode
      readonly after: StoredNode | undefined
    }
  | { readonly what: 'report status'; readonly before: StoredReport; readonly after: StoredReport }

interface Guard {
  readonly uid?: string | undefined
  readonly resourceVersion?: string | undefined
}

export function deleteNode(before: StoredNode, body: unknown, time: string): Written {
  guard(before.metadata, v.parse(DeleteOptions, body).preconditions)
  return { what: 'node deletion', before, after: deletedAt(before, time) }
}

/** A JSON patch; it is applied before the version that it sets is compared. */
export function patchNode(before: StoredNode, body: unknown): Written {
  const patched: unknown = structuredClone({ metadata: before.metadata, spec: before.spec })
  for (const operation of v.parse(NodePatch, body)) operate(patched, operation)
  const { metadata, spec } = v.parse(PatchedNode, patched)
  guard(before.metadata, metadata)
  const { labels, annotations } = metadata
  return {
    what: 'node',
    before,
    after: { ...before, metadata: { ...before.metadata, labels, annotations }, spec },
  }
}

function operate(object: unknown, { op, path, value }: v.InferOutput<typeof NodePatch>[number]): void {
  const keys = path.split('/').map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  const last = keys.pop() ?? ''
  const place = keys.slice(1).reduce((at, key) => (isRecord(at) ? at[key] : undefined), object)
  const absent = () =>
    new ApiError(`there is nothing at ${path} to ${op}`, { status: 422, reason: 'Invalid' })
  if (Array.isArray(place)) {
    if (op === 'add' && last === '-') place.push(value)
    else if (op === 'remove' && last in place) place.splice(Number(last), 1)
    else throw absent()
  } else if (isRecord(place) && (op === 'add' || last in place)) {
    if (op === 'remove') delete place[last]
    else place[last] = value
  } else throw absent()
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

export function patchNodeStatus(before: StoredNode, body: unknown): Written {
  const { metadata, status } = v.parse(NodeStatusPatch, body)
  guard(before.metadata, metadata)
  return { what: 'node status', before, after: { ...before, status: { ...before.status, ...status } } }
}

export function patchReportStatus(before: StoredReport, body: unknown): Written {
  const [version, { value }] = v.parse(StatusPatch, body)
  guard(before.metadata, { resourceVersion: version.value })
  // As JSON has it: what is undefined is not there.
  return { what: 'report status', before, after: { ...before, status: JSON.parse(JSON.stringify(value)) } }
}

/** A merge patch of `/approval`. What was decided on stays so. */
export function decideRequest(before: StoredRequest, body: unknown): StoredRequest {
  const { metadata, status } = v.parse(ApprovalPatch, body)
  guard(before.metadata, metadata)
  if (before.status.conditions.length > 0)
    throw new ApiError('a decision stays', { status: 422, reason: 'Invalid' })
  return { ...before, status: { ...before.status, conditions: status.conditions } }
}

function guard(metadata: Metadata, { uid, resourceVersion }: Guard): void {
  const other = uid !== undefined && uid !== metadata.uid
  const newer = resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion
  if (other || newer) throw new ApiError('the object has changed', { status: 409, reason: 'Conflict' })
}
