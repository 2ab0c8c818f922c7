/** Parses the values of vCenter's properties from XML. */
import { parse } from 'yaml'
import { asObject, decodeGuestinfo, MAX_METADATA, staticAddresses } from '../../../agent/shared/cloud-init.ts'
import {
  GUESTINFO_CLAIM,
  GUESTINFO_METADATA,
  GUESTINFO_METADATA_ENCODING,
} from '../../../agent/shared/node-report.ts'
import { parseBounded, refuseDepth } from '../../../agent/shared/yaml.ts'
import type { FaultTolerance, GuestNIC, VirtualNIC } from '../../types/virtual-machine.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'

/** The path of the claim. */
export const CLAIM_PATH = extraConfig(GUESTINFO_CLAIM)
/** The paths of cloud-init's metadata: one or two kilobytes, where there is any. */
export const METADATA_PATH = extraConfig(GUESTINFO_METADATA)
export const METADATA_ENCODING_PATH = extraConfig(GUESTINFO_METADATA_ENCODING)

function extraConfig(key: string): string {
  return `config.extraConfig["${key}"]`
}

/** The values of a VM's custom attributes. */
export const CUSTOM_VALUES_PATH = 'customValue'

/** All devices of a VM: 10 kB for five disks, 78 kB for sixty volumes. */
export const DEVICES_PATH = 'config.hardware.device'
/**
 * Only the network cards. vCenter gives them keys from 4000 on, and a VM may have ten. That is observed, not documented,
 * so their number is read too.
 */
export const CARD_PATHS: readonly string[] = Array.from(
  { length: 10 },
  (_, i) => `${DEVICES_PATH}[${4000 + i}]`,
)
export const CARD_COUNT_PATH = 'summary.config.numEthernetCards'

/** {@link DEVICES_PATH}: only network cards have a MAC. */
export function readNICs(devices: XMLElement | undefined): VirtualNIC[] {
  return (devices?.children ?? []).flatMap(readNIC)
}

/** {@link CARD_PATHS}. */
export function readCards(values: ReadonlyMap<string, XMLElement | undefined>): VirtualNIC[] {
  return CARD_PATHS.flatMap((path) => readNIC(values.get(path)))
}

function readNIC(device: XMLElement | undefined): VirtualNIC[] {
  const mac = textOf(device, 'macAddress')
  // On a standard switch alone: a distributed one goes by its key.
  const network = textOf(child(device, 'backing'), 'deviceName')
  return mac === undefined ? [] : [{ mac: mac.toLowerCase(), ...(network ? { network } : {}) }]
}

/** `guest.net`. */
export function readGuestNICs(nics: XMLElement | undefined): GuestNIC[] {
  return (nics?.children ?? []).map((nic) => {
    const withPrefix = childrenOf(child(nic, 'ipConfig'), 'ipAddress').flatMap((each) => {
      const address = textOf(each, 'ipAddress')
      return address === undefined ? [] : [{ address, prefixLength: readNumber(child(each, 'prefixLength')) }]
    })
    const plain = childrenOf(nic, 'ipAddress').map((each) => each.text)
    // Old versions of VMware Tools fill only the plain list; its order is the one that people see.
    const addresses = [...new Set([...plain, ...withPrefix.map((each) => each.address)])]
    return {
      mac: textOf(nic, 'macAddress')?.toLowerCase(),
      network: textOf(nic, 'network'),
      deviceConfigID: readNumber(child(nic, 'deviceConfigId')) ?? -1,
      addresses: addresses.map((address) => ({
        address,
        prefixLength: withPrefix.find((each) => each.address === address)?.prefixLength,
      })),
    }
  })
}

/** The agent's claims are far shorter; a guest may write a megabyte. */
const MAX_OPTION = 256

/** An OptionValue, or only its value; cut off if it is longer than any expected one. */
export function readOption(option: XMLElement | undefined, longest = MAX_OPTION): string | undefined {
  const text = textOf(option, 'value') ?? (option?.children.length === 0 ? option.text : undefined)
  return text?.slice(0, longest).toWellFormed() || undefined
}

