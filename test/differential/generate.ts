import type { Random } from '../simulation/random.ts'
import { PLACES, type Place } from './places.ts'
import type { Case, KubeletNode, Label, Machine, Scenario, Tagged } from './scenario.ts'

const CASES = 12
const PLACE_NAMES = Object.keys(PLACES).filter((name): name is Place => name in PLACES)
const OBJECTS = [
  ...new Set(
    Object.values(PLACES).flatMap(({ compute, pool, folder }): string[] => [...compute, ...pool, ...folder]),
  ),
]
const GUEST_IDS = ['ubuntu64Guest', 'rhel8_64Guest', 'rhel7_64Guest', 'vmwarePhoton64Guest', 'nonsense']
const DATACENTERS = ['DC0', 'DC1', '/DC0', '/DC1', '/europe/DC2']

/** A scenario of a dozen Nodes under one configuration, the same for the same numbers. */
export function generateScenario(name: string, random: Random): Scenario {
  const twoVCenters = random.chance(0.2)
  return {
    name,
    labels: random.chance(0.8) ? ['zone', 'region'] : random.pick<Label[]>([[], ['zone'], ['region']]),
    tags: generateTags(random),
    ...(random.chance(0.2) ? { datacenters: someOf(DATACENTERS, random) } : {}),
    twoVCenters,
    cases: Array.from({ length: CASES }, (_, index) => generateCase(index, twoVCenters, random)),
  }
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

function generateCase(index: number, twoVCenters: boolean, random: Random): Case {
  return { name: `Node ${index}`, vm: generateMachine(twoVCenters, random), node: generateNode(random) }
}

function generateMachine(twoVCenters: boolean, random: Random): Machine {
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
  return {
    systemUUID: random.chance(0.9) ? random.pick(['swapped', 'plain', 'upper'] as const) : 'unknown',
    ...rarely(random, 0.4, () => ({
      providerID: random.pick(['plain', 'plain', 'upper', 'swapped', 'previous', 'foreign'] as const),
    })),
    untainted: random.chance(0.25),
    otherTaint: random.chance(0.1),
    ...rarely(random, 0.1, () => ({ labels: { 'topology.kubernetes.io/zone': 'zone-of-kubelet' } })),
    ...rarely(random, 0.1, () => ({
      labels: {
        'topology.kubernetes.io/region': 'region-of-old',
        'failure-domain.beta.kubernetes.io/region': 'region-of-old',
      },
    })),
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
