import { startVcsim, type Vcsim } from '../servers/vcsim.ts'
import type { Label, Scenario, ScenarioCase } from './scenario.ts'

/** The first vCenter's inventory, which all scenarios share, as the chains in which tags are looked for. */

/** The objects above a machine that can have tags, by name and nearest first. */
interface Chains {
  readonly compute: readonly string[]
  readonly pool: readonly string[]
  readonly folder: readonly string[]
  /** As vCenter and govc write it: "/" in a name is %2f. */
  readonly datacenter: string
  /** The path of the folder that the datacenter is in; empty for the root. */
  readonly above: string
}

const DC0 = { datacenter: 'DC0', above: '' } as const
const C0 = ['DC0_C0', 'DC0'] as const
const H0 = ['DC0_C0_H0', ...C0] as const

export const PLACES = {
  'first-host': { compute: H0, pool: C0, folder: ['DC0'], ...DC0 },
  'second-host': { compute: ['DC0_C0_H1', ...C0], pool: C0, folder: ['DC0'], ...DC0 },
  racks: {
    compute: ['rack-host', 'rack-cluster', 'racks', 'DC0'],
    pool: ['rack-cluster', 'racks', 'DC0'],
    folder: ['DC0'],
    ...DC0,
  },
  workers: { compute: H0, pool: C0, folder: ['workers', 'DC0'], ...DC0 },
  gpu: { compute: H0, pool: C0, folder: ['gpu', 'workers', 'DC0'], ...DC0 },
  'pool-a': { compute: H0, pool: ['pool-a', ...C0], folder: ['DC0'], ...DC0 },
  'pool-b': { compute: H0, pool: ['pool-b', 'pool-a', ...C0], folder: ['gpu', 'workers', 'DC0'], ...DC0 },
  'second-datacenter': {
    compute: ['DC1_C0_H0', 'DC1_C0', 'DC1'],
    pool: ['DC1_C0', 'DC1'],
    folder: ['DC1'],
    ...{ datacenter: 'DC1', above: '' },
  },
  'nested-datacenter': {
    compute: ['DC2_C0_H0', 'DC2_C0', 'DC2', 'europe'],
    pool: ['DC2_C0', 'DC2', 'europe'],
    folder: ['DC2', 'europe'],
    ...{ datacenter: 'DC2', above: '/europe' },
  },
  /** Its datacenter is called "DC/East". */
  'slashed-datacenter': {
    compute: ['DC3_C0_H0', 'DC3_C0', 'DC%2fEast'],
    pool: ['DC3_C0', 'DC%2fEast'],
    folder: ['DC%2fEast'],
    ...{ datacenter: 'DC%2fEast', above: '' },
  },
  /** Its datacenter is called "East", in a folder "DC". */
  'east-datacenter': {
    compute: ['DC4_C0_H0', 'DC4_C0', 'East', 'DC'],
    pool: ['DC4_C0', 'East', 'DC'],
    folder: ['East', 'DC'],
    ...{ datacenter: 'East', above: '/DC' },
  },
} as const satisfies Record<string, Chains>

export type InventoryPlace = keyof typeof PLACES

/** Places that differ in the host alone, so that machines move between them. */
export const HOSTS = ['first-host', 'second-host', 'racks'] as const satisfies InventoryPlace[]

export type HostPlace = (typeof HOSTS)[number]

/** The one place of the second vCenter. */
const SECOND: Chains = { compute: H0, pool: C0, folder: ['DC0'], ...DC0 }

/** For each place a machine that others are made like, and a host that they move to, on which none can be made. */
export type Models = Readonly<Record<InventoryPlace, { readonly like: string; readonly host?: string }>>

/** The managed object references of datacenters, by their names: `Datacenter:datacenter-3`. */
export type Datacenters = ReadonlyMap<string, string>

/** Starts a vCenter with that inventory. */
export async function startWorld(): Promise<{ vcsim: Vcsim; models: Models; datacenters: Datacenters }> {
  // Spread over the five clusters in turn, so that each host has one.
  const vcsim = await startVcsim({ dcs: 5, clusters: 1, hosts: 2, vms: 10 })
  const first = 'DC0_C0_RP0_VM0'
  const models = {
    'first-host': { like: first },
    'second-host': { like: 'DC0_C0_RP0_VM1' },
    racks: { like: first, host: 'rack-host' },
    workers: { like: 'model-workers' },
    gpu: { like: 'model-gpu' },
    'pool-a': { like: 'model-pool-a' },
    'pool-b': { like: 'model-pool-b' },
    'second-datacenter': { like: 'DC1_C0_RP0_VM0' },
    'nested-datacenter': { like: 'DC2_C0_RP0_VM0' },
    'slashed-datacenter': { like: 'DC3_C0_RP0_VM0' },
    'east-datacenter': { like: 'DC4_C0_RP0_VM0' },
  } as const satisfies Models
  const pool = '/DC0/host/DC0_C0/Resources/pool-a'
  const folders = ['/DC0/vm/workers', '/DC0/vm/workers/gpu', '/DC0/host/racks', '/europe', '/DC']
  await vcsim.govc('folder.create', ...folders)
  await vcsim.govc('pool.create', pool, `${pool}/pool-b`)
  for (const place of ['workers', 'gpu', 'pool-a', 'pool-b'] as const) {
    await vcsim.create({ name: models[place].like, like: first })
  }
  await vcsim.move({ vm: models.workers.like, folder: '/DC0/vm/workers' })
  await vcsim.move({ vm: models.gpu.like, folder: '/DC0/vm/workers/gpu' })
  const migrate = (vm: string, into: string) =>
    vcsim.govc('vm.migrate', '-dc=DC0', `-pool=${into}`, '-host=/DC0/host/DC0_C0/DC0_C0_H0', vm)
  await migrate(models['pool-a'].like, pool)
  await migrate(models['pool-b'].like, `${pool}/pool-b`)
  await vcsim.move({ vm: models['pool-b'].like, folder: '/DC0/vm/workers/gpu' })
  await vcsim.govc('cluster.create', '-dc=DC0', '-folder=/DC0/host/racks', 'rack-cluster')
  const login = ['-username=root', '-password=secret', '-noverify']
  await vcsim.govc('cluster.add', '-cluster=/DC0/host/racks/rack-cluster', '-hostname=rack-host', ...login)
  await vcsim.govc('object.mv', '/DC2', '/europe')
  await vcsim.govc('object.rename', '/DC3', 'DC%2fEast')
  await vcsim.govc('object.rename', '/DC4', 'East')
  await vcsim.govc('object.mv', '/East', '/DC')
  const datacenters = new Map<string, string>()
  for (const name of ['DC0', 'DC1', 'DC2']) {
    const reference = (await vcsim.govc('find', '-i', '-type=d', `-name=${name}`, '/')).trim()
    if (!/^Datacenter:\S+$/.test(reference)) throw new Error(`${name} is ${reference || 'not found'}`)
    datacenters.set(name, reference)
  }
  return { vcsim, models, datacenters }
}

