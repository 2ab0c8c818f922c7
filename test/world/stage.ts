import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Condition, ConditionType } from '../../agent/shared/node-report.ts'
import type { Cluster } from '../servers/cluster.ts'
import type { VcsimVM } from '../servers/control.ts'
import { applyManifests } from '../servers/manifests.ts'
import { borrowCluster } from '../servers/pool/borrow.ts'
import { type OwnCluster, type StartClusterOptions, startCluster } from '../servers/start-cluster.ts'
import { startVcsim, type Vcsim, type VcsimOptions } from '../servers/vcsim.ts'
import { type ApiProxy, startApiProxy } from './api-proxy.ts'
import { type Controller, type ControllerProcessOptions, startController } from './controller.ts'
import { type CrowdMember, claimAll, prepareReports, registerCrowd } from './crowd.ts'
import { type RegisteredNode, registerNode } from './kubelet.ts'
import { createMember, type Member, type MemberOptions } from './member.ts'
import {
  condition,
  type EventObject,
  eventsOf,
  isInitialized,
  type NodeObject,
  type ReportObject,
} from './objects.ts'
import type { Program } from './program.ts'
import { type Recording, record } from './recorder.ts'
import { mountSecret } from './secret-mount.ts'

export const ZONE_CATEGORY = 'k8s-zone'
export const REGION_CATEGORY = 'k8s-region'
/** As vsphere.conf names them. */
export const LABELS = { zone: ZONE_CATEGORY, region: REGION_CATEGORY } as const

/** The servers of a stage. */
export interface StageServers<C extends Cluster = Cluster> {
  readonly cluster: C
  readonly vcsim: Vcsim
  /** For files; removed with the cluster. */
  readonly dir: string
}

/** A cluster with Rollcall's manifests, a vCenter with tags, and a record of all that happens to the objects. */
export interface Stage extends StageServers {
  /** Those without a Node yet; each new member takes the first. */
  readonly vms: VcsimVM[]
  readonly nodes: Recording<NodeObject>
  readonly reports: Recording<ReportObject>
  readonly events: Recording<EventObject>
  /** Leaves only these of the VMs without a Node to new members. */
  keepVMs(which: (vm: VcsimVM) => boolean): void
  /** Starts another vCenter, without tags. */
  vCenter(options: VcsimOptions): Promise<Vcsim>
  /** Starts a controller, see {@link ControllerProcessOptions}; it ends with the stage, or with the test that is given. */
  controller(options?: Partial<ControllerProcessOptions>, t?: Teardown): Promise<Controller>
  /** Opens a line to the API server that can be broken; `cluster` is what lies at its end. */
  line(): Promise<ApiProxy & { readonly cluster: Cluster }>
  /** Registers a Node for a machine of its own, whose files are there; no agent runs yet. */
  member(name: string, options?: MemberOptions): Promise<Member>
  /** Registers several. */
  machines<const Names extends readonly string[]>(...names: Names): Promise<Each<Names, Member>>
  /** The same, whose agent has reported once. */
  reported(name: string, options?: MemberOptions): Promise<Member>
  /** The same, whose Node is initialized then, as its report says. */
  initialized(name: string, options?: MemberOptions): Promise<Member>
  /** As many Nodes, or those of these names, whose reports are made up and written at once; waits until all are initialized. */
  crowd<const Of extends number | readonly string[]>(of: Of): Promise<Crowd<Of>>
  /** Waits until there is an Event of this reason on a Node; resolves with all that there are. */
  told(node: string, reason: string): Promise<EventObject[]>
  /** Waits until the report of a Node has a condition like this; resolves with it. */
  says(node: string, type: ConditionType, wanted: Wanted): Promise<Condition>
  /** Registers the Node of a member again after it was deleted. */
  register(member: Pick<Member, 'name' | 'vm'>): Promise<RegisteredNode>
  /** Changes a Node by a merge patch, as a person would. */
  patch(node: string, change: object): Promise<void>
  /** Deletes a Node, as a person would. */
  remove(node: string): Promise<void>
  /** Starts a controller with a vsphere.conf, and files beside it, that are mounted as a Secret. It ends with the test. */
  mounted(t: Teardown, conf: string, files?: Readonly<Record<string, string>>): Promise<MountedController>
}

