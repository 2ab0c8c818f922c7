/** What a write makes of an object, by the API server's rules. Each throws an ApiError where it is refused. */
import * as v from 'valibot'
import { ApiError } from '../../../agent/shared/api-error.ts'
import {
  DeleteOptions,
  type Metadata,
  NodePatch,
  NodeStatusPatch,
  StatusPatch,
  type StoredNode,
  type StoredReport,
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

export function deleteNode(before: StoredNode, body: unknown): Written {
  guard(before.metadata, v.parse(DeleteOptions, body).preconditions)
  return { what: 'node deletion', before, after: undefined }
}

export function patchNode(before: StoredNode, body: unknown): Written {
  const { metadata, spec } = v.parse(NodePatch, body)
  guard(before.metadata, metadata)
  const after: StoredNode = {
    ...before,
    metadata: {
      ...before.metadata,
      labels: merge(before.metadata.labels, metadata.labels),
      annotations: merge(before.metadata.annotations, metadata.annotations),
    },
    spec: {
      ...before.spec,
      ...(spec.providerID === undefined ? {} : { providerID: spec.providerID }),
      ...(spec.taints === undefined ? {} : { taints: spec.taints }),
    },
  }
  return { what: 'node', before, after }
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

function guard(metadata: Metadata, { uid, resourceVersion }: Guard): void {
  const other = uid !== undefined && uid !== metadata.uid
  const newer = resourceVersion !== undefined && resourceVersion !== metadata.resourceVersion
  if (other || newer) throw new ApiError('the object has changed', { status: 409, reason: 'Conflict' })
}

function merge(
  before: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | null>>,
): Record<string, string> {
  const merged = Object.entries({ ...before, ...changes })
  return Object.fromEntries(merged.flatMap(([key, value]) => (value === null ? [] : [[key, value]])))
}
