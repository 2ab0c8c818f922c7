import type { IPFamily } from '../../controller/config/config.ts'
import type { GuestNic } from '../servers/control.ts'
import type { Random } from '../simulation/random.ts'
import { type InventoryPlace, PLACES } from './places.ts'
import type { KubeletNode, Label, Scenario, ScenarioCase, ScenarioMachine, Tagged } from './scenario.ts'

const CASES = 12
const PLACE_NAMES = Object.keys(PLACES).filter((name): name is InventoryPlace => name in PLACES)
const OBJECTS = [
  ...new Set(
    Object.values(PLACES).flatMap(({ compute, pool, folder }): string[] => [...compute, ...pool, ...folder]),
  ),
]
const GUEST_IDS = ['ubuntu64Guest', 'rhel8_64Guest', 'rhel7_64Guest', 'vmwarePhoton64Guest', 'nonsense']
const FAMILIES: readonly (readonly IPFamily[])[] = [['ipv4'], ['ipv6'], ['ipv4', 'ipv6'], ['ipv6', 'ipv4']]
const NETWORKS = ['private', 'Private', 'public', 'storage']
const SUBNETS = [
  '10.0.0.0/8',
  '10.1.0.0/16',
  '192.0.2.0/24',
  '198.51.100.0/25',
  'fd00::/8',
  '2001:db8::/32',
  '0.0.0.0/0',
]
const PREFIXES = [
  '10.1.0.#/24',
  '10.2.0.#/24',
  '10.2.1.#/32',
  '192.0.2.#/24',
  '198.51.100.#/24',
  'fd00::#/64',
  '2001:db8::#/64',
  '169.254.0.#/16',
  'fe80::#/64',
  '127.0.0.#/8',
]
const DATACENTERS = [
  'DC0',
  'DC1',
  '/DC0',
  '/*1',
  '/europe/DC2',
  '/europe/*',
  'Datacenter:DC0',
  'Datacenter:DC1',
  'Datacenter:DC2',
]

/** A scenario of a dozen Nodes under one configuration, the same for the same numbers. */
export function generateScenario(name: string, random: Random): Scenario {
  const twoVCenters = random.chance(0.2)
  return {
    name,
    labels: random.chance(0.8) ? ['zone', 'region'] : random.pick<Label[]>([[], ['zone'], ['region']]),
    tags: generateTags(random),
    ...(!twoVCenters && random.chance(0.2) ? { datacenters: someOf(DATACENTERS, random) } : {}),
    twoVCenters,
    ...rarely(random, 0.5, () => ({ ipFamily: random.pick(FAMILIES) })),
    ...rarely(random, 0.5, () => ({ nodes: generateNodes(random) })),
    cases: Array.from({ length: CASES }, (_, index) => generateCase(index, twoVCenters, random)),
  }
}

function generateNodes(random: Random): NonNullable<Scenario['nodes']> {
  const subnets = () => someOf(SUBNETS, random).join(',')
  return {
    ...rarely(random, 0.4, () => ({ internalNetworkSubnetCidr: subnets() })),
    ...rarely(random, 0.4, () => ({ externalNetworkSubnetCidr: subnets() })),
    ...rarely(random, 0.3, () => ({ excludeInternalNetworkSubnetCidr: subnets() })),
    ...rarely(random, 0.3, () => ({ excludeExternalNetworkSubnetCidr: subnets() })),
    ...rarely(random, 0.3, () => ({ internalVmNetworkName: random.pick(NETWORKS) })),
    ...rarely(random, 0.3, () => ({ externalVmNetworkName: random.pick(NETWORKS) })),
  }
}

/** Up to three NICs; the address of each Node is its own in all of its subnets. */
function generateNICs(index: number, random: Random): GuestNic[] {
  let last = 0
  const address = () => {
    last += 1
    return random.pick(PREFIXES).replace('#', `${index * 10 + last}`)
  }
  return Array.from({ length: 1 + random.below(3) }, () => ({
    network: random.pick(NETWORKS),
    ...rarely(random, 0.1, () => ({ deviceConfigId: -1 })),
    addresses: Array.from({ length: random.below(4) }, address),
  }))
}

