/** Has the CPI and Rollcall initialize a copy of the same Nodes each, on the same vCenter. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import { CSI_DRIVER } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import type { Cluster } from '../servers/cluster.ts'
import type { VcsimVM } from '../servers/control.ts'
import { borrowCluster } from '../servers/pool/borrow.ts'
import { startVcsim, type Vcsim } from '../servers/vcsim.ts'
import { type Controller, startController, vsphereConf } from '../world/controller.ts'
import { nodeObject } from '../world/kubelet.ts'
import { productUUID } from '../world/machine.ts'
import { isInitialized, type NodeObject } from '../world/objects.ts'
import { type Datacenters, type Models, startWorld } from './places.ts'
import type { KubeletNode, Scenario } from './scenario.ts'

export interface CPIStage extends AsyncDisposable {
  readonly vcsim: Vcsim
  readonly second: Vcsim
  /** Of each provider. */
  readonly clusters: { readonly cpi: Cluster; readonly rollcall: Cluster }
  readonly models: Models
  readonly datacenters: Datacenters
}

/** Starts two API servers and two vCenters, which serve any number of scenarios, one after the other. */
export async function openCPIStage(): Promise<CPIStage> {
  await using stack = new AsyncDisposableStack()
  const [cpi, rollcall, { vcsim, ...world }, second] = await Promise.all([
    borrowCluster().then((each) => stack.use(each)),
    borrowCluster().then((each) => stack.use(each)),
    startWorld().then((world) => {
      stack.use(world.vcsim)
      return world
    }),
    startVcsim({ seed: 'second', clusters: 1, hosts: 1, vms: 1 }).then((each) => stack.use(each)),
  ])
  const owned = stack.move()
  return {
    ...world,
    vcsim,
    second,
    clusters: { cpi, rollcall },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** A scenario that is set up: its machines run, and each cluster has its Nodes. */
export interface StagedScenario extends AsyncDisposable {
  /** Nodes' names in the order of the cases. */
  readonly names: readonly string[]
  /** The text of vsphere.conf, for either provider. */
  readonly config: string
  readonly dir: string
}

/** @param serial tells scenarios of one stage apart */
export async function setUp(stage: CPIStage, scenario: Scenario, serial: number): Promise<StagedScenario> {
  const { vcsim, second, clusters, models } = stage
  const category = (label: string) => `${label}-${serial}`
  const tags = (scenario.tags ?? []).map(({ object, label, tag }) => ({
    category: category(label),
    tag,
    object,
  }))
  await vcsim.tag(...tags)

  const names: string[] = []
  const vms: { vm: VcsimVM; home: Vcsim }[] = []
  for (const [index, { vm = {}, node = {} }] of scenario.cases.entries()) {
    const home = vm.second === true ? second : vcsim
    const { like, host } = vm.second === true ? { like: 'DC0_C0_RP0_VM0' } : models[vm.place ?? 'first-host']
    const name = node.name ?? `n${serial}-${index}`
    const { hostName = name, nics = [{ addresses: [`10.${serial % 200}.0.${index + 1}/16`] }] } = vm
    const made = await home.create({
      name: `vm-${serial}-${index}`,
      like,
      cards: Math.max(0, nics.length - 1),
    })
    if (host !== undefined) await home.move({ vm: made.ref, host })
    await home.setGuest({ vm: made.ref, hostName, nics: [...nics] })
    await home.setState({
      vm: made.ref,
      ...(vm.cpus === undefined ? {} : { cpus: vm.cpus }),
      ...(vm.memoryMB === undefined ? {} : { memoryMB: vm.memoryMB }),
      ...(vm.guestID === undefined ? {} : { guestId: vm.guestID }),
      ...(vm.powerState === undefined ? {} : { powerState: vm.powerState }),
    })
    if (vm.staticAddresses !== undefined) await home.setGuestinfo(...metadata(made.ref, vm.staticAddresses))
    for (const [label, tag] of Object.entries(vm.tags ?? {})) {
      await home.tag({ category: category(label), tag, object: made.ref })
    }
    const object = kubeletNode(name, made, node, vms.at(-1)?.vm)
    for (const cluster of Object.values(clusters)) {
      await create(cluster, '/api/v1/nodes', object)
      if (node.topologyKeys !== undefined) await create(cluster, CSI_NODES, csiNode(name, node.topologyKeys))
    }
    names.push(name)
    vms.push({ vm: made, home })
  }

  const dir = join(clusters.rollcall.dir, `scenario-${serial}`)
  await mkdir(dir)
  const { labels = ['zone', 'region'], datacenters, nodes, ipFamily, twoVCenters = false } = scenario
  return {
    names,
    dir,
    config: vsphereConf(vcsim, {
      labels: Object.fromEntries(labels.map((label) => [label, category(label)])),
      require: 'asserted',
      ...(nodes === undefined ? {} : { nodes }),
      ...(ipFamily === undefined ? {} : { ipFamily }),
      ...(datacenters === undefined
        ? {}
        : { datacenters: datacenters.map((each) => referenced(each, stage)) }),
      ...(twoVCenters ? { otherVCenters: { second } } : {}),
    }),
    async [Symbol.asyncDispose]() {
      for (const { vm, home } of vms) await home.unregister(vm.ref)
      await vcsim.tag(...tags.map((tag) => ({ ...tag, detach: true })))
      for (const cluster of Object.values(clusters)) {
        await cluster.request('DELETE', '/api/v1/nodes')
        await cluster.request('DELETE', CSI_NODES)
        await cluster.request('DELETE', '/apis/rollcall.dev/v1alpha1/nodereports')
      }
    },
  }
}

/** An entry under `datacenters` as it goes into the file. */
function referenced(datacenter: string, { datacenters }: Pick<CPIStage, 'datacenters'>): string {
  const [, name] = /^Datacenter:(.*)$/.exec(datacenter) ?? []
  if (name === undefined) return datacenter
  const reference = datacenters.get(name)
  if (reference === undefined) throw new Error(`there is no datacenter ${name}`)
  return reference
}

/** As cloud-init reads it from VMware's guestinfo, and the CPI with it. */
function metadata(vm: string, addresses: readonly string[]) {
  const text = stringify({ network: { version: 2, ethernets: { eth0: { addresses } } } })
  return [
    { vm, key: 'guestinfo.metadata', value: Buffer.from(text).toString('base64') },
    { vm, key: 'guestinfo.metadata.encoding', value: 'base64' },
  ]
}

function kubeletNode(name: string, vm: VcsimVM, node: KubeletNode, previous: VcsimVM | undefined) {
  const { systemUUID = 'swapped', untainted = false, otherTaint = false, nodeIP, labels } = node
  const object = nodeObject({
    name,
    biosUUID: vm.uuid,
    ...(nodeIP === undefined ? {} : { nodeIP }),
    ...(labels === undefined ? {} : { labels: { ...labels } }),
    ...(node.providerID === undefined ? {} : { providerID: providerID(node.providerID, vm, previous) }),
  })
  if (untainted) object.spec.taints = []
  if (otherTaint) object.spec.taints.push({ key: 'example.com/dedicated', effect: 'NoSchedule' })
  object.status.nodeInfo.systemUUID = {
    swapped: productUUID(vm.uuid),
    plain: vm.uuid,
    upper: vm.uuid.toUpperCase(),
    unknown: '00000000-1111-4222-8333-444444444444',
  }[systemUUID]
  return object
}

function providerID(
  spelling: NonNullable<KubeletNode['providerID']>,
  vm: VcsimVM,
  previous: VcsimVM | undefined,
): string {
  const own = {
    plain: vm.uuid,
    upper: vm.uuid.toUpperCase(),
    swapped: productUUID(vm.uuid),
    previous: previous?.uuid ?? '',
  }
  return spelling === 'foreign' ? 'aws:///eu-west-1a/i-0123456789abcdef0' : `vsphere://${own[spelling]}`
}

const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes'

function csiNode(name: string, topologyKeys: readonly string[]) {
  return { metadata: { name }, spec: { drivers: [{ name: CSI_DRIVER, nodeID: name, topologyKeys }] } }
}

async function create(cluster: Cluster, path: string, object: { metadata: { name: string } }): Promise<void> {
  const { status, body } = await cluster.request<{ message?: string }>('POST', path, object)
  if (status !== 201)
    throw new Error(`${path}/${object.metadata.name} is not created (${status}): ${body.message}`)
}

/** Runs Rollcall until it has judged each Node that it takes for its own, and leaves it running. */
export async function runRollcall(
  { vcsim }: CPIStage,
  { dir, config }: StagedScenario,
  cluster: Cluster,
): Promise<Controller> {
  const ours = [...(await readNodes(cluster)).values()].filter((node) =>
    node.spec.providerID === undefined ? !isInitialized(node) : node.spec.providerID.startsWith('vsphere://'),
  )
  await using stack = new AsyncDisposableStack()
  const controller = stack.use(await startController({ cluster, vcsim, dir, config }))
  await until('Rollcall has judged each Node', async () => {
    const { body } = await cluster.request<{
      items: { metadata: { name: string }; status?: { conditions?: { reason: string }[] } }[]
    }>('GET', '/apis/rollcall.dev/v1alpha1/nodereports')
    const judged = new Set(
      body.items
        .filter(({ status }) => isJudged(status?.conditions ?? []))
        .map(({ metadata }) => metadata.name),
    )
    return ours.every(({ metadata }) => judged.has(metadata.name))
  })
  stack.move()
  return controller
}

/** The labels follow by themselves where vCenter was too slow to tell of tags. */
function isJudged(conditions: readonly { readonly reason: string }[]): boolean {
  return conditions.length > 0 && conditions.every(({ reason }) => reason !== 'TagsUnreadable')
}

export async function readNodes(cluster: Cluster): Promise<ReadonlyMap<string, NodeObject>> {
  const { body } = await cluster.request<{ items: NodeObject[] }>('GET', '/api/v1/nodes')
  return new Map(body.items.map((node) => [node.metadata.name, node]))
}
