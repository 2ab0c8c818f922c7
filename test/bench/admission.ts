import { randomUUID } from 'node:crypto'
import { until } from '../fixtures/until.ts'
import { applyManifests } from '../servers/manifests.ts'
import { type OwnCluster, startCluster } from '../servers/start-cluster.ts'
import { nodeObject } from '../world/kubelet.ts'
import { cpuSeconds } from '../world/meters.ts'
import { serviceAccountToken } from '../world/service-account.ts'

const STRATEGIC = 'application/strategic-merge-patch+json'
const MERGE = 'application/merge-patch+json'
const SHUTDOWN = { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' }
const VERIFIED = [
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
] as const
const CONDITIONS = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'NetworkUnavailable', 'Ready']

/** A Node with so many labels and taints, and how often it is written: `rounds` times in turns, `writes` in a row. */
const SHAPES = [
  { labels: 10, taints: 1, rounds: 40, writes: 50 },
  { labels: 1_000, taints: 1, rounds: 12, writes: 20 },
  { labels: 20_000, taints: 1, rounds: 6, writes: 4 },
  { labels: 10, taints: 3_000, rounds: 12, writes: 10 },
] as const
type Shape = (typeof SHAPES)[number]

export type PatchWriter = 'a kubelet, its heartbeat' | 'an administrator' | 'the controller'

/** Milliseconds of the API server's CPU for one PATCH of a Node. */
export interface AdmissionFigure {
  readonly labels: number
  readonly taints: number
  readonly writer: PatchWriter
  readonly bare: number
  readonly ours: number
}

/** A Node on one of the API servers, and how each writes to it; the number makes each write another one. */
type Writes = Readonly<Record<PatchWriter, (i: number) => Promise<number>>>

/**
 * What a PATCH of a Node costs an API server with our manifests, and one without. Both are asked in turns, in the same
 * minutes, and on the bare one an administrator writes what the controller does on ours.
 */
export async function benchAdmission(progress: (text: string) => void): Promise<readonly AdmissionFigure[]> {
  await using bare = await startCluster()
  await using ours = await startCluster()
  await applyManifests(ours)
  const token = await serviceAccountToken(ours, 'rollcall-controller')
  await inForce(ours, token)
  const figures: AdmissionFigure[] = []
  for (const shape of SHAPES) {
    progress(`writes to a Node with ${shape.labels} labels and ${shape.taints} taints`)
    const sides = {
      bare: { cluster: bare, writes: await createNode(bare, shape) },
      ours: { cluster: ours, writes: await createNode(ours, shape, token) },
    }
    for (const writer of ['a kubelet, its heartbeat', 'an administrator', 'the controller'] as const) {
      const seconds = { bare: 0, ours: 0 }
      // The first round is for connections and caches.
      for (let round = 0; round <= shape.rounds; round++) {
        for (const side of ['bare', 'ours'] as const) {
          const { cluster, writes } = sides[side]
          const before = await cpuSeconds(cluster.apiServerPID())
          for (let i = 0; i < shape.writes; i++) {
            const status = await writes[writer](round * shape.writes + i)
            if (status !== 200) throw new Error(`${writer}: a write is answered with ${status}`)
          }
          if (round > 0) seconds[side] += (await cpuSeconds(cluster.apiServerPID())) - before
        }
      }
      const perWrite = (seconds: number) => (seconds * 1000) / (shape.rounds * shape.writes)
      const { labels, taints } = shape
      figures.push({
        labels,
        taints,
        writer,
        bare: perWrite(seconds.bare),
        ours: perWrite(seconds.ours),
      })
    }
  }
  return figures
}

/** Resolves once the policies refuse what they must: a figure of policies that are not in force would be too good. */
async function inForce(cluster: OwnCluster, token: string): Promise<void> {
  await cluster.request('POST', '/api/v1/nodes', nodeObject({ name: 'watched', biosUUID: randomUUID() }))
  await until('the policies are in force', async () => {
    const foreign = { metadata: { labels: { 'example.com/not-ours': randomUUID() } } }
    const { body } = await cluster.request<{ message?: string }>('PATCH', '/api/v1/nodes/watched', foreign, {
      contentType: MERGE,
      token,
    })
    return body.message?.includes('ValidatingAdmissionPolicy')
  })
}

/** Creates an initialized Node of this shape; without a token, an administrator stands for the controller. */
async function createNode(cluster: OwnCluster, shape: Shape, token?: string): Promise<Writes> {
  const name = `node-${shape.labels}-${shape.taints}`
  const labels = Object.fromEntries([
    ...VERIFIED.map((label) => [label, 'some-value']),
    ...Array.from({ length: shape.labels }, (_, i) => [`example.com/label-${i}`, `value-${i}`]),
  ])
  const taints = Array.from({ length: shape.taints }, (_, i) => {
    return { key: `example.com/taint-${i}`, effect: 'PreferNoSchedule' }
  })
  const node = nodeObject({ name, biosUUID: randomUUID(), providerID: `vsphere://${name}`, labels })
  const path = `/api/v1/nodes/${name}`
  const patch = async (path: string, body: object, contentType: string, as?: string) =>
    cluster.request<{ spec: { taints: object[] } }>('PATCH', path, body, {
      contentType,
      ...(as === undefined ? {} : { token: as }),
    })

  const created = await cluster.request('POST', '/api/v1/nodes', { ...node, spec: { ...node.spec, taints } })
  if (created.status !== 201) throw new Error(`the Node is answered with ${created.status}`)
  const conditions = CONDITIONS.map((type) => {
    return {
      type,
      status: type === 'Ready' ? 'True' : 'False',
      reason: 'Kubelet',
      lastHeartbeatTime: new Date(),
    }
  })
  const images = Array.from({ length: 20 }, (_, i) => {
    return { names: [`example.com/image-${i}@sha256:${'a'.repeat(64)}`], sizeBytes: 1_000 + i }
  })
  // The API server adds a taint of its own at registration.
  const { body } = await patch(`${path}/status`, { status: { conditions, images } }, MERGE)
  const kubelet = await cluster.as({ user: `system:node:${name}`, groups: ['system:nodes'] })
  return {
    'a kubelet, its heartbeat': async (i) => {
      const ready = { type: 'Ready', status: 'True', lastHeartbeatTime: new Date(Date.now() + i * 1000) }
      const body = { status: { conditions: [ready] } }
      return (await kubelet.request('PATCH', `${path}/status`, body, { contentType: STRATEGIC })).status
    },
    'an administrator': async (i) =>
      (await patch(path, { metadata: { annotations: { 'example.com/note': `note-${i}` } } }, MERGE)).status,
    'the controller': async (i) => {
      const zone = VERIFIED.slice(0, 2).map((label) => {
        const place = `/metadata/labels/${label.replace('/', '~1')}`
        return { op: 'add', path: place, value: `zone-${i}` }
      })
      const taint =
        i % 2 === 0
          ? { op: 'add', path: '/spec/taints/-', value: SHUTDOWN }
          : { op: 'remove', path: `/spec/taints/${body.spec.taints.length}` }
      return (await patch(path, [...zone, taint], 'application/json-patch+json', token)).status
    },
  }
}
