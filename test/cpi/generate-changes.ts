/** What happens to machines and Nodes, made up by a seed. */
import type { GuestNic } from '../servers/control.ts'
import type { Random } from '../simulation/random.ts'
import { generateNICs } from './generate-addresses.ts'
import { HOSTS } from './places.ts'
import { ASKS, type Change, type KubeletNode, type Label, type ScenarioMachine } from './scenario.ts'

const ZONE = 'topology.kubernetes.io/zone'
const BETA_ZONE = 'failure-domain.beta.kubernetes.io/zone'
const LABELS: readonly Label[] = ['zone', 'region']
/** Among the numbers of addresses, above those that machines have at first. */
const OTHERS = 12

/** Generates one thing that happens to a machine or its Node, and sometimes ends again or leads to another. */
export function generateChanges(
  index: number,
  vm: ScenarioMachine,
  node: KubeletNode,
  random: Random,
): readonly Change[] {
  return random.pick([
    ...ofNode(node, random),
    ...ofPower(vm, node, random),
    ...ofMachine(vm, node, random),
    ...ofGuest(index, vm, random),
  ])
}

function ofNode({ providerID, untainted }: KubeletNode, random: Random): readonly (readonly Change[])[] {
  return [
    [{ name: 'a person changes its zone', labels: { [ZONE]: random.pick(['zone-of-person', null]) } }],
    [{ name: 'a person changes its old zone', labels: { [BETA_ZONE]: random.pick(['of-person', null]) } }],
    [{ name: 'a person taints it', taint: 'other' }],
    [{ name: 'a person says that it is off', taint: 'shutdown' }],
    [ASKS],
    ...(endsTheCPI(providerID) ? [] : [[silent(random)]]),
    ...(untainted === true && providerID === undefined
      ? [[{ name: 'it gets a provider ID', providerID: random.pick(['plain', 'foreign'] as const) }]]
      : []),
  ]
}

function ofPower(
  { powerState }: ScenarioMachine,
  { providerID }: KubeletNode,
  random: Random,
): readonly (readonly Change[])[] {
  if (endsTheCPI(providerID)) return []
  const runs = { name: 'it runs again', powerState: 'poweredOn', ready: 'True' } as const
  if (powerState !== undefined) return [[runs]]
  const off = random.pick(['poweredOff', 'suspended'] as const)
  return [
    [{ name: 'it is off', powerState: off }, silent(random)],
    [{ name: 'it is off, and not Ready', powerState: off, ready: 'Unknown' }, runs],
    [{ name: 'it is off, and not Ready', powerState: off, ready: 'Unknown' }, ASKS, runs],
  ]
}

function ofMachine(
  { place, second, tags = {} }: ScenarioMachine,
  { providerID }: KubeletNode,
  random: Random,
): readonly (readonly Change[])[] {
  const label = random.pick(LABELS)
  const tag = random.pick(tags[label] === undefined ? [`other-${label}`] : [`other-${label}`, null])
  return [
    [{ name: `it has another ${label} tag`, tags: { [label]: tag } }],
    [{ name: `it has another ${label} tag`, tags: { [label]: tag } }, ASKS],
    [{ name: 'it has another size', ...generateSize(random) }],
    [{ name: 'it has another size', ...generateSize(random) }, ASKS],
    [{ name: 'it is destroyed', gone: true }, ...(endsTheCPI(providerID) ? [] : [silent(random)])],
    ...(second !== true && (place === undefined || HOSTS.some((host) => host === place))
      ? [[{ name: 'it moves', place: random.pick(HOSTS) }]]
      : []),
  ]
}

function ofGuest(index: number, { nics }: ScenarioMachine, random: Random): readonly (readonly Change[])[] {
  const renamed = { name: 'its guest has another name', hostName: generateGuestName(random) }
  if (nics === undefined) return [[renamed]]
  return [
    [renamed],
    [{ name: 'its guest reports others', nics: generateNICs(index + OTHERS, random) }],
    [{ name: 'its guest reports them in another order', nics: turned(nics) }],
    [
      { name: 'its guest reports nothing', nics: [] },
      { name: 'its guest reports again', nics },
    ],
  ]
}

function silent(random: Random): Change {
  return { name: 'it is not Ready', ready: random.pick(['False', 'Unknown'] as const) }
}

/** Generates what a guest calls itself that does not know the name of its Node. */
export function generateGuestName(random: Random): string {
  return random.pick(['localhost', '', 'guest.example.com'])
}

/** Generates how large a machine is. */
export function generateSize(random: Random): Required<Pick<ScenarioMachine, 'cpus' | 'memoryMB'>> {
  return { cpus: 1 + random.below(64), memoryMB: 512 + random.below(100_000) }
}

/** Whether the CPI crashes, for whatever else there is to compare, as long as a Node with this provider ID is not Ready. */
export function endsTheCPI(providerID: KubeletNode['providerID']): boolean {
  return providerID === 'swapped'
}

/** The same addresses in the opposite order. */
function turned(nics: readonly GuestNic[]): GuestNic[] {
  return nics.toReversed().map((nic) => ({ ...nic, addresses: nic.addresses.toReversed() }))
}
