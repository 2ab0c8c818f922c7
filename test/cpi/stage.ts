/** Has the CPI and Rollcall initialize a copy of the same Nodes each, on the same vCenter. */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Condition } from '../../agent/shared/node-report.ts'
import { CSI_DRIVER } from '../../controller/types/well-known.ts'
import { until } from '../fixtures/until.ts'
import type { Cluster } from '../servers/cluster.ts'
import type { GuestNic, VcsimVM } from '../servers/control.ts'
import { borrowCluster } from '../servers/pool/borrow.ts'
import { startVcsim, type Vcsim } from '../servers/vcsim.ts'
import { type Controller, startController } from '../world/controller.ts'
import { isInitialized, type NodeObject, type ReportObject } from '../world/objects.ts'
import { configOf } from './config-text.ts'
import { kubeletNode } from './kubelet-node.ts'
import { type Datacenters, type Models, startWorld } from './places.ts'
import type { Label, Scenario, ScenarioMachine } from './scenario.ts'

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

/** The machine of a case, and how its Node and its guest are called. */
export interface StagedMachine {
  readonly name: string
  readonly hostName: string
  /** What its guest reports. */
  readonly nics: readonly GuestNic[]
  readonly vm: VcsimVM
  readonly home: Vcsim
  /** Whether it is destroyed before either provider starts. */
  readonly gone: boolean
}

/** A scenario that is set up: its machines run, and each cluster has its Nodes. */
export interface StagedScenario extends AsyncDisposable {
  /** Nodes' names in the order of the cases. */
  readonly names: readonly string[]
  readonly machines: readonly StagedMachine[]
  readonly cases: Scenario['cases']
  /** The name of a label's tag category. */
  readonly category: (label: Label) => string
  /** Of the CPI, for either provider. */
  readonly arguments: readonly string[]
  /** The text of vsphere.conf, for either provider. */
  readonly config: string
  readonly dir: string
}

/** @param serial tells scenarios of one stage apart */
export async function setUp(stage: CPIStage, scenario: Scenario, serial: number): Promise<StagedScenario> {
  const { vcsim, second, clusters, models } = stage
  const category = (label: string) => `${scenario.oneCategory === true ? 'place' : label}-${serial}`
  const tags = (scenario.tags ?? []).map(({ object, label, tag }) => ({
    category: category(label),
    tag,
    object,
  }))
  const tagsOfSecond = (scenario.tagsOfSecond ?? []).map(({ object, label, tag }) => ({
    category: category(label),
    tag,
    object,
  }))
  await vcsim.tag(...tags)
  if (tagsOfSecond.length > 0) await second.tag(...tagsOfSecond)

  const machines: StagedMachine[] = []
  for (const [index, { vm = {}, node = {}, later = [] }] of scenario.cases.entries()) {
    const previous = machines.at(-1)
    const home = vm.second === true ? second : vcsim
    const { like, host } = vm.second === true ? { like: 'DC0_C0_RP0_VM0' } : models[vm.place ?? 'first-host']
    const name = node.name ?? `n${serial}-${index}`
    const {
      hostName = (vm.nameOfPrevious === true ? previous?.name : undefined) ?? name,
      nics = [{ addresses: [`10.${serial % 200}.0.${index + 1}/16`] }],
    } = vm
    const made = await home.create({
      name: `vm-${serial}-${index}`,
      like,
      cards: Math.max(1, nics.length, ...later.map((change) => change.nics?.length ?? 0)) - 1,
    })
    if (host !== undefined) await home.move({ vm: made.ref, host })
    await home.setGuest({ vm: made.ref, hostName, nics: [...nics] })
    await home.setState({
      vm: made.ref,
      ...(vm.cpus === undefined ? {} : { cpus: vm.cpus }),
      ...(vm.memoryMB === undefined ? {} : { memoryMB: vm.memoryMB }),
      ...(vm.guestID === undefined ? {} : { guestId: vm.guestID }),
      ...(vm.powerState === undefined ? {} : { powerState: vm.powerState }),
      ...(vm.uuidOfPrevious === true ? { uuid: previous?.vm.uuid ?? '' } : {}),
    })
    if (vm.staticAddresses !== undefined) await home.setGuestinfo(...metadata(made.ref, vm))
    for (const [label, tag] of Object.entries(vm.tags ?? {})) {
      await home.tag({ category: category(label), tag, object: made.ref })
    }
    const own = vm.uuidOfPrevious === true ? { ...made, uuid: previous?.vm.uuid ?? '' } : made
    const object = kubeletNode(name, own, node, previous?.vm)
    for (const cluster of Object.values(clusters)) {
      await create(cluster, '/api/v1/nodes', object)
      if (node.topologyKeys !== undefined) await create(cluster, CSI_NODES, csiNode(name, node.topologyKeys))
    }
    machines.push({ name, hostName, nics, vm: own, home, gone: vm.gone === true })
  }
  for (const { vm, home, gone } of machines) if (gone) await home.unregister(vm.ref)

  const dir = join(clusters.rollcall.dir, `scenario-${serial}`)
  await mkdir(dir)
  return {
    names: machines.map(({ name }) => name),
    machines,
    category,
    arguments: scenario.arguments ?? [],
    cases: scenario.cases,
    dir,
    config: configOf(stage, scenario, category),
    async [Symbol.asyncDispose]() {
      for (const { vm, home, gone } of machines) if (!gone) await home.unregister(vm.ref)
      await vcsim.tag(...tags.map((tag) => ({ ...tag, detach: true })))
      if (tagsOfSecond.length > 0) await second.tag(...tagsOfSecond.map((tag) => ({ ...tag, detach: true })))
      for (const cluster of Object.values(clusters)) {
        await cluster.request('DELETE', '/api/v1/nodes')
        await cluster.request('DELETE', CSI_NODES)
        await cluster.request('DELETE', REPORTS)
      }
    },
  }
}

