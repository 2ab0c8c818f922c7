import type { DecisionConfig } from '../config/config.ts'
import type { ClaimedNode } from '../decide/node-facts.ts'
import { previousStatus, verifiedVM } from '../node/previous-status.ts'
import type { Node, NodeReport } from '../types/node.ts'
import { createMultimap, type Multimap } from './multimap.ts'
import {
  KEY_KINDS,
  keysOf,
  type LatchedNode,
  latchedNode,
  NO_KEYS,
  type NodeEntry,
  type NodeKeys,
} from './node-keys.ts'

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
  /** The Nodes of a group: see `disruptionGroup`. */
  namesInGroup(group: string): Iterable<string>
  /**
   * Nodes that were verified to be VMs of this vCenter (`about.instanceUuid`), or name a VM that was seen there; of the empty
   * text, those whose machine no vCenter has shown.
   */
  namesIn(vCenterInstanceUUID: string): Iterable<string>
  /** Nodes that the brake is engaged for, unless they are being deleted or somebody has decided on them. */
  latched(): Iterable<LatchedNode>
  /** Nodes that hold this address or this host name (lower case). */
  addressHolders(address: string): readonly string[]
  /** The addresses and host names that this Node holds. */
  addressesOf(name: string): readonly string[]
}

export function createNodeIndex(identity: DecisionConfig['identity']): NodeIndex {
  const entries = new Map<string, NodeEntry>()
  const keys = new Map<string, NodeKeys>()
  const latched = new Map<string, LatchedNode>()
  const maps: { readonly [Kind in keyof NodeKeys]: Multimap } = {
    looked: createMultimap(),
    machines: createMultimap(),
    given: createMultimap(),
    uid: createMultimap(),
    addresses: createMultimap(),
    vCenter: createMultimap(),
    group: createMultimap(),
  }

  function nodesWithMachines(): number {
    let count = 0
    for (const { group } of keys.values()) count += group.length
    return count
  }

  function enter(name: string, entry: NodeEntry): void {
    const before = keys.get(name) ?? NO_KEYS
    const held = latchedNode(name, entry)
    if (held === undefined) latched.delete(name)
    else latched.set(name, held)
    const gone = entry.node === undefined && entry.report === undefined
    const now = gone ? NO_KEYS : keysOf(entry, identity)
    for (const kind of KEY_KINDS) {
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
      const { looked, given } = keys.get(name) ?? NO_KEYS
      return { name, boundTo: verifiedVM(previousStatus(report, node)), uuids: [...looked, ...given] }
    },
    givenBy: (name) => keys.get(name)?.given ?? [],
    concernedBy: (uuid) => [
      ...new Set([...maps.given.get(uuid), ...maps.looked.get(uuid), ...maps.machines.get(uuid)]),
    ],
    uuidsOf(name) {
      const { looked, machines } = keys.get(name) ?? NO_KEYS
      return [...new Set([...looked, ...machines])]
    },
    isLookedFor: (uuid) => maps.looked.has(uuid) || maps.machines.has(uuid),
    inGroup: (group) => (group === '' ? nodesWithMachines() : maps.group.get(group).size),
    namesInGroup: (group) => maps.group.get(group),
    namesIn: (vCenter) => maps.vCenter.get(vCenter),
    latched: () => latched.values(),
    addressHolders: (address) => [...maps.addresses.get(address)],
    addressesOf: (name) => keys.get(name)?.addresses ?? [],
  }
}
