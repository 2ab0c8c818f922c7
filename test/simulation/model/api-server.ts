import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import { ApiError } from '../../../agent/shared/api-error.ts'
import { REPORTS_PATH } from '../../../agent/shared/node-report.ts'
import type { KubeRequest } from '../../../controller/kubernetes/client.ts'
import { REQUESTS } from '../../../controller/loops/certificates/loop.ts'
import type { Timeline } from '../timeline.ts'
import {
  decideRequest,
  deleteNode,
  patchNode,
  patchNodeStatus,
  patchReportStatus,
  type Written,
} from './api-writes.ts'
import {
  deletedAt,
  isDeparting,
  LeaseBody,
  NewReport,
  type StoredNode,
  type StoredReport,
  type StoredRequest,
} from './objects.ts'
import { wallTime } from './process.ts'

export type ResourceName = 'nodes' | 'reports' | 'csiNodes' | 'requests'
export type Stored = StoredNode | StoredReport | StoredRequest

/** A write by a controller, as the API server took it. */
export type Write = Written & { readonly by: string }

/** Told of what controllers do. */
export interface ApiServerWatch {
  onWrite(write: Write): void
  /** The deletion of a Node is refused. */
  onRefused(nodeName: string): void
  /** A request for a certificate is approved or denied. */
  onRequestDecided(request: StoredRequest, by: string): void
}

/** A change of an object, as a watch tells of it. */
export interface StoredChange {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'
  readonly object: Stored
  readonly version: number
  /** True time. */
  readonly at: number
}

/** What is different where a write of one Node, or of its report, costs too much. */
export interface Burden {
  /** Milliseconds until there is an answer. */
  readonly slow: number
  /** Whether the API server's own time is over by then, so that nothing is stored. */
  readonly lost: boolean
  /** Whether a webhook denies it. */
  readonly denied: boolean
}

/** What stands in etcd, and the rules by which it is written. */
export interface ApiServer {
  readonly nodes: ReadonlyMap<string, StoredNode>
  readonly reports: ReadonlyMap<string, StoredReport>
  /** There is no CSI driver in this world. */
  readonly csiNodes: ReadonlyMap<string, never>
  readonly requests: ReadonlyMap<string, StoredRequest>
  /** Who holds the Lease, and since when; empty for nobody. */
  readonly holder: { readonly identity: string; readonly since: number }
  /** When each kubelet has renewed its Lease, by the name of its Node; true time. */
  readonly heartbeats: Map<string, number>
  /** Names of Nodes with as many VolumeAttachments. */
  readonly attachments: Map<string, number>
  /** Whether listing VolumeAttachments is refused. */
  volumesRefused: boolean
  /** When volumes were attached last, or could be listed again. */
  volumesChangedAt: number
  /** Whether an admission webhook refuses deletions. */
  deletionsRefused: boolean
  /** What the controller may not do with requests for certificates. */
  requestsRefused: 'list' | 'approval' | undefined
  /** Of the Nodes whose writes cost too much, by name. */
  readonly burdens: Map<string, Burden>
  /** When a write of a Node was last denied for that, by name. */
  readonly deniedAt: ReadonlyMap<string, number>
  /** It takes no request at all. */
  away: boolean
  /** Milliseconds that a request waits, at most. */
  slow: number
  /** Takes away what the replicas remember of their logins. */
  forgetLogins(): void
  /** A request of this controller; throws an ApiError. */
  handle(request: KubeRequest, by: string): unknown
  /** What makes this request different; undefined for nothing. */
  burdenOf(request: KubeRequest): Burden | undefined
  /** Sets the finalizers of a Node; one that was deleted is gone when it has none. */
  setFinalizers(name: string, finalizers: readonly string[]): void
  /** Writes of others than the controllers. Undefined deletes, and waits for finalizers. */
  putNode(name: string, node: StoredNode | undefined): void
  putReport(name: string, report: StoredReport | undefined): void
  putRequest(name: string, request: StoredRequest | undefined): void
  /**
   * Tells of the changes of a kind after a version, those before now at once.
   *
   * @returns how to end it; throws an ApiError where so old a version is forgotten
   */
  watch(kind: ResourceName, version: number, changed: (change: StoredChange) => void): () => void
}

/** Of each kind, so many changes are remembered. */
const REMEMBERED = 500
const LISTS: Readonly<Record<string, ResourceName>> = {
  '/api/v1/nodes': 'nodes',
  [REPORTS_PATH]: 'reports',
  '/apis/storage.k8s.io/v1/csinodes': 'csiNodes',
  [REQUESTS]: 'requests',
}

/** The kind of object whose collection this is. */
export function kindAt(path: string): ResourceName | undefined {
  return LISTS[path]
}

/** A Node, or its report, by name. */
const OBJECT = /\/(nodes|nodereports)\/([^/]+)(\/status)?$/
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases'
const CPI_LEASE = '/cloud-controller-manager'
const WORKLOADS = '/apis/apps/v1/namespaces/kube-system/'
const KUBELET_LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/'