/** As cloud-init reads it from VMware's guestinfo, and the CPI with it. */
function metadata(
  vm: string,
  { staticAddresses: addresses, staticOf }: Pick<ScenarioMachine, 'staticAddresses' | 'staticOf'>,
) {
  const devices = {
    bonds: { interfaces: ['eth0', 'eth1'], addresses },
    bridges: { interfaces: ['eth0'], addresses },
    vlans: { id: 5, link: 'eth0', addresses },
  }
  const [kind, device] =
    staticOf === undefined
      ? (['ethernets', { addresses }] as const)
      : ([staticOf, devices[staticOf]] as const)
  const text = stringify({ network: { version: 2, [kind]: { device } } })
  return [
    { vm, key: 'guestinfo.metadata', value: Buffer.from(text).toString('base64') },
    { vm, key: 'guestinfo.metadata.encoding', value: 'base64' },
  ]
}

const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes'
const REPORTS = '/apis/rollcall.dev/v1alpha1/nodereports'

function csiNode(name: string, topologyKeys: readonly string[]) {
  return { metadata: { name }, spec: { drivers: [{ name: CSI_DRIVER, nodeID: name, topologyKeys }] } }
}

async function create(cluster: Cluster, path: string, object: { metadata: { name: string } }): Promise<void> {
  const { status, body } = await cluster.request<{ message?: string }>('POST', path, object)
  if (status !== 201)
    throw new Error(`${path}/${object.metadata.name} is not created (${status}): ${body.message}`)
}

/** One that names a VM. Of any other an Event is all that is said, where no agent reports. */
const PROVIDER_ID = /^vsphere:\/\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** As in the CPI's manifests; other controllers run on this machine, too. */
const CPI_ARGUMENTS = [
  '--cloud-provider=vsphere',
  '--cloud-config=/etc/cloud/vsphere.conf',
  '--secure-port=0',
]

/** Runs Rollcall until it has judged each Node that it takes for its own, and leaves it running. */
export async function runRollcall(
  { vcsim }: CPIStage,
  { dir, config, arguments: args }: StagedScenario,
  cluster: Cluster,
): Promise<Controller> {
  const ours = [...(await readNodes(cluster)).values()].filter((node) =>
    node.spec.providerID === undefined ? !isInitialized(node) : PROVIDER_ID.test(node.spec.providerID),
  )
  await using stack = new AsyncDisposableStack()
  const controller = stack.use(
    await startController({
      cluster,
      vcsim,
      dir,
      config,
      ...(args.length === 0 ? {} : { cpiArguments: [...CPI_ARGUMENTS, ...args] }),
    }),
  )
  await until('Rollcall has judged each Node', async () => {
    const said = await readConditions(cluster)
    return ours.every(({ metadata }) => isJudged(said.get(metadata.name) ?? []))
  })
  stack.move()
  return controller
}

/** What Rollcall says of each Node. */
export async function readConditions(cluster: Cluster): Promise<ReadonlyMap<string, readonly Condition[]>> {
  const { body } = await cluster.request<{ items: ReportObject[] }>('GET', REPORTS)
  return new Map(body.items.map(({ metadata, status }) => [metadata.name, status?.conditions ?? []]))
}

/** The labels follow by themselves where vCenter was too slow to tell of tags. */
function isJudged(conditions: readonly { readonly reason: string }[]): boolean {
  return conditions.length > 0 && conditions.every(({ reason }) => reason !== 'TagsUnreadable')
}

export async function readNodes(cluster: Cluster): Promise<ReadonlyMap<string, NodeObject>> {
  const { body } = await cluster.request<{ items: NodeObject[] }>('GET', '/api/v1/nodes')
  return new Map(body.items.map((node) => [node.metadata.name, node]))
}