/** The static addresses by {@link METADATA_PATH}. */
export function readMetadata(values: ReadonlyMap<string, XMLElement | undefined>): readonly string[] {
  return readStaticAddresses(
    readOption(values.get(METADATA_PATH), MAX_METADATA),
    readOption(values.get(METADATA_ENCODING_PATH)),
  )
}

/** `config.ftInfo`. */
export function readFaultTolerance(info: XMLElement | undefined): FaultTolerance | undefined {
  const role = readNumber(child(info, 'role'))
  if (role === undefined) return undefined
  return { role, instanceUUIDs: childrenOf(info, 'instanceUuids').flatMap((each) => readUUID(each) ?? []) }
}

/** A custom attribute of a VM: the key of its definition, and its value. */
export interface CustomValue {
  readonly key: number
  readonly value: string
}

/** {@link CUSTOM_VALUES_PATH}. Empty ones count as not set. */
export function readCustomValues(list: XMLElement | undefined): readonly CustomValue[] {
  return (list?.children ?? []).flatMap((each) => {
    const [key, value] = [readNumber(child(each, 'key')), textOf(each, 'value')]
    return key === undefined || !value ? [] : [{ key, value: value.slice(0, MAX_OPTION).toWellFormed() }]
  })
}

/** A decimal integer; undefined for anything else. */
export function readNumber(element: XMLElement | undefined): number | undefined {
  return element !== undefined && /^-?\d{1,15}$/.test(element.text) ? Number(element.text) : undefined
}

export function readUUID(element: XMLElement | undefined): string | undefined {
  return element?.text.toLowerCase() || undefined
}

/** vCenter writes `/`, `\` and `%` of an object's name as %2f, %5c and %25. */
export function readName(element: XMLElement | undefined): string | undefined {
  return element?.text.replace(/%(2f|5c|25)/gi, (code) => decodeURIComponent(code)) || undefined
}

/** Far more than a machine has. */
const MOST = 64

/**
 * The addresses that cloud-init's metadata (`guestinfo.metadata`) sets as static, in its order, as written there. None where
 * it cannot be read: whoever deployed the machine wrote it, or its guest.
 */
export function readStaticAddresses(
  metadata: string | undefined,
  encoding: string | undefined,
): readonly string[] {
  if (metadata === undefined) return []
  try {
    const fields = asObject(decoded(metadata, encoding))
    const network = fields?.network
    const inner = fields?.['network.encoding']
    const value =
      typeof network === 'string' ? decoded(network, typeof inner === 'string' ? inner : undefined) : network
    return staticAddresses(value).slice(0, MOST)
  } catch {
    // Any parser error, from a tab to nesting too deep for its stack.
    return []
  }
}

function decoded(text: string, encoding: string | undefined): unknown {
  const plain = decodeGuestinfo('guestinfo.metadata', text, encoding, MAX_METADATA)
  if (!plain.ok) return undefined
  refuseDepth(plain.value)
  return parseBounded(plain.value, parse)
}

/** `list["key"]` or `list[4000]`. */
const KEYED = /^(.*)\[(?:"(.*)"|(\d+))\]$/

/** The same paths, but with whole lists in place of their entries: `config.extraConfig` is some 15 kB. */
export function withoutKeys(paths: readonly string[]): readonly string[] {
  return [...new Set(paths.map((path) => KEYED.exec(path)?.[1] ?? path))]
}

/** Those of the paths that are entries of this list, with their keys. */
export function entriesOf(list: string, paths: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    paths.flatMap((path) => {
      const [, of, text, number] = KEYED.exec(path) ?? []
      const key = text ?? number
      return of === list && key !== undefined ? [[path, key] as const] : []
    }),
  )
}

/** The entry with this key; undefined where the list has none. */
export function entryIn(list: XMLElement | undefined, key: string): XMLElement | undefined {
  return list?.children.find((each) => textOf(each, 'key') === key)
}

/** What was said of whole lists, said of those of their entries that these paths name as well. */
export function spread<V>(
  values: ReadonlyMap<string, V>,
  paths: readonly string[],
  entry: (list: V, key: string) => V | undefined,
): ReadonlyMap<string, V> {
  const all = new Map(values)
  for (const [list, whole] of values) {
    for (const [path, key] of entriesOf(list, paths)) {
      const value = entry(whole, key)
      if (value !== undefined) all.set(path, value)
    }
  }
  return all
}