type Wanted = Partial<Pick<Condition, 'reason' | 'status'>>

/** One of these for each of the names. */
type Each<Names extends readonly string[], T> = { [Place in keyof Names]: T }
type Crowd<Of> = Of extends readonly string[] ? Each<Of, CrowdMember> : CrowdMember[]

export interface MountedController {
  readonly controller: Controller
  readonly configFile: string
  /** Puts this configuration and these files in the place of the former. */
  write(conf: string, files?: Readonly<Record<string, string>>): Promise<void>
}

/** The part of a tap test that ends what was begun, last first. */
export interface Teardown {
  teardown(fn: () => Promise<unknown>): void
}

/** Lets a stack end what is begun, for those that are no test. */
export function endsOf(stack: AsyncDisposableStack): Teardown {
  return { teardown: (end) => stack.defer(async () => void (await end())) }
}

/** A stage whose API server the test may stop. */
interface OwnStage extends Stage {
  readonly cluster: OwnCluster
}

interface OwnStageOptions {
  readonly cluster?: StartClusterOptions
  /** Applies the manifests; resolves once they act. */
  readonly apply?: (cluster: Cluster) => Promise<void>
}

/** Opens a stage in a cluster that the test run lends. */
export async function openStage(t: Teardown, options: VcsimOptions = {}): Promise<Stage> {
  return furnish(t, await openServers(t, options, borrowCluster))
}

/** Opens a stage with a cluster of its own: for tests that stop the API server, or want another than the usual. */
export async function openOwnStage(
  t: Teardown,
  options: VcsimOptions = {},
  { cluster: clusterOptions, apply = applyManifests }: OwnStageOptions = {},
): Promise<OwnStage> {
  const servers = await openServers(t, options, () => startCluster(clusterOptions))
  await apply(servers.cluster)
  return { ...(await furnish(t, servers)), cluster: servers.cluster }
}

/**
 * Starts a cluster and a vCenter side by side.
 *
 * @param zones how many of the first datacenter's clusters are tagged with a zone: "zone-a", "zone-b" and "zone-c" in turn
 */
export async function openServers<C extends Cluster>(
  t: Teardown,
  options: VcsimOptions,
  openCluster: () => Promise<C>,
  zones = 2,
): Promise<StageServers<C>> {
  const [cluster, vcsim] = await Promise.all([openCluster(), startVcsim({ clusters: 2, ...options })])
  t.teardown(() => vcsim.stop())
  t.teardown(() => cluster.stop())
  // Goes with the cluster's folder, even where the test is killed.
  const dir = join(cluster.dir, 'stage')
  await mkdir(dir)
  await vcsim.tag(
    ...Array.from({ length: zones }, (_, i) => ({
      category: ZONE_CATEGORY,
      tag: `zone-${'abc'[i % 3]}`,
      object: `DC0_C${i}`,
    })),
    { category: REGION_CATEGORY, tag: 'region-1', object: 'DC0' },
  )
  return { cluster, vcsim, dir }
}

