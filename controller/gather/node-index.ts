import { isIPv4 } from 'node:net'
import type { DecisionConfig } from '../config/config.ts'
import { machineUUID } from '../decide/identity/machine-uuid.ts'
import { isDecided } from '../decide/lifecycle/disruption-limit.ts'
import { disruptionGroup, machinesOf } from '../decide/lifecycle/node-machines.ts'
import type { ClaimedNode } from '../decide/node-facts.ts'
import { previousStatus, verifiedVM } from '../decide/previous-status.ts'
import { providerUUIDs } from '../decide/provider-id.ts'
import { isUninitialized } from '../decide/uninitialized.ts'
import { canonicalUUID, swapUUID } from '../decide/uuid.ts'
import type { Node, NodeReport } from '../types/node.ts'
import { createMultimap, type Multimap } from './multimap.ts'

/** Indexes Nodes by BIOS UUID, UID and address, kept up to date from the two watches. */
export interface NodeIndex {
  node(name: string, current: Node | undefined): void
  report(name: string, current: NodeReport | undefined): void
  /** Names of the Nodes and reports that point to this BIOS UUID: because it is searched for, or by provider ID. */
  namesByUUID(uuid: string): readonly string[]
  /** The same, and the Nodes that must stay while a machine with this UUID exists. */
  concernedBy(uuid: string): readonly string[]
  nodeByUID(uid: string): ClaimedNode | undefined
  /** BIOS UUIDs by which the Node object itself points to a VM. */
  givenBy(name: string): readonly string[]
  /** BIOS UUIDs to search for this Node's VM by, and those of all machines that must be gone before it is deleted. */
  uuidsOf(name: string): readonly string[]
  /** Whether any Node's {@link NodeIndex.uuidsOf} has this BIOS UUID. */
  isLookedFor(uuid: string): boolean
  /**
   * The number of Nodes that the brake's share is taken of: see `disruptionGroup`. For Nodes that were never verified it is that of
   * all Nodes of vSphere; otherwise a few Nodes left by another provider would be a group that vanishes as a whole.
   */
  inGroup(group: string): number
  /** Nodes that were verified to be VMs of this vCenter (`about.instanceUuid`), or name a VM that was seen there. */
  namesIn(vCenterInstanceUUID: string): Iterable<string>
  /** Nodes that the brake is engaged for, unless they are being deleted or somebody has decided on them. */
  latched(): Iterable<LatchedNode>
  /** Nodes that hold this address or this host name (lower case). */
  addressHolders(address: string): readonly string[]
  /** The addresses and host names that this Node holds. */
  addressesOf(name: string): readonly string[]
}

/** A Node that the brake is engaged for, by its report's status. */
export interface LatchedNode {
  readonly name: string
  /** Its vCenter's name in the configuration. */
  readonly vCenter: string
  /** See `disruptionGroup`. */
  readonly group: string
}

interface Entry {
  readonly node?: Node | undefined
  readonly report?: NodeReport | undefined
}

/** What an entry is found by. */
interface Keys {
  /** BIOS UUIDs to search for its VM by. */
  readonly looked: readonly string[]
  /** BIOS UUIDs of all machines that must be gone before it is deleted. */
  readonly machines: readonly string[]
  /** BIOS UUIDs from the Node object, in both byte orders: the provider ID's and the kubelet's. */
  readonly given: readonly string[]
  readonly uid: readonly string[]
  readonly addresses: readonly string[]
  /** `about.instanceUuid` of the vCenter that has its VM. */
  readonly vCenter: readonly string[]
  /** See `disruptionGroup`. */
  readonly group: readonly string[]
}

const KINDS = ['looked', 'machines', 'given', 'uid', 'addresses', 'vCenter', 'group'] as const
const NONE: Keys = { looked: [], machines: [], given: [], uid: [], addresses: [], vCenter: [], group: [] }

