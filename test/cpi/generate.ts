/** Scenarios made up by a seed: the same for the same numbers. */
import type { GuestNic } from '../servers/control.ts'
import type { Random } from '../simulation/random.ts'
import {
  FAMILIES,
  generateAddressSettings,
  generateNICs,
  generateNodeIP,
  generateOddNodeIP,
  NETWORKS,
  rarely,
} from './generate-addresses.ts'
import { endsTheCPI, generateChanges, generateGuestName, generateSize } from './generate-changes.ts'
import { type InventoryPlace, PLACES } from './places.ts'
import {
  type KubeletNode,
  type Label,
  NO_LIFECYCLE,
  type Scenario,
  type ScenarioCase,
  type ScenarioMachine,
  type Tagged,
} from './scenario.ts'

const CASES = 12
const ZONE = 'topology.kubernetes.io/zone'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const PLACE_NAMES = Object.keys(PLACES).filter((name): name is InventoryPlace => name in PLACES)
const OBJECTS = [
  ...new Set(
    Object.values(PLACES).flatMap(({ compute, pool, folder }): string[] => [...compute, ...pool, ...folder]),
  ),
]
const GUEST_IDS = ['ubuntu64Guest', 'rhel8_64Guest', 'rhel7_64Guest', 'vmwarePhoton64Guest', 'nonsense']
const SUBNETS = [
  '10.0.0.0/8',
  '10.1.0.0/16',
  '192.0.2.0/24',
  '198.51.100.0/25',
  'fd00::/8',
  '2001:db8::/32',
  '0.0.0.0/0',
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
  'DC%2fEast',
  '/DC%2FEast',
  'DC/East',
  '/DC/*',
  '/DC*',
]

/** Of the datacenter that both vCenters have. */
const SHARED_DATACENTERS = ['DC0', '/DC0', '/*0']

const ARGUMENTS = [
  NO_LIFECYCLE,
  '--node-labels=example.com/site=a,tier=',
  '--node-labels=example.com/rack=r1,tier=b',
  '--cluster-name=west',
  '--allocate-node-cidrs=false',
  '--configure-cloud-routes=false',
  '--concurrent-service-syncs=2',
  '--min-resync-period=1h',
]

/** What people write behind the address; the CPI ignores it. */
const LENGTHS = ['', '/64', '/0', '/33', '/255.255.255.0', '/129']

const PROVIDER_IDS: readonly NonNullable<KubeletNode['providerID']>[] = [
  ...(['plain', 'plain', 'plain', 'upper', 'swapped', 'previous', 'foreign'] as const),
  ...(['empty', 'malformed', 'bare'] as const),
]

/** Generates a dozen Nodes under one configuration. */
export function generateScenario(name: string, random: Random): Scenario {
  const twoVCenters = random.chance(0.2)
  return {
    name,
    labels: random.chance(0.8) ? ['zone', 'region'] : random.pick<Label[]>([[], ['zone'], ['region']]),
    tags: generateTags(OBJECTS, random),
    ...rarely(random, 0.2, () => ({
      datacenters: someOf(twoVCenters ? SHARED_DATACENTERS : DATACENTERS, random),
    })),
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
    ...rarely(random, 0.2, () => ({ arguments: someOf(ARGUMENTS, random) })),
    cases: generateCases(twoVCenters, random),
  }
}

function generateCases(twoVCenters: boolean, random: Random): readonly ScenarioCase[] {
  const cases: ScenarioCase[] = []
  for (let index = 0; index < CASES; index++)
    cases.push(generateCase(index, { twoVCenters, previous: cases.at(-1) }, random))
  return cases
}

/** Tags of a second vCenter, and settings of its own. */
function generateSecond(random: Random): Pick<Scenario, 'tagsOfSecond' | 'second'> {
  return {
    ...rarely(random, 0.6, () => ({ tagsOfSecond: generateTags(['DC0', 'DC0_C0', 'DC0_C0_H0'], random) })),
    ...rarely(random, 0.5, () => ({
      second: {
        ...rarely(random, 0.6, () => ({ ipFamily: random.pick(FAMILIES) })),
        // It has no DC1: all its machines are out of scope then.
        ...rarely(random, 0.6, () => ({ datacenters: someOf([...SHARED_DATACENTERS, 'DC1'], random) })),
      },
    })),
  }
}

/** Dense high up and sparse below, as people tag; values that cannot be labels are rare. */
function generateTags(objects: readonly string[], random: Random): Tagged[] {
  const density = random.between(0.1, 0.6)
  return objects.flatMap((object) =>
    (['zone', 'region'] as const)
      .filter(() => random.chance(density))
      .flatMap((label) => {
        const tag = random.chance(0.03) ? `${label} of ${object}` : `${label}-${object}`
        const tags = random.chance(0.05) ? [tag, `${label}-more-${object}`] : [tag]
        return tags.map((each) => ({ object, label, tag: each }))
      }),
  )
}