/** Dense high up and sparse below, as people tag; values that cannot be labels are rare. */
function generateTags(random: Random): Tagged[] {
  const density = random.between(0.1, 0.6)
  return OBJECTS.flatMap((object) =>
    (['zone', 'region'] as const)
      .filter(() => random.chance(density))
      .map((label) => ({
        object,
        label,
        tag: random.chance(0.03) ? `${label} of ${object}` : `${label}-${object}`,
      })),
  )
}

function generateCase(index: number, twoVCenters: boolean, random: Random): ScenarioCase {
  const nics = random.chance(0.5) ? generateNICs(index, random) : undefined
  return {
    name: `Node ${index}`,
    vm: { ...generateMachine(twoVCenters, random), ...(nics === undefined ? {} : { nics }) },
    node: { ...generateNode(random), ...(nics === undefined ? {} : generateNodeIP(nics, random)) },
  }
}

/** The kubelet's choice: mostly one of the machine's addresses, or one of each family. */
function generateNodeIP(nics: readonly GuestNic[], random: Random): Pick<KubeletNode, 'nodeIP'> {
  const all = nics.flatMap((nic) => nic.addresses.map((address) => address.split('/')[0] ?? ''))
  if (all.length === 0 || random.chance(0.7)) return {}
  const first = random.pick(all)
  const others = all.filter((address) => address.includes(':') !== first.includes(':'))
  if (others.length > 0 && random.chance(0.4)) return { nodeIP: `${first},${random.pick(others)}` }
  return { nodeIP: random.chance(0.9) ? first : '10.9.9.9' }
}

function generateMachine(twoVCenters: boolean, random: Random): ScenarioMachine {
  const second = twoVCenters && random.chance(0.3)
  return {
    ...(second ? { second } : { place: random.pick(PLACE_NAMES) }),
    ...rarely(random, 0.3, () => ({ cpus: 1 + random.below(64), memoryMB: 512 + random.below(100_000) })),
    ...rarely(random, 0.3, () => ({ guestID: random.pick(GUEST_IDS) })),
    ...rarely(random, 0.05, () => ({ powerState: random.pick(['poweredOff', 'suspended'] as const) })),
    ...rarely(random, 0.1, () => ({ hostName: random.pick(['localhost', '', 'guest.example.com']) })),
    ...(second
      ? {}
      : rarely(random, 0.2, () => ({
          tags: {
            ...rarely(random, 0.6, () => ({ zone: 'own-zone' })),
            ...rarely(random, 0.6, () => ({ region: 'own-region' })),
          },
        }))),
  }
}

function generateNode(random: Random): KubeletNode {
  const labels = {
    ...rarely(random, 0.1, () => ({ 'topology.kubernetes.io/zone': 'zone-of-kubelet' })),
    ...rarely(random, 0.1, () => ({
      'topology.kubernetes.io/region': 'region-of-old',
      'failure-domain.beta.kubernetes.io/region': 'region-of-old',
    })),
  }
  const keys = Object.keys(labels)
  return {
    systemUUID: random.chance(0.9) ? random.pick(['swapped', 'plain', 'upper'] as const) : 'unknown',
    ...rarely(random, 0.4, () => ({
      providerID: random.pick(['plain', 'plain', 'upper', 'swapped', 'previous', 'foreign'] as const),
    })),
    untainted: random.chance(0.25),
    otherTaint: random.chance(0.1),
    ...(keys.length === 0 ? {} : { labels, ...rarely(random, 0.3, () => ({ topologyKeys: keys })) }),
  }
}

function rarely<T extends object>(
  random: Random,
  probability: number,
  make: () => T,
): T | Record<never, never> {
  return random.chance(probability) ? make() : {}
}

function someOf<T>(list: readonly T[], random: Random): T[] {
  const some = list.filter(() => random.chance(0.4))
  return some.length > 0 ? some : [random.pick(list)]
}