export function createNodeIndex(identity: DecisionConfig['identity']): NodeIndex {
  const entries = new Map<string, Entry>()
  const keys = new Map<string, Keys>()
  const latched = new Map<string, LatchedNode>()
  const maps: { readonly [Kind in keyof Keys]: Multimap } = {
    looked: createMultimap(),
    machines: createMultimap(),
    given: createMultimap(),
    uid: createMultimap(),
    addresses: createMultimap(),
    vCenter: createMultimap(),
    group: createMultimap(),
  }

  function keysOf({ node, report }: Entry): Keys {
    const bound = node === undefined ? undefined : verifiedVM(previousStatus(report, node))
    const looked = machineUUID(node, report, identity).uuids
    // Without a report nobody has looked for the machine yet.
    const known = node === undefined || report === undefined ? undefined : machinesOf(node, report)
    return {
      // Its verified VM is followed, whatever the report says now.
      looked: [...new Set([...looked, ...(bound === undefined ? [] : [bound.biosUUID])])],
      machines: [...new Set(known?.machines.map(({ biosUUID }) => biosUUID))],
      given: node === undefined ? [] : givenUUIDs(node),
      uid: node === undefined ? [] : [node.uid],
      addresses: node === undefined ? [] : addressesOf(node, report),
      vCenter: known === undefined ? [] : [known.machines[0].vCenterInstanceUUID],
      group: known === undefined ? [] : [disruptionGroup(known)],
    }
  }

  function nodesWithMachines(): number {
    let count = 0
    for (const { group } of keys.values()) count += group.length
    return count
  }

  function enter(name: string, entry: Entry): void {
    const before = keys.get(name) ?? NONE
    const held = latchedNode(name, entry)
    if (held === undefined) latched.delete(name)
    else latched.set(name, held)
    const gone = entry.node === undefined && entry.report === undefined
    const now = gone ? NONE : keysOf(entry)
    for (const kind of KINDS) {
      for (const key of before[kind]) if (!now[kind].includes(key)) maps[kind].delete(key, name)
      for (const key of now[kind]) if (!before[kind].includes(key)) maps[kind].add(key, name)
    }
    if (gone) {
      entries.delete(name)
      keys.delete(name)
    } else {
      entries.set(name, entry)
      keys.set(name, now)
    }
  }

  return {
    node: (name, node) => enter(name, { ...entries.get(name), node }),
    report: (name, report) => enter(name, { ...entries.get(name), report }),
    namesByUUID: (uuid) => [...new Set([...maps.given.get(uuid), ...maps.looked.get(uuid)])],
    nodeByUID(uid) {
      const [name] = maps.uid.get(uid)
      const { node, report } = entries.get(name ?? '') ?? {}
      if (name === undefined || node === undefined) return undefined
      const { looked, given } = keys.get(name) ?? NONE
      return { name, boundTo: verifiedVM(previousStatus(report, node)), uuids: [...looked, ...given] }
    },
    givenBy: (name) => keys.get(name)?.given ?? [],
    concernedBy: (uuid) => [
      ...new Set([...maps.given.get(uuid), ...maps.looked.get(uuid), ...maps.machines.get(uuid)]),
    ],
    uuidsOf(name) {
      const { looked, machines } = keys.get(name) ?? NONE
      return [...new Set([...looked, ...machines])]
    },
    isLookedFor: (uuid) => maps.looked.has(uuid) || maps.machines.has(uuid),
    inGroup: (group) => (group === '' ? nodesWithMachines() : maps.group.get(group).size),
    namesIn: (vCenter) => maps.vCenter.get(vCenter),
    latched: () => latched.values(),
    addressHolders: (address) => [...maps.addresses.get(address)],
    addressesOf: (name) => keys.get(name)?.addresses ?? [],
  }
}

function latchedNode(name: string, { node, report }: Entry): LatchedNode | undefined {
  // A Node that is being deleted is not reconciled, and may wait for a finalizer for ever.
  if (node === undefined || node.deleting || isDecided(node)) return undefined
  const nodeMachines = machinesOf(node, report)
  if (nodeMachines === undefined || previousStatus(report, node).brakeEngagedAt === undefined)
    return undefined
  return { name, vCenter: nodeMachines.machines[0].vCenter, group: disruptionGroup(nodeMachines) }
}

/**
 * A Node's name, and the addresses and host name that it was verified with. For a Node that another provider initialised
 * and that is not verified yet, those that the Node shows, as far as a provider would have written them.
 */
function addressesOf(node: Node, report: NodeReport | undefined): readonly string[] {
  const { identityLevel, addresses = [] } = previousStatus(report, node)
  const shown = isUninitialized(node) ? [] : firstOfEachKind(node.addresses)
  const counted = identityLevel === undefined ? shown : addresses
  // A name that looks like an address is not one: the Node of that name need not have it.
  const names = counted.flatMap(({ type, address }) => (type === 'Hostname' ? [address.toLowerCase()] : []))
  const seen = counted.flatMap(({ type, address }) => (type === 'Hostname' ? [] : [address.toLowerCase()]))
  return [...new Set([...[node.name, ...names].filter((name) => !isIPv4(name)), ...seen])]
}

/** A provider writes one of each kind. A kubelet may write any number, and could block a whole subnet for others. */
function firstOfEachKind(addresses: Node['addresses']): Node['addresses'] {
  const kinds = new Map<string, Node['addresses'][number]>()
  for (const each of addresses) {
    const { type, address } = each
    if (!PROVIDED.has(type)) continue
    const kind = `${type} ${type !== 'Hostname' && address.includes(':')}`
    if (!kinds.has(kind)) kinds.set(kind, each)
  }
  return [...kinds.values()]
}

const PROVIDED: ReadonlySet<string> = new Set(['InternalIP', 'ExternalIP', 'Hostname'])

/** BIOS UUIDs by which the Node object points to a VM, in both byte orders, whoever wrote them. */
function givenUUIDs(node: Node): readonly string[] {
  const system = canonicalUUID(node.systemUUID)
  return [...new Set([...providerUUIDs(node), ...(system === undefined ? [] : [system, swapUUID(system)])])]
}
