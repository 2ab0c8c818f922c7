/** Scenarios, configurations and machines made up by a seed: the same for the same numbers. */
import { gzipSync } from 'node:zlib'
import type { IPFamily } from '../../controller/config/config.ts'
import type { GuestNic } from '../servers/control.ts'
import type { Random } from '../simulation/random.ts'
import { fileOf, metadata, nic } from './address-cases.ts'
import type { Configured, ReportedMachine } from './oracle.ts'
import { type InventoryPlace, PLACES } from './places.ts'
import type {
  AddressSetting,
  KubeletNode,
  Label,
  Scenario,
  ScenarioCase,
  ScenarioMachine,
  Tagged,
} from './scenario.ts'

const CASES = 12
/** One setting in so many is not written. */
export const RARE = 0.35
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

const PROVIDER_IDS: readonly NonNullable<KubeletNode['providerID']>[] = [
  ...(['plain', 'plain', 'plain', 'upper', 'swapped', 'previous', 'foreign'] as const),
  ...(['empty', 'malformed', 'bare'] as const),
]

/** A scenario of a dozen Nodes under one configuration, the same for the same numbers. */
export function generateScenario(name: string, random: Random): Scenario {
  const twoVCenters = random.chance(0.2)
  return {
    name,
    labels: random.chance(0.8) ? ['zone', 'region'] : random.pick<Label[]>([[], ['zone'], ['region']]),
    tags: generateTags(OBJECTS, random),
    ...(!twoVCenters && random.chance(0.2) ? { datacenters: someOf(DATACENTERS, random) } : {}),
    twoVCenters,
    ...(twoVCenters ? generateSecond(random) : {}),
    ...rarely(random, 0.05, () => ({ oneCategory: true })),
    ...rarely(random, 0.2, () => ({ form: 'ini' as const })),
    ...rarely(random, 0.5, () => ({ ipFamily: random.pick(FAMILIES) })),
    ...rarely(random, 0.5, () => ({
      nodes: generateAddressSettings(
        () => someOf(SUBNETS, random).join(','),
        () => random.pick(NETWORKS),
        random,
      ),
    })),
    cases: Array.from({ length: CASES }, (_, index) => generateCase(index, twoVCenters, random)),
  }
}

/** Generates some of the settings that decide on addresses. */
export function generateAddressSettings(
  subnets: () => string,
  network: () => string,
  random: Random,
): Partial<Record<AddressSetting, string>> {
  return {
    ...rarely(random, RARE, () => ({ internalNetworkSubnetCidr: subnets() })),
    ...rarely(random, RARE, () => ({ externalNetworkSubnetCidr: subnets() })),
    ...rarely(random, RARE, () => ({ internalVmNetworkName: network() })),
    ...rarely(random, RARE, () => ({ externalVmNetworkName: network() })),
    ...rarely(random, RARE, () => ({ excludeInternalNetworkSubnetCidr: subnets() })),
    ...rarely(random, RARE, () => ({ excludeExternalNetworkSubnetCidr: subnets() })),
  }
}

