import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Pool } from 'undici'
import type { Cluster } from '../servers/cluster.ts'
import type { VcsimVM } from '../servers/control.ts'
import { startCluster } from '../servers/start-cluster.ts'
import { inParallel } from '../world/crowd.ts'
import { nodeObject } from '../world/kubelet.ts'
import { serviceAccountToken } from '../world/service-account.ts'
import type { BenchStage } from './stage.ts'

const PARALLEL = 16
const PATCH = 'application/merge-patch+json'
const LABELS = [
  'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'rollcall.node-restriction.kubernetes.io/identity-level',
]

interface Stored {
  metadata: { name: string; uid: string; resourceVersion: string }
  spec: { taints?: { key: string }[] }
}

interface Change {
  metadata?: object
  spec?: object
  status?: object
}

/** The floor with nothing of ours in it: an API server without our manifests, and an administrator who writes. */
export async function measureBareFloor(machines: readonly VcsimVM[]): Promise<number> {
  await using cluster = await startCluster()
  const files = await cluster.clientCertificate({ user: 'admin', groups: ['system:masters'] })
  const cert = await readFile(files.certificateFile, 'utf8')
  const key = await readFile(files.keyFile, 'utf8')
  return await secondsFor(cluster, machines, { connect: { cert, key }, headers: {} })
}

/** The floor of this stage, with our policies and the controller's credential. */
export async function measureFloor({ cluster, machines }: BenchStage): Promise<number> {
  const token = await serviceAccountToken(cluster, 'rollcall-controller')
  return secondsFor(cluster, machines, { connect: {}, headers: { authorization: `Bearer ${token}` } })
}

/** The seconds that the agents' reports take by themselves, with nobody who reads them. */
export async function measureReports(stage: BenchStage): Promise<number> {
  await using cast = await stage.enter()
  const start = performance.now()
  await cast.report()
  return (performance.now() - start) / 1000
}

interface Credential {
  readonly connect: { readonly cert?: string; readonly key?: string }
  readonly headers: Readonly<Record<string, string>>
}

/**
 * The seconds that an API server takes for what no provider can do without, the two writes that initialize a Node, sent by
 * clients who do nothing else.
 */
async function secondsFor(
  cluster: Cluster,
  machines: readonly VcsimVM[],
  credential: Credential,
): Promise<number> {
  const nodes: Stored[] = []
  await inParallel([...machines.entries()], async ([i, { uuid }]) => {
    const node = nodeObject({ name: `floor-${i}`, biosUUID: uuid })
    nodes.push((await cluster.request<Stored>('POST', '/api/v1/nodes', node)).body)
  })
  const pool = new Pool(cluster.url, {
    connections: PARALLEL,
    connect: { ca: await readFile(cluster.caFile, 'utf8'), ...credential.connect },
  })

  async function patch(path: string, { metadata }: Stored, change: Change): Promise<Stored> {
    const { uid, resourceVersion } = metadata
    const { statusCode, body } = await pool.request({
      method: 'PATCH',
      path,
      headers: { 'content-type': PATCH, ...credential.headers },
      body: JSON.stringify({ ...change, metadata: { uid, resourceVersion, ...change.metadata } }),
    })
    const text = await body.text()
    if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${text}`)
    return JSON.parse(text)
  }

  async function initialize(node: Stored, i: number): Promise<void> {
    const { name } = node.metadata
    const address = `10.${200 + Math.floor(i / 62_500)}.${Math.floor(i / 250) % 250}.${(i % 250) + 1}`
    const addresses = [
      { type: 'Hostname', address: name },
      { type: 'InternalIP', address },
      { type: 'ExternalIP', address },
    ]
    const addressed = await patch(`/api/v1/nodes/${name}/status`, node, { status: { addresses } })
    const taints = addressed.spec.taints?.filter(({ key }) => !key.endsWith('/uninitialized')) ?? []
    const labels = Object.fromEntries(LABELS.map((label) => [label, 'some-value']))
    const spec = { providerID: `vsphere://${randomUUID()}`, taints }
    await patch(`/api/v1/nodes/${name}`, addressed, { metadata: { labels }, spec })
  }

  const start = performance.now()
  const left = nodes.entries()
  await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      for (const [i, node] of left) await initialize(node, i)
    }),
  )
  const seconds = (performance.now() - start) / 1000
  await pool.destroy()
  await inParallel(nodes, async ({ metadata: { name } }) => {
    await cluster.request('DELETE', `/api/v1/nodes/${name}`)
  })
  return seconds
}
