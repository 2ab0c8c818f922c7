/** What decides on addresses, made up by a seed: settings, what machines report, and what kubelets choose. */
import { gzipSync } from 'node:zlib'
import type { IPFamily } from '../../controller/config/config.ts'
import type { GuestNic } from '../servers/control.ts'
import type { Random } from '../simulation/random.ts'
import { fileOf, metadata, nic } from './address-cases.ts'
import type { Configured, ReportedMachine } from './oracle.ts'
import type { AddressSetting } from './scenario.ts'

export const FAMILIES: readonly (readonly IPFamily[])[] = [
  ['ipv4'],
  ['ipv6'],
  ['ipv4', 'ipv6'],
  ['ipv6', 'ipv4'],
]
/** One setting in so many is not written. */
export const RARE = 0.35
const MACHINES = 12
export const NETWORKS = ['private', 'Private', 'public', 'storage']
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

/** Generates up to three NICs; the address of each Node is its own in all of its subnets. */
export function generateNICs(index: number, random: Random): GuestNic[] {
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

/** Generates what a kubelet may also be given: a family alone, or an address as people write it. */
export function generateOddNodeIP(own: readonly string[], random: Random): string {
  const padded = own
    .filter((address) => /^\d/.test(address) && !address.includes(':'))
    .map((address) => address.replace(/\d+$/, (last) => last.padStart(3, '0')))
    .filter((address) => !own.includes(address))
  return random.pick(['::', '0.0.0.0', ...padded])
}

/** Generates the kubelet's choice: mostly one of the machine's addresses, or one of each family. */
export function generateNodeIP(own: readonly string[], random: Random): string {
  const one = own.length === 0 || random.chance(0.1) ? '10.9.9.9' : random.pick(own)
  const others = own.filter((address) => address.includes(':') !== one.includes(':'))
  return others.length > 0 && random.chance(0.4) ? `${one},${random.pick(others)}` : one
}

/** What is made, as often as that; an object without anything otherwise. */
export function rarely<T extends object>(
  random: Random,
  probability: number,
  make: () => T,
): T | Record<never, never> {
  return random.chance(probability) ? make() : {}
}
