import type { BoundVM } from '../../../../agent/shared/node-report.ts'
import type { DecisionConfig } from '../../../config/config.ts'
import { createMultimap } from '../../../lib/multimap.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import type { LatchedNode } from '../decide/lifecycle/brake.ts'
import type { ClaimedNode } from '../decide/node-facts.ts'
import { knownNode } from '../facts/machines.ts'
import {
  isSame,
  KEY_KINDS,
  keysOf,
  latchedNode,
  listOf,
  NO_KEYS,
  type NodeEntry,
  type NodeKeys,
} from './node-keys.ts'

/** What a change of a Node or of its report means for the others. */
export interface IndexChange {
  /** BIOS UUIDs by which this Node did not point to a machine before. */
  readonly added: readonly string[]
  /** BIOS UUIDs by which no Node points to a machine any more. */
  readonly unused: readonly string[]
  /**
   * Names of the Nodes that point to a machine by a UUID that this change is about, or hold an address that this Node did not
   * hold before, or was not verified with; this Node may be among them.
   */
  readonly concerned: ReadonlySet<string>
}

/** Indexes Nodes by BIOS UUID, UID and address, kept up to date from the two watches. */
export interface NodeIndex {
  /** Takes the Node of this name as it is now; undefined where it is gone. */
  node(name: string, current: Node | undefined): IndexChange
  /** The same for the report of this name. */
  report(name: string, current: NodeReport | undefined): IndexChange
  /** Names of the Nodes and reports that point to this BIOS UUID: because it is searched for, or by provider ID. */
  namesByUUID(uuid: string): readonly string[]
  /** The same, and the Nodes that must stay while a machine with this UUID exists. */
  concernedBy(uuid: string): readonly string[]
  nodeByUID(uid: string): ClaimedNode | undefined
  /** BIOS UUIDs to search for this Node's VM by, and those of all machines that must be gone before it is deleted. */
  uuidsOf(name: string): readonly string[]
  /**
   * The number of Nodes that the brake's share is taken of: see `brakeGroup`. For Nodes that were never verified it is that of
   * all Nodes of vSphere; otherwise a few Nodes left by another provider would be a group that vanishes as a whole.
   */
  inGroup(group: string): number
  /** The Nodes of a group: see `brakeGroup`. */
  namesInGroup(group: string): Iterable<string>
  /**
   * Nodes that were verified to be VMs of this vCenter (`about.instanceUuid`), or name a VM that was seen there; of the empty
   * text, those whose machine no vCenter has shown.
   */
  namesIn(vCenterInstanceUUID: string): Iterable<string>
  /** All Nodes that {@link NodeIndex.namesIn} knows, of any vCenter and of none. */
  names(): Iterable<string>
  /** Nodes that the brake is engaged for, unless they are being deleted or somebody has decided on them. */
  latched(): Iterable<LatchedNode>
  /** Nodes that hold this address or this host name (lower case). */
  addressHolders(address: string): readonly string[]
  /** The addresses and host names that this Node holds. */
  addressesOf(name: string): readonly string[]
}