/** Where a machine's tags are, by the chains in which the CPI looks for them: the host's, the resource pool's, the folders'. */

const BOTH: readonly Label[] = ['zone', 'region']
/** The machine, among the names of what is above it. */
const ITSELF = ''

/** Nearest object first, each with its tags, in the order of their names. */
type Chain = readonly Readonly<Record<Label, readonly string[]>>[]

export function chainsOf(
  { tags = [], tagsOfSecond = [], oneCategory = false }: Scenario,
  { vm = {} }: ScenarioCase,
): readonly Chain[] {
  const { compute, pool, folder } = vm.second === true ? SECOND : PLACES[vm.place ?? 'first-host']
  const own = BOTH.flatMap((label) => {
    const tag = vm.tags?.[label]
    return tag === undefined ? [] : [{ object: ITSELF, label, tag }]
  })
  const there = [...own, ...(vm.second === true ? tagsOfSecond : tags)]
  const on = (object: string) => {
    const valuesOf = (wanted: Label) =>
      there
        .filter((each) => each.object === object && (oneCategory || each.label === wanted))
        .map(({ tag }) => tag)
        .toSorted()
    return { zone: valuesOf('zone'), region: valuesOf('region') }
  }
  return [compute.map(on), pool.map(on), [ITSELF, ...folder].map(on)]
}

/** Whether a machine is in none of the datacenters that are configured. */
export function isOutOfScope(scenario: Scenario, one: ScenarioCase): boolean {
  return isIn(entriesOf(scenario, one), one) === false
}

/** The same for the CPI, which ignores some entries. */
export function isOutOfScopeOfCPI(scenario: Scenario, one: ScenarioCase): boolean {
  const entries = entriesOf(scenario, one)
  return (
    isIn(
      entries?.filter((entry) => !isIgnored(entry, one)),
      one,
    ) === false
  )
}

/** Whether one of the entries under `datacenters` is ignored by the CPI. */
export function hasIgnoredEntry(scenario: Scenario, one: ScenarioCase): boolean {
  return entriesOf(scenario, one)?.some((entry) => isIgnored(entry, one)) === true
}

function entriesOf(
  { datacenters, second = {} }: Scenario,
  { vm = {} }: ScenarioCase,
): readonly string[] | undefined {
  return vm.second === true ? (second.datacenters ?? datacenters) : datacenters
}

/** Undefined where every datacenter is meant. */
function isIn(entries: readonly string[] | undefined, { vm = {} }: ScenarioCase): boolean | undefined {
  const own = vm.second === true ? SECOND : PLACES[vm.place ?? 'first-host']
  return entries?.some((entry) => means(entry, own))
}

/** One that means several datacenters, or has vCenter's escapes in capitals. */
function isIgnored(entry: string, { vm = {} }: ScenarioCase): boolean {
  const all: readonly Chains[] = vm.second === true ? [SECOND] : Object.values(PLACES)
  const meant = all.filter((each) => means(entry, each)).map(({ datacenter }) => datacenter)
  return new Set(meant).size > 1 || entry.includes('%2F')
}

function means(entry: string, { above, datacenter }: Chains): boolean {
  const names = [`${above}/${datacenter}`, `Datacenter:${datacenter}`, datacenter]
  const path = (entry.includes('/') && !entry.startsWith('/') ? `/${entry}` : entry).replaceAll('%2F', '%2f')
  const pattern = new RegExp(`^${path.replaceAll('*', '[^/]*').replaceAll('?', '[^/]')}$`)
  return names.some((name) => pattern.test(name))
}

/** The values of a label in a chain, nearest first. */
export function valuesIn(chain: Chain, label: Label): readonly string[] {
  return chain.flatMap((tags) => tags[label])
}

/** The chain from which the CPI takes both labels; undefined where none holds both. */
export function chainOfCPI(chains: readonly Chain[]): Chain | undefined {
  return chains.find((chain) => BOTH.every((label) => valuesIn(chain, label).length > 0))
}
