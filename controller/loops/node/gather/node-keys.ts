import { isIPv4 } from 'node:net'
import { canonicalUUID, swapUUID } from '../../../../agent/shared/uuid.ts'
import type { DecisionConfig } from '../../../config/config.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { parseAddress } from '../decide/addresses/candidate-addresses.ts'
import type { LatchedNode } from '../decide/lifecycle/brake.ts'
import { brakeGroup, type KnownNode, machineUUID } from '../facts/machines.ts'
import { needsInitialization } from '../facts/needs-initialization.ts'
import { providerUUIDs } from '../facts/provider-id.ts'
import { isDecided } from '../facts/removal.ts'

/** What the watches show under one name. */
export interface NodeEntry {
  readonly node?: Node | undefined
  readonly report?: NodeReport | undefined
}

/** What an entry is found by. */
export interface NodeKeys {
  /** BIOS UUIDs to search for its VM by. */
  readonly looked: readonly string[]
  /** BIOS UUIDs of all machines that must be gone before it is deleted. */
  readonly machines: readonly string[]
  /** BIOS UUIDs from the Node object, in both byte orders: the provider ID's and the kubelet's. */
  readonly given: readonly string[]
  readonly addresses: readonly string[]
  readonly uid: string | undefined
  /** `about.instanceUuid` of the vCenter that has its VM; the empty text where none has shown it. */
  readonly vCenter: string | undefined
  /** See `brakeGroup`. */
  readonly group: string | undefined
}

export const KEY_KINDS = ['looked', 'machines', 'given', 'addresses', 'uid', 'vCenter', 'group'] as const
export const NO_KEYS: NodeKeys = {
  looked: [],
  machines: [],
  given: [],
  addresses: [],
  uid: undefined,
  vCenter: undefined,
  group: undefined,
}

/** The keys of one kind, of which there may be one or several. */
export function listOf(keys: NodeKeys[keyof NodeKeys]): readonly string[] {
  if (keys === undefined) return []
  return typeof keys === 'string' ? [keys] : keys
}

export function isSame(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((key, index) => key === other[index])
}

/**
 * What a Node is found by; there may be a report without a Node.
 *
 * @param known undefined where there is no Node
 */
export function keysOf(
  { node, report }: NodeEntry,
  known: KnownNode | undefined,
  identity: DecisionConfig['identity'],
): NodeKeys {
  if (node === undefined || known === undefined)
    return { ...NO_KEYS, looked: machineUUID(node, report, identity).uuids }
  const { boundTo, machines: pointed } = known
  // Without a report nobody looks for the machine, and nothing is decided about it.
  const followed = report === undefined ? undefined : pointed
  // Its verified VM is followed, whatever the report says now.
  const looked = [
    ...new Set([...known.machineUUID.uuids, ...(boundTo === undefined ? [] : [boundTo.biosUUID])]),
  ]
  const machines = [...new Set(followed?.machines.map(({ biosUUID }) => biosUUID))]
  return {
    looked,
    // Of most Nodes they are the same, and one list takes less memory than two.
    machines: isSame(machines, looked) ? looked : machines,
    given: givenUUIDs(node),
    addresses: addressesOf(node, known),
    uid: node.uid,
    vCenter: pointed?.machines[0].vCenterInstanceUUID,
    // One that is being deleted is no part of what may vanish, however long a finalizer keeps it.
    group: followed === undefined || node.deleting ? undefined : brakeGroup(followed),
  }
}

/** Undefined for a Node that the brake is not engaged for, that is being deleted, or that somebody has decided on. */
export function latchedNode(
  name: string,
  { node }: NodeEntry,
  known: KnownNode | undefined,
): LatchedNode | undefined {
  // A Node that is being deleted may wait for a finalizer forever.
  if (node === undefined || node.deleting || isDecided(node)) return undefined
  if (known?.machines === undefined || known.previous.brakeEngagedAt === undefined) return undefined
  return { name, vCenter: known.machines.machines[0].vCenter, group: brakeGroup(known.machines) }
}

/**
 * A Node's name, and the addresses and host name that it was verified with. For a Node that another provider initialized
 * and that was never verified, those that the Node shows, as far as a provider would have written them.
 */
export function addressesOf(node: Node, { previous }: Pick<KnownNode, 'previous'>): readonly string[] {
  const { identityLevel, vm, addresses = [] } = previous
  const shown = () => (needsInitialization(node) ? [] : firstOfEachKind(node.addresses))
  const isVerifiedWith = (address: string) => addresses.some((each) => each.address === address)
  const counted =
    identityLevel !== undefined
      ? addresses
      : shown().filter(({ address }) => vm === undefined || isVerifiedWith(address))
  // A name that looks like an address is not one: the Node of that name need not have it.
  const held = new Set(isIPv4(node.name) ? [] : [node.name])
  for (const { type, address } of counted)
    if (type === 'Hostname' && !isIPv4(address)) held.add(address.toLowerCase())
  for (const { type, address } of counted) if (type !== 'Hostname') held.add(canonical(address))
  return [...held]
}

/** As addresses are compared: another provider may write one in another spelling. */
function canonical(address: string): string {
  return parseAddress(address)?.address ?? address.toLowerCase()
}

/** A provider writes one of each kind. A kubelet may write any number, and could block a whole subnet for others. */
function firstOfEachKind(addresses: Node['addresses']): Node['addresses'] {
  const kinds = new Map<string, Node['addresses'][number]>()
  for (const each of addresses) {
    const { type, address } = each
    if (!PROVIDED.has(type)) continue
    const kind = `${type} ${type !== 'Hostname' && canonical(address).includes(':')}`
    if (!kinds.has(kind)) kinds.set(kind, each)
  }
  return [...kinds.values()]
}

const PROVIDED: ReadonlySet<string> = new Set(['InternalIP', 'ExternalIP', 'Hostname'])

/** BIOS UUIDs by which the Node object points to a VM, in both byte orders, whoever wrote them. */
function givenUUIDs(node: Node): readonly string[] {
  const system = canonicalUUID(node.systemUUID)
  const provided = providerUUIDs(node)
  if (system === undefined || provided.includes(system)) return provided
  return [...new Set([...provided, system, swapUUID(system)])]
}
