import type { Cluster } from '../servers/cluster.ts'
import type { VcsimVM } from '../servers/control.ts'
import { applyManifests } from '../servers/manifests.ts'
import { type OwnCluster, startCluster } from '../servers/start-cluster.ts'
import {
  type CrowdMember,
  claimAll,
  inParallel,
  prepareReports,
  type ReportLoad,
  registerCrowd,
} from '../world/crowd.ts'
import { address, isInitialized, type NodeObject, type ReportObject } from '../world/objects.ts'
import { type Recording, record } from '../world/recorder.ts'
import { endsOf, openServers, type StageServers } from '../world/stage.ts'

const REPORTS = '/apis/rollcall.dev/v1alpha1/nodereports'
const SETTLING = 10_000

/** An API server and a vCenter with so many VMs; Nodes come and go for one run after the other. */
export interface BenchStage extends StageServers<OwnCluster>, AsyncDisposable {
  readonly machines: readonly VcsimVM[]
  /** Registers a Node for each VM, none of them initialized, and counts the calls to vCenter from here on. */
  enter(): Promise<Cast>
}

/** The Nodes of one run. */
export interface Cast extends AsyncDisposable {
  readonly members: readonly CrowdMember[]
  readonly nodes: Recording<NodeObject>
  /** Writes all reports, each as the user that its own node is. */
  report(): Promise<void>
  /** Resolves when the last Node was initialized, with `performance.now()` of then and of the first one. */
  initialized(within: number): Promise<{ readonly first: number; readonly last: number }>
  /** Resolves when each report says that its Node is initialized. */
  recorded(within: number): Promise<void>
  /** Those that lost the taint before they had an address: Pods could be scheduled to Nodes that nobody can reach. */
  early(): string[]
  /** Those whose provider ID or address is not as it should be in the end. */
  wrong(): Promise<string[]>
}

export async function openBenchStage(vms: number): Promise<BenchStage> {
  const stack = new AsyncDisposableStack()
  // Ten VMs a host, five hosts a cluster, as vSphere clusters are.
  const clusters = Math.max(2, Math.ceil(vms / 50))
  const { cluster, vcsim, dir } = await openServers(
    endsOf(stack),
    { vms, clusters, hosts: 5, cpus: 4, memoryMB: 16_384, disks: 5 },
    startCluster,
    clusters,
  )
  await applyManifests(cluster)
  const machines = await vcsim.vms()
  return {
    cluster,
    vcsim,
    dir,
    machines,
    async enter() {
      const members = await registerCrowd(cluster, machines)
      await claimAll(vcsim, members)
      await vcsim.setGuest(
        ...members.map(({ name, vm, address }) => ({
          vm: vm.ref,
          hostName: name,
          nics: [{ addresses: [`${address}/8`] }],
        })),
      )
      const load = await prepareReports(cluster, members)
      const nodes = await record<NodeObject>(cluster, '/api/v1/nodes')
      await vcsim.resetCalls()
      return castOf(cluster, members, nodes, load)
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

const internalIP = (node: NodeObject | undefined) => address(node, 'InternalIP')

function castOf(
  cluster: Cluster,
  members: readonly CrowdMember[],
  nodes: Recording<NodeObject>,
  load: ReportLoad,
): Cast {
  const waiting = new Set(members.map(({ name }) => name))
  let seen = 0
  let first = Number.POSITIVE_INFINITY
  let last = 0
  function look(): boolean {
    for (; seen < nodes.versions.length; seen++) {
      const version = nodes.versions[seen]
      if (version === undefined || !isInitialized(version.object)) continue
      if (!waiting.delete(version.object.metadata.name)) continue
      first = Math.min(first, version.at)
      last = version.at
    }
    return waiting.size === 0
  }
  return {
    members,
    nodes,
    report: () => load.write(),
    async initialized(within) {
      await nodes.until(`${members.length} Nodes are initialized`, look, within)
      return { first, last }
    },
    async recorded(within) {
      await using reports = await record<ReportObject>(cluster, REPORTS)
      const isRecorded = ({ name }: CrowdMember) =>
        reports
          .last(name)
          ?.status?.conditions?.some(({ type, status }) => type === 'Initialized' && status === 'True') ===
        true
      const left = new Set(members)
      const look = () => {
        for (const member of left) if (isRecorded(member)) left.delete(member)
        return left.size === 0
      }
      await reports.until(`${members.length} statuses are written`, look, within)
    },
    early: () =>
      members
        .filter(({ name, address }) => {
          const first = nodes.of(name).find(({ object }) => isInitialized(object))
          return internalIP(first?.object) !== address
        })
        .map(({ name }) => name),
    async wrong() {
      const isWrong = ({ name, vm, address }: CrowdMember) => {
        const node = nodes.last(name)
        return node?.spec.providerID !== `vsphere://${vm.uuid}` || internalIP(node) !== address
      }
      const settled = () => !members.some(isWrong)
      // What comes late is not wrong; what does not come, is.
      await nodes.until('all are as they should be', settled, SETTLING).catch(() => undefined)
      return members.filter(isWrong).map(({ name }) => name)
    },
    async [Symbol.asyncDispose]() {
      await nodes.close()
      await load.close()
      await inParallel(members, async ({ name }) => {
        await cluster.request('DELETE', `${REPORTS}/${name}`)
        await cluster.request('DELETE', `/api/v1/nodes/${name}`)
      })
    },
  }
}