function generateCase(
  index: number,
  { twoVCenters, previous }: { readonly twoVCenters: boolean; readonly previous: ScenarioCase | undefined },
  random: Random,
): ScenarioCase {
  const nics = random.chance(0.5) ? generateNICs(index, random) : undefined
  // Its guest has an address of the machine before.
  const [shared] = previous?.vm?.nics?.flatMap(({ addresses }) => addresses) ?? []
  if (nics !== undefined && shared !== undefined && random.chance(0.1)) nics[0]?.addresses.unshift(shared)
  const node = generateNode(random)
  const own = (nics ?? []).flatMap((nic) => nic.addresses.map((address) => address.split('/')[0] ?? ''))
  const vm: ScenarioMachine = {
    ...generateMachine(twoVCenters, random),
    ...(nics === undefined ? {} : { nics, ...generateStatic(index, nics, random) }),
    ...generateTrouble(index, node, random),
  }
  return {
    name: `Node ${index}`,
    vm,
    node: {
      ...node,
      ...(own.length === 0
        ? {}
        : rarely(random, 0.3, () => ({
            nodeIP: random.chance(0.2) ? generateOddNodeIP(own, random) : generateNodeIP(own, random),
          }))),
    },
    ...rarely(random, 0.4, () => ({ later: generateChanges(index, vm, node, random) })),
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
): Pick<ScenarioMachine, 'staticAddresses' | 'staticOf'> {
  const own = nics.flatMap(({ addresses }) => addresses)
  return rarely(random, 0.2, () => {
    const one = own.length > 0 && random.chance(0.8) ? random.pick(own) : `10.3.0.${index + 1}/24`
    const odd = () => `${one.split('/')[0]}${random.pick(LENGTHS)}`
    return {
      staticAddresses: [random.chance(0.4) ? odd() : one],
      ...rarely(random, 0.3, () => ({ staticOf: random.pick(['bonds', 'bridges', 'vlans'] as const) })),
    }
  })
}

function generateMachine(twoVCenters: boolean, random: Random): ScenarioMachine {
  const second = twoVCenters && random.chance(0.3)
  return {
    ...(second ? { second } : { place: random.pick(PLACE_NAMES) }),
    ...rarely(random, 0.3, () => generateSize(random)),
    ...rarely(random, 0.3, () => ({ guestID: random.pick(GUEST_IDS) })),
    ...rarely(random, 0.05, () => ({ powerState: random.pick(['poweredOff', 'suspended'] as const) })),
    ...rarely(random, 0.1, () => ({ hostName: generateGuestName(random) })),
    ...rarely(random, 0.2, () => ({
      tags: {
        ...rarely(random, 0.6, () => ({ zone: 'own-zone' })),
        ...rarely(random, 0.6, () => ({ region: 'own-region' })),
      },
    })),
  }
}

function generateNode(random: Random): KubeletNode {
  const labels = {
    ...rarely(random, 0.1, () => ({ [ZONE]: 'zone-of-kubelet' })),
    ...rarely(random, 0.1, () => ({ tier: 'of-kubelet' })),
    ...rarely(random, 0.1, () => ({ [BETA_ZONE]: random.pick(['zone-of-old', 'zone-DC0', 'zone-DC0_C0']) })),
    ...rarely(random, 0.1, () => ({
      ...rarely(random, 0.5, () => ({ 'topology.kubernetes.io/region': 'region-of-old' })),
      'failure-domain.beta.kubernetes.io/region': 'region-of-old',
    })),
    ...rarely(random, 0.1, () => ({ 'beta.kubernetes.io/instance-type': 'type-of-old' })),
  }
  const untainted = random.chance(0.25)
  const providerID = random.chance(0.4) ? random.pick(PROVIDER_IDS) : undefined
  const keys = Object.keys(labels).filter((key) => key !== 'tier' && !key.endsWith('instance-type'))
  return {
    systemUUID: random.chance(0.9)
      ? random.pick(['swapped', 'plain', 'upper'] as const)
      : random.pick(['unknown', 'malformed', 'empty'] as const),
    ...(providerID === undefined ? {} : { providerID }),
    untainted,
    otherTaint: random.chance(0.1),
    ...(endsTheCPI(providerID)
      ? {}
      : rarely(random, 0.15, () => ({ ready: random.pick(['False', 'Unknown'] as const) }))),
    ...rarely(random, untainted ? 0.1 : 0.05, () => ({ shutdownTaint: true })),
    labels,
    ...(keys.length === 0 ? {} : rarely(random, 0.3, () => ({ topologyKeys: keys }))),
  }
}

function someOf<T>(list: readonly T[], random: Random): T[] {
  const some = list.filter(() => random.chance(0.4))
  return some.length > 0 ? some : [random.pick(list)]
}
