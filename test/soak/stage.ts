import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { applyManifests } from '../servers/manifests.ts'
import { type OwnCluster, startCluster } from '../servers/start-cluster.ts'
import { type ApiProxy, startApiProxy } from '../world/api-proxy.ts'
import { LIFECYCLE_CONTROLLERS, startControllerManager } from '../world/control-plane.ts'
import { type ControllerProcessOptions, vsphereConf } from '../world/controller.ts'
import type { EventObject, NodeObject, ReportObject } from '../world/objects.ts'
import { mountSecret } from '../world/secret-mount.ts'
import { endsOf, LABELS, openServers, type StageServers } from '../world/stage.ts'
import { createFleet, type SoakFleet } from './fleet.ts'
import { createLedger, type Ledger, type Unbound } from './ledger.ts'
import { type NodeWatch, watchNodes } from './node-watch.ts'
import { type Replicas, startReplicas } from './replicas.ts'

/** Milliseconds. Minutes in production; so short that a VM's end is got over within a minute here. */
export const ABSENT_FOR = 20_000

const LIFECYCLE = {
  absentFor: `${ABSENT_FOR}ms`,
  confirmations: 3,
  leaderAge: '5s',
  deletionsPerMinute: 60,
  outOfServiceAfter: '60s',
} as const

/** Everything that runs, and what may be done to it. */
export interface SoakStage extends Omit<StageServers<OwnCluster>, 'dir'>, AsyncDisposable {
  /** Between the controllers and vCenter. */
  readonly line: ApiProxy
  readonly nodes: NodeWatch
  readonly ledger: Ledger
  readonly fleet: SoakFleet
  readonly replicas: Replicas
  readonly unbound: Unbound
  reports(): Promise<readonly ReportObject[]>
  /** UIDs of the Nodes of which Events say that no agent reports for them. */
  unreported(): Promise<ReadonlySet<string>>
  /** Deletes a Node as a person would. */
  removeNode(name: string): Promise<void>
  /** Writes the controllers' configuration anew, as the kubelet does when its Secret changes. */
  configure(change?: Pick<ControllerProcessOptions, 'lifecycle' | 'topology'>): Promise<void>
}

/** @param unbound `lifecycle.unbound` */
export async function openSoakStage(count: number, unbound: Unbound): Promise<SoakStage> {
  const stack = new AsyncDisposableStack()
  try {
    const clusters = Math.max(2, Math.ceil(count / 50))
    const { cluster, vcsim, dir } = await openServers(
      endsOf(stack),
      { vms: count, clusters, hosts: 5, cpus: 4, memoryMB: 16_384 },
      startCluster,
      clusters,
    )
    const line = await startApiProxy(vcsim.url)
    stack.defer(() => line.close())
    await applyManifests(cluster)
    const vms = await vcsim.vms()
    stack.use(await startControllerManager(cluster, LIFECYCLE_CONTROLLERS))
    const nodes = stack.use(await watchNodes(cluster))
    const ledger = createLedger({ provingTime: ABSENT_FOR, unbound })
    const fleet = stack.use(await createFleet({ cluster, vcsim, nodes, ledger }, vms))

    const text = ({
      lifecycle,
      topology,
    }: Pick<ControllerProcessOptions, 'lifecycle' | 'topology'> = {}) => ({
      'vsphere.conf': vsphereConf(
        { ...vcsim, port: Number(new URL(line.url).port) },
        {
          labels: LABELS,
          lifecycle: { ...LIFECYCLE, unbound, ...lifecycle },
          ...(topology === undefined ? {} : { topology }),
        },
      ),
    })
    const secret = await mountSecret(join(dir, 'config'), text())
    const configFile = secret.path('vsphere.conf')
    const replicas = stack.use(await startReplicas({ cluster, vcsim, dir, configFile }, patient))
    return {
      cluster,
      vcsim,
      line,
      nodes,
      ledger,
      fleet,
      replicas,
      unbound,
      reports: () => listed<ReportObject>(cluster, '/apis/rollcall.dev/v1alpha1/nodereports'),
      async unreported() {
        const events = await listed<EventObject>(cluster, '/api/v1/events?fieldSelector=reason%3DNoReport')
        return new Set(events.map(({ involvedObject }) => involvedObject.uid))
      },
      removeNode: (name) =>
        patient(`Node ${name} is deleted`, async () => {
          const path = `/api/v1/nodes/${name}`
          const found = await cluster.request<NodeObject>('GET', path)
          if (found.status === 404) return
          if (found.status !== 200) throw new Error(`Node ${name} is not read: ${found.status}`)
          const { uid } = found.body.metadata
          ledger.removedByPerson(uid)
          const { status } = await cluster.request('DELETE', path, { preconditions: { uid } })
          if (status !== 200 && status !== 404) throw new Error(`Node ${name} is not deleted: ${status}`)
        }),
      configure: (change) => secret.write(text(change)),
      [Symbol.asyncDispose]: () => stack.disposeAsync(),
    }
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

function listed<T>(cluster: Pick<OwnCluster, 'request'>, path: string): Promise<readonly T[]> {
  return patient(`${path} is listed`, async () => {
    const { status, body } = await cluster.request<{ items: T[] }>('GET', path)
    if (status !== 200) throw new Error(`${path} is not listed: ${status}`)
    return body.items
  })
}

/** Tries again what fails while the API server is away. */
export async function patient<T>(what: string, work: () => Promise<T>, within = 120_000): Promise<T> {
  const start = performance.now()
  for (;;) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() - start > within) throw new Error(`gave up until ${what}`, { cause: error })
      await sleep(500)
    }
  }
}