async function furnish(t: Teardown, { cluster, vcsim, dir }: StageServers): Promise<Stage> {
  const nodes = await record<NodeObject>(cluster, '/api/v1/nodes')
  t.teardown(() => nodes.close())
  const reports = await record<ReportObject>(cluster, '/apis/rollcall.dev/v1alpha1/nodereports')
  t.teardown(() => reports.close())
  const events = await record<EventObject>(cluster, '/api/v1/namespaces/default/events')
  t.teardown(() => events.close())

  const ending = <T extends Program>(program: T, test = t): T => {
    test.teardown(() => program.stop())
    return program
  }
  const vms = await vcsim.vms()
  let members = 0
  let mounts = 0
  const request = async (method: 'PATCH' | 'DELETE', node: string, change?: object) => {
    const { status, body } = await cluster.request<{ message?: string }>(
      method,
      `/api/v1/nodes/${node}`,
      change,
      change === undefined ? {} : { contentType: 'application/merge-patch+json' },
    )
    if (status !== 200)
      throw new Error(`${method} of Node ${node} is answered with ${status}: ${body.message}`)
  }
  const stage: Stage = {
    cluster,
    vcsim,
    vms,
    dir,
    nodes,
    reports,
    events,
    keepVMs: (which) => void vms.splice(0, vms.length, ...vms.filter(which)),
    async vCenter(options) {
      const other = await startVcsim(options)
      t.teardown(() => other.stop())
      return other
    },
    controller: async (controller, test) =>
      ending(await startController({ cluster, vcsim, dir, labels: LABELS, ...controller }), test),
    async line() {
      const proxy = await startApiProxy(cluster.url)
      t.teardown(() => proxy.close())
      return { ...proxy, cluster: { ...cluster, url: proxy.url } }
    },
    async crowd<const Of extends number | readonly string[]>(of: Of) {
      const [count, names] = typeof of === 'number' ? [of] : [of.length, of]
      const members = await registerCrowd(cluster, vms.splice(0, count), undefined, names)
      await claimAll(vcsim, members)
      await using load = await prepareReports(cluster, members)
      await load.write()
      const settled = ({ name }: CrowdMember) =>
        isInitialized(nodes.last(name)) && condition(reports.last(name), 'Initialized')?.status === 'True'
      await reports.until('the crowd is initialized', () => members.every(settled))
      return members as Crowd<Of>
    },
    async told(node, reason) {
      const all = () => eventsOf(events, node).filter((event) => event.reason === reason)
      await events.until(`Node ${node} has an Event ${reason}`, () => all().length > 0)
      return all()
    },
    async says(node, type, wanted) {
      const { reason, status } = wanted
      return reports.until(`${node} has ${type} ${reason ?? status}`, () => {
        const now = condition(reports.last(node), type)
        return now?.reason === (reason ?? now?.reason) && now?.status === (status ?? now?.status) && now
      })
    },
    register: ({ name, vm }) => registerNode(cluster, { name, biosUUID: vm.uuid }),
    async member(name, { vm = vms.shift(), ...options } = {}) {
      if (vm === undefined) throw new Error('every virtual machine has a Node')
      members += 1
      const address = `10.0.${Math.floor(members / 250)}.${(members % 250) + 1}`
      return createMember({ cluster, vcsim, dir, ending }, { name, vm, address }, options)
    },
    async machines<const Names extends readonly string[]>(...names: Names) {
      const made: Member[] = []
      for (const name of names) made.push(await stage.member(name))
      return made as Each<Names, Member>
    },
    async reported(name, options) {
      const member = await stage.member(name, options)
      await member.reportOnce()
      return member
    },
    async initialized(name, options) {
      const member = await stage.reported(name, options)
      await nodes.until(`${name} is initialized`, () => isInitialized(nodes.last(name)))
      await stage.says(name, 'Initialized', { status: 'True' })
      return member
    },
    patch: (node, change) => request('PATCH', node, change),
    remove: (node) => request('DELETE', node),
    async mounted(test, conf, files = {}) {
      mounts += 1
      const secret = await mountSecret(join(dir, `mounted-${mounts}`), { 'vsphere.conf': conf, ...files })
      const configFile = secret.path('vsphere.conf')
      return {
        controller: await stage.controller({ configFile }, test),
        configFile,
        write: (conf, files = {}) => secret.write({ 'vsphere.conf': conf, ...files }),
      }
    },
  }
  return stage
}