export function createApiServer(
  timeline: Timeline,
  { onWrite, onRefused, onRequestDecided }: ApiServerWatch,
): ApiServer {
  const nodes = new Map<string, StoredNode>()
  const reports = new Map<string, StoredReport>()
  const requests = new Map<string, StoredRequest>()
  const watchers = {
    nodes: new Set<(change: StoredChange) => void>(),
    reports: new Set<(change: StoredChange) => void>(),
    csiNodes: new Set<(change: StoredChange) => void>(),
    requests: new Set<(change: StoredChange) => void>(),
  }
  const changes: Record<ResourceName, StoredChange[]> = { nodes: [], reports: [], csiNodes: [], requests: [] }
  const deniedAt = new Map<string, number>()
  let version = 1000
  let lease: v.InferOutput<typeof LeaseBody> | undefined
  let holder = { identity: '', since: 0 }

  function store<T extends Stored>(
    kind: ResourceName,
    map: Map<string, T>,
    name: string,
    object: T | undefined,
  ): void {
    const before = map.get(name)
    const stored = object ?? before
    if (stored === undefined) return
    const after = { ...stored, metadata: { ...stored.metadata, resourceVersion: String(++version) } }
    if (object === undefined) map.delete(name)
    else map.set(name, after)
    const type = object === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED'
    const change: StoredChange = { type, object: after, version, at: timeline.now }
    changes[kind] = [...changes[kind].slice(1 - REMEMBERED), change]
    for (const changed of watchers[kind]) changed(change)
  }

  function putNode(name: string, node: StoredNode | undefined): void {
    const before = nodes.get(name)
    const kept = before && deletedAt(before, wallTime(timeline.now))
    if (node === undefined && kept !== undefined) {
      if (before !== undefined && !isDeparting(before)) storeNode(name, kept)
    } else storeNode(name, node)
  }

  function storeNode(name: string, node: StoredNode | undefined): void {
    const before = nodes.get(name)
    store('nodes', nodes, name, node)
    if (before === undefined || node?.metadata.uid === before.metadata.uid) return
    // The garbage collector.
    timeline.after(2_000, 'garbage is collected', () => {
      const report = reports.get(name)
      if (report?.metadata.ownerUID === before.metadata.uid) putReport(name, undefined)
    })
  }

  function putReport(name: string, report: StoredReport | undefined): void {
    store('reports', reports, name, report)
  }

  function putRequest(name: string, request: StoredRequest | undefined): void {
    store('requests', requests, name, request)
  }

  function approve(path: string, body: unknown, by: string): unknown {
    const name = path.slice(REQUESTS.length + 1, -'/approval'.length)
    const before = requests.get(name)
    if (before === undefined) throw new ApiError(`no ${path}`, { status: 404, reason: 'NotFound' })
    if (self.requestsRefused === 'approval')
      throw new ApiError('a policy denied the request', { status: 403, reason: 'Forbidden' })
    const decided = decideRequest(before, body)
    putRequest(name, decided)
    onRequestDecided(decided, by)
    return requests.get(name)
  }

  function written(by: string, write: Written): unknown {
    const { name } = write.before.metadata
    // Nothing changes: nothing is stored, as with the real one.
    if (!isDeepStrictEqual(write.before, write.after)) {
      if (write.what === 'report status') putReport(name, write.after)
      else putNode(name, write.after)
    }
    onWrite({ ...write, by })
    if (write.after === undefined) return { kind: 'Status', status: 'Success' }
    return write.what === 'report status' ? reports.get(name) : { kind: 'Node', ...nodes.get(name) }
  }

  /** The Node that a write is about, or that the report is of. */
  function writtenNode({ method, path }: KubeRequest): string | undefined {
    return method === 'GET' ? undefined : OBJECT.exec(path)?.[2]
  }

  function writeLease({ method, body }: KubeRequest): unknown {
    if (method === 'GET') {
      if (lease === undefined) throw new ApiError('no Lease', { status: 404, reason: 'NotFound' })
      return lease
    }
    const parsed = v.parse(LeaseBody, body)
    const seen = parsed.metadata.resourceVersion
    const stale = method === 'POST' ? lease !== undefined : seen !== lease?.metadata.resourceVersion
    if (stale) throw new ApiError('the Lease has changed', { status: 409, reason: 'Conflict' })
    const identity = parsed.spec.holderIdentity
    if (identity !== holder.identity) holder = { identity, since: timeline.now }
    lease = { ...parsed, metadata: { ...parsed.metadata, resourceVersion: String(++version) } }
    return lease
  }

  function readHeartbeat(path: string): unknown {
    const renewed = self.heartbeats.get(path.slice(KUBELET_LEASES.length))
    if (renewed === undefined) throw new ApiError('no Lease', { status: 404, reason: 'NotFound' })
    return { metadata: { uid: 'lease' }, spec: { renewTime: wallTime(renewed) } }
  }

  /** Of a Node for which no agent speaks. */
  function createReport(body: unknown): unknown {
    const { metadata, spec } = v.parse(NewReport, body)
    const { name, ownerReferences } = metadata
    if (reports.has(name)) throw new ApiError('it is there', { status: 409, reason: 'AlreadyExists' })
    const [owner] = ownerReferences
    if (nodes.get(name)?.metadata.uid === owner.uid)
      putReport(name, {
        metadata: {
          name,
          uid: `report-${++version}`,
          resourceVersion: '',
          creationTimestamp: wallTime(timeline.now),
          generation: 1,
          ownerUID: owner.uid,
          annotations: {},
        },
        spec,
        status: { conditions: [] },
      })
    return reports.get(name) ?? { metadata: { ...metadata, uid: 'collected', resourceVersion: '0' } }
  }

  function list(kind: ResourceName): unknown {
    refuseRequests(kind)
    return { metadata: { resourceVersion: String(version) }, items: [...self[kind].values()] }
  }

  function refuseRequests(kind: ResourceName): void {
    if (kind === 'requests' && self.requestsRefused === 'list')
      throw new ApiError('forbidden', { status: 403, reason: 'Forbidden' })
  }

  function listAttachments(): unknown {
    if (self.volumesRefused) throw new ApiError('forbidden', { status: 403, reason: 'Forbidden' })
    const items = [...self.attachments].flatMap(([nodeName, count]) =>
      Array.from({ length: count }, () => ({ spec: { nodeName } })),
    )
    return { metadata: { resourceVersion: String(version) }, items }
  }

  const self: ApiServer = {
    nodes,
    reports,
    csiNodes: new Map<string, never>(),
    requests,
    get holder() {
      return holder
    },
    heartbeats: new Map(),
    attachments: new Map(),
    volumesRefused: false,
    volumesChangedAt: 0,
    deletionsRefused: false,
    requestsRefused: undefined,
    burdens: new Map(),
    deniedAt,
    away: false,
    slow: 0,
    forgetLogins() {
      if (lease === undefined) return
      const { annotations: _, ...metadata } = lease.metadata
      lease = { ...lease, metadata: { ...metadata, resourceVersion: String(++version) } }
    },
    handle(request, by) {
      const { method, path, body } = request
      // By which the controller tries whether the policy is in force.
      if (request.impersonate !== undefined)
        throw new ApiError(
          "ValidatingAdmissionPolicy 'own-report.rollcall.dev' with binding 'x' denied request",
          {
            status: 403,
            reason: 'Forbidden',
          },
        )
      const kindOfList = kindAt(path)
      if (method === 'GET' && kindOfList !== undefined) return list(kindOfList)
      if (path.startsWith(LEASES) && !path.endsWith(CPI_LEASE)) return writeLease(request)
      if (path.startsWith(KUBELET_LEASES)) return readHeartbeat(path)
      if (path.endsWith('/volumeattachments')) return listAttachments()
      if (method === 'PATCH' && path.startsWith(REQUESTS)) return approve(path, body, by)
      // There is no CPI in this world.
      if (path.startsWith(WORKLOADS)) return { metadata: { resourceVersion: String(version) }, items: [] }
      if (method === 'POST' && path.endsWith('/nodereports')) return createReport(body)
      const [, kind = '', name = '', sub] = OBJECT.exec(path) ?? []
      const node = nodes.get(name)
      const report = reports.get(name)
      const object = kind === 'nodes' ? node : report
      if (object === undefined) throw new ApiError(`no ${path}`, { status: 404, reason: 'NotFound' })
      const burden = self.burdenOf(request)
      if (burden?.denied === true) {
        deniedAt.set(name, timeline.now)
        if (method === 'DELETE') onRefused(name)
        throw new ApiError('a webhook denied the request', { status: 403, reason: 'Forbidden' })
      }
      if (burden?.lost === true) throw new ApiError('the time is over', { status: 504, reason: 'Timeout' })
      if (report !== undefined && kind === 'nodereports') return written(by, patchReportStatus(report, body))
      if (node === undefined) throw new Error(`${method} ${path} is not modeled`)
      if (method === 'DELETE') {
        if (self.deletionsRefused) {
          onRefused(name)
          throw new ApiError('a webhook denied the request', { status: 403, reason: 'Forbidden' })
        }
        return written(by, deleteNode(node, body, wallTime(timeline.now)))
      }
      return written(by, sub === undefined ? patchNode(node, body) : patchNodeStatus(node, body))
    },
    burdenOf: (request) => self.burdens.get(writtenNode(request) ?? ''),
    setFinalizers(name, finalizers) {
      const node = nodes.get(name)
      if (node === undefined) return
      if (isDeparting(node) && finalizers.length === 0) storeNode(name, undefined)
      else storeNode(name, { ...node, metadata: { ...node.metadata, finalizers } })
    },
    putNode,
    putReport,
    putRequest,
    watch(kind, version, changed) {
      refuseRequests(kind)
      const [oldest] = changes[kind]
      if (changes[kind].length >= REMEMBERED - 1 && oldest !== undefined && oldest.version > version + 1)
        throw new ApiError('too old resource version', { status: 410, reason: 'Expired' })
      for (const change of changes[kind]) if (change.version > version) changed(change)
      watchers[kind].add(changed)
      return () => watchers[kind].delete(changed)
    },
  }
  return self
}