/** Tags of a second vCenter, and settings of its own. */
function generateSecond(random: Random): Pick<Scenario, 'tagsOfSecond' | 'second'> {
  return {
    ...rarely(random, 0.6, () => ({ tagsOfSecond: generateTags(['DC0', 'DC0_C0', 'DC0_C0_H0'], random) })),
    ...rarely(random, 0.3, () => ({ second: { ipFamily: random.pick(FAMILIES) } })),
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
function generateTags(objects: readonly string[], random: Random): Tagged[] {
  const density = random.between(0.1, 0.6)
  return objects.flatMap((object) =>
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
  const node = generateNode(random)
  const own = (nics ?? []).flatMap((nic) => nic.addresses.map((address) => address.split('/')[0] ?? ''))
  return {
    name: `Node ${index}`,
    vm: {
      ...generateMachine(twoVCenters, random),
      ...(nics === undefined ? {} : { nics, ...generateStatic(index, nics, random) }),
      ...generateTrouble(index, node, random),
    },
    node: {
      ...node,
      ...(own.length === 0 ? {} : rarely(random, 0.3, () => ({ nodeIP: generateNodeIP(own, random) }))),
    },
  }
}

/** One of three machines is sometimes gone; another has sometimes the UUID or the guest name of the one before. */
function generateTrouble(index: number, { untainted }: KubeletNode, random: Random): ScenarioMachine {
  if (index % 3 === 0) return untainted === true ? rarely(random, 0.3, () => ({ gone: true })) : {}
  if (index % 3 === 1) return {}
  return rarely(random, 0.15, () => random.pick([{ uuidOfPrevious: true }, { nameOfPrevious: true }]))
}

/** Sometimes with static addresses in cloud-init's metadata, of the machine or not. */
function generateStatic(
  index: number,
  nics: readonly GuestNic[],
  random: Random,
): Pick<ScenarioMachine, 'staticAddresses'> {
  const own = nics.flatMap(({ addresses }) => addresses)
  return rarely(random, 0.15, () => ({
    staticAddresses: [own.length > 0 && random.chance(0.7) ? random.pick(own) : `10.3.0.${index + 1}/24`],
  }))
}

/** Generates the kubelet's choice: mostly one of the machine's addresses, or one of each family. */
function generateNodeIP(own: readonly string[], random: Random): string {
  const one = own.length === 0 || random.chance(0.1) ? '10.9.9.9' : random.pick(own)
  const others = own.filter((address) => address.includes(':') !== one.includes(':'))
  return others.length > 0 && random.chance(0.4) ? `${one},${random.pick(others)}` : one
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
  const untainted = random.chance(0.25)
  const keys = Object.keys(labels)
  return {
    systemUUID: random.chance(0.9)
      ? random.pick(['swapped', 'plain', 'upper'] as const)
      : random.pick(['unknown', 'malformed', 'empty'] as const),
    ...rarely(random, 0.4, () => ({
      providerID: random.pick(PROVIDER_IDS),
    })),
    untainted,
    otherTaint: random.chance(0.1),
    ...rarely(random, 0.15, () => ({ ready: random.pick(['False', 'Unknown'] as const) })),
    ...(untainted ? rarely(random, 0.1, () => ({ shutdownTaint: true })) : {}),
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

const MACHINES = 12
const ODD_NETWORKS = ['net-a', 'NET-A', 'net-b', 'net b', 'größe', '']
const ODD_SUBNETS = [
  '10.0.0.0/8',
  '10.1.0.0/16',
  '10.1.0.4/30',
  '192.0.2.0/24',
  '0.0.0.0/0',
  'fd00::/8',
  'fd00:1::/32',
  '2001:db8::/32',
  '::/0',
  '::ffff:10.0.0.0/104',
]
const ADDRESSES = [
  ...['10.0.0.', '10.1.0.', '192.0.2.'].flatMap((net) => [`${net}5`, `${net}6`]),
  ...['fd00::', 'fd00:1::', '2001:db8::'].flatMap((net) => [`${net}5`, `${net}6`]),
  '127.0.0.1',
  '169.254.0.5',
  'fe80::5',
  '::1',
]
/** Written otherwise than both would write them; metadata has none of them, see the listed difference. */
const ODD = ['FD00::A', '2001:0db8::000b', '::ffff:10.1.0.7']

/** Generates a configuration and machines that are new under it, by every setting that decides on addresses. */
export function generateConfigured(random: Random): Configured {
  const subnets = () => Array.from({ length: 1 + random.below(2) }, () => random.pick(ODD_SUBNETS)).join(',')
  const nodes = generateAddressSettings(subnets, () => random.pick(ODD_NETWORKS), random)
  const families = random.pick(['', ...FAMILIES.map((each) => `[${each.join(', ')}]`)])
  return {
    text: fileOf(families, nodes),
    machines: Array.from({ length: MACHINES }, () => generateReported(random)),
  }
}

function generateReported(random: Random): ReportedMachine {
  const nics = Array.from({ length: random.below(4) }, (_, place) => {
    const addresses = Array.from({ length: random.below(4) }, () =>
      random.pick(random.chance(0.05) ? ODD : ADDRESSES),
    )
    const made = nic(place, random.pick(ODD_NETWORKS), ...addresses)
    return random.chance(0.1) ? { ...made, deviceConfigID: -1 } : made
  })
  return {
    nics,
    ...(random.chance(0.4) ? { guestinfo: generateMetadata(random) } : {}),
    ...(random.chance(0.3)
      ? {
          nodeIP: generateNodeIP(
            nics.flatMap(({ addresses }) => addresses),
            random,
          ),
        }
      : {}),
  }
}

/** Of one interface alone: among several the CPI's own order is by chance. */
function generateMetadata(random: Random): NonNullable<ReportedMachine['guestinfo']> {
  const addresses = Array.from({ length: random.below(4) }, () => `${random.pick(ADDRESSES)}/24`)
  const network = { version: 2, ethernets: { id0: { 'set-name': 'eth0', addresses } } }
  const encoded = JSON.stringify(network)
  const forms = [
    { network },
    { network: Buffer.from(encoded).toString('base64'), 'network.encoding': 'base64' },
    { network: gzipSync(encoded).toString('base64'), 'network.encoding': 'gzip+base64' },
  ]
  return metadata(JSON.stringify({ 'instance-id': 'i-1', ...random.pick(forms) }))
}