export function createNodeIndex(identity: DecisionConfig['identity']): NodeIndex {
  const entries = new Map<string, NodeEntry & { readonly boundTo: BoundVM | undefined }>()
  const keys = new Map<string, NodeKeys>()
  const latched = new Map<string, LatchedNode>()
  const maps: { readonly [Kind in keyof NodeKeys]: ReturnType<typeof createMultimap> } = {
    looked: createMultimap(),
    machines: createMultimap(),
    given: createMultimap(),
    addresses: createMultimap(),
    uid: createMultimap(),
    vCenter: createMultimap(),
    group: createMultimap(),
  }

  function nodesWithMachines(): number {
    let count = 0
    for (const { group } of keys.values()) if (group !== undefined) count += 1
    return count
  }

  function concernedBy(uuids: Iterable<string>): Set<string> {
    const names = new Set<string>()
    for (const uuid of uuids)
      for (const { get } of [maps.given, maps.looked, maps.machines])
        for (const name of get(uuid)) names.add(name)
    return names
  }

  function enter(name: string, { node, report }: NodeEntry): IndexChange {
    const before = keys.get(name) ?? NO_KEYS
    const { node: nodeBefore, boundTo: boundBefore } = entries.get(name) ?? {}
    const known = node && knownNode(node, report, identity)
    const entry = { node, report, boundTo: known?.boundTo }
    const held = latchedNode(name, entry, known)
    if (held === undefined) latched.delete(name)
    else latched.set(name, held)
    const gone = node === undefined && report === undefined
    const found = gone ? NO_KEYS : keysOf(entry, known, identity)
    const hasSameKeys = KEY_KINDS.every((kind) => isSame(listOf(found[kind]), listOf(before[kind])))
    // The maps below keep the texts that they were given first.
    const now = hasSameKeys ? before : found
    if (gone) {
      entries.delete(name)
      keys.delete(name)
    } else {
      entries.set(name, entry)
      keys.set(name, now)
    }
    const isVerified = boundBefore === undefined && known?.boundTo !== undefined
    const isSameNode = node?.uid === nodeBefore?.uid && !isVerified
    if (isSameNode && hasSameKeys) return NO_CHANGE
    for (const kind of KEY_KINDS) {
      const [keysNow, keysBefore] = [listOf(now[kind]), listOf(before[kind])]
      for (const key of keysBefore) if (!keysNow.includes(key)) maps[kind].delete(key, name)
      for (const key of keysNow) if (!keysBefore.includes(key)) maps[kind].add(key, name)
    }
    const [looked, lookedBefore] = [lookedFor(now), lookedFor(before)]
    const added = looked.filter((uuid) => !lookedBefore.includes(uuid))
    const removed = lookedBefore.filter((uuid) => !looked.includes(uuid))
    // Another Node of this name, or one that names another machine: all that point to the same machines are judged anew.
    // One that is verified by now holds its addresses in earnest, also those that it has shown before.
    const arrived = now.addresses.filter((address) => isVerified || !before.addresses.includes(address))
    const another = node?.uid !== nodeBefore?.uid || !isSame(now.given, before.given)
    const concerned = concernedBy([
      ...added,
      ...removed,
      ...(another ? [...looked, ...before.given, ...now.given] : []),
    ])
    // Two Nodes that hold one address are judged again, whichever came first.
    for (const address of arrived)
      for (const other of maps.addresses.get(address)) if (other !== name) concerned.add(other)
    return {
      added,
      unused: removed.filter((uuid) => !maps.looked.has(uuid) && !maps.machines.has(uuid)),
      concerned,
    }
  }

  return {
    node: (name, node) => enter(name, { ...entries.get(name), node }),
    report: (name, report) => enter(name, { ...entries.get(name), report }),
    namesByUUID: (uuid) => [...new Set([...maps.given.get(uuid), ...maps.looked.get(uuid)])],
    nodeByUID(uid) {
      const [name] = maps.uid.get(uid)
      const { node, boundTo } = entries.get(name ?? '') ?? {}
      if (name === undefined || node === undefined) return undefined
      const { looked, given } = keys.get(name) ?? NO_KEYS
      return { name, boundTo, uuids: [...looked, ...given] }
    },
    concernedBy: (uuid) => [...concernedBy([uuid])],
    uuidsOf: (name) => lookedFor(keys.get(name) ?? NO_KEYS),
    inGroup: (group) => (group === '' ? nodesWithMachines() : maps.group.count(group)),
    namesInGroup: (group) => maps.group.get(group),
    namesIn: (vCenter) => maps.vCenter.get(vCenter),
    names: () => [...keys].flatMap(([name, { vCenter }]) => (vCenter === undefined ? [] : [name])),
    latched: () => latched.values(),
    addressHolders: (address) => [...maps.addresses.get(address)],
    addressesOf: (name) => keys.get(name)?.addresses ?? [],
  }
}

const NO_CHANGE: IndexChange = { added: [], unused: [], concerned: new Set() }

/** BIOS UUIDs by which the inventories follow a Node's machines. */
function lookedFor({ looked, machines }: NodeKeys): readonly string[] {
  return [...new Set([...looked, ...machines])]
}
