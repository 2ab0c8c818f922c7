import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Cluster } from '../servers/cluster.ts'
import { applyManifests, manifestFiles, readManifests } from '../servers/manifests.ts'
import { startCluster } from '../servers/start-cluster.ts'
import { startVcsim, type Vcsim } from '../servers/vcsim.ts'
import { type Controller, startController } from '../world/controller.ts'
import { LIFECYCLE } from './ending/times.ts'
import { CATEGORIES, CLUSTERS, DATACENTER, type DemoScene, HOSTS_PER_CLUSTER, setScene } from './scene.ts'
import { step } from './steps.ts'
import type { Terminal } from './terminal.ts'

/** All that runs before the first Node is registered. */
export interface DemoSite extends DemoScene {
  readonly cluster: Cluster
  readonly vcsim: Vcsim
  /** The one that runs, or ran last. */
  readonly controller: Controller
  /** Ends it, and starts another. */
  restartController(): Promise<void>
  /** For files of the demo's own. */
  readonly dir: string
}

export interface SiteOptions {
  /** How many VMs become Nodes; the forger has one more. */
  readonly nodes: number
  readonly terminal: Terminal
  /** Everything that was started is handed to it, to be stopped in reverse. */
  readonly stack: AsyncDisposableStack
  readonly signal: AbortSignal
}

export async function startSite({ nodes, terminal, stack, signal }: SiteOptions): Promise<DemoSite> {
  const dir = await mkdtemp(join(tmpdir(), 'rollcall-demo-'))
  stack.defer(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const next = async <T>(
    name: string,
    work: () => Promise<T>,
    describe: (result: T) => string,
  ): Promise<T> => {
    signal.throwIfAborted()
    return step(terminal, name, work, describe)
  }

  const cluster = await next(
    'Kubernetes',
    async () => stack.use(await startCluster()),
    ({ url }) => `etcd and kube-apiserver at ${url}`,
  )
  const { vcsim, scene } = await next(
    'vCenter',
    async () => {
      const vcsim = stack.use(
        await startVcsim({ clusters: CLUSTERS, hosts: HOSTS_PER_CLUSTER, vms: nodes + 1 }),
      )
      return { vcsim, scene: await setScene(vcsim) }
    },
    () =>
      `simulated: ${CLUSTERS} clusters, ${CLUSTERS * HOSTS_PER_CLUSTER} hosts, ${nodes + 1} VMs (one of them a forger's), tags for zones and region`,
  )
  await next(
    'manifests',
    async () => applyManifests(cluster, await withoutWorkloads()),
    () => 'CRD, admission policies, RBAC',
  )
  const start = async (identity: string) => {
    const settings = { labels: CATEGORIES, datacenters: [DATACENTER], lifecycle: LIFECYCLE }
    return stack.use(await startController({ cluster, vcsim, dir, identity, ...settings }))
  }
  let controller = await next(
    'controller',
    () => start('controller-0'),
    ({ url }) => `runs and is the leader; metrics at ${url}/metrics`,
  )
  return {
    ...scene,
    cluster,
    vcsim,
    dir,
    get controller() {
      return controller
    },
    async restartController() {
      signal.throwIfAborted()
      await controller.stop()
      controller = await start('controller-1')
    },
  }
}

/** What can be applied where nobody runs Pods. */
async function withoutWorkloads(): Promise<string[]> {
  const files: string[] = []
  for (const file of await manifestFiles()) {
    const manifests = await readManifests(file)
    if (!manifests.some(({ kind }) => kind === 'Deployment' || kind === 'DaemonSet')) files.push(file)
  }
  return files
}
