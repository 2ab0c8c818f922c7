import { canonicalUUID, swapUUID } from '../decide/uuid.ts'
import { PROVIDER_SCHEME } from '../decide/well-known.ts'
import type { Node, NodeReport } from '../facts/node.ts'

/** Which Nodes point to which BIOS UUID, and which Node has which UID: kept current from the two watches. */
export interface NodeIndex {
  node(current: Node | undefined, previous: Node | undefined): void
  report(current: NodeReport | undefined, previous: NodeReport | undefined): void
  /** Names of the Nodes and reports that point to this BIOS UUID, by report or by provider ID. */
  namesByUUID(uuid: string): readonly string[]
  nameByUID(uid: string): string | undefined
  /** Whether any report names this BIOS UUID. */
  isReported(uuid: string): boolean
  /** The BIOS UUID that the report of this name gives. */
  uuidOf(name: string): string | undefined
}

export function createNodeIndex(): NodeIndex {
  const byProviderID = createMultimap()
  const bySerial = createMultimap()
  const byUID = new Map<string, string>()
  const reported = new Map<string, string>()
  return {
    node(current, previous) {
      move(byProviderID, providerUUID(previous), providerUUID(current), current?.name ?? previous?.name)
      if (previous !== undefined && previous.uid !== current?.uid) byUID.delete(previous.uid)
      if (current !== undefined) byUID.set(current.uid, current.name)
    },
    report(current, previous) {
      const name = current?.name ?? previous?.name
      const uuid = reportedUUID(current)
      move(bySerial, reportedUUID(previous), uuid, name)
      if (name === undefined) return
      if (uuid === undefined) reported.delete(name)
      else reported.set(name, uuid)
    },
    namesByUUID: (uuid) => [
      // The in-tree provider wrote the swapped order.
      ...new Set([...byProviderID.get(uuid), ...byProviderID.get(swapUUID(uuid)), ...bySerial.get(uuid)]),
    ],
    nameByUID: (uid) => byUID.get(uid),
    isReported: (uuid) => bySerial.has(uuid),
    uuidOf: (name) => reported.get(name),
  }
}

/** The BIOS UUID that a report names, canonical. */
export function reportedUUID(report: NodeReport | undefined): string | undefined {
  return report?.spec.ok === true ? report.spec.spec.machine.serialUUID : undefined
}

/** The UUID in a Node's provider ID, canonical; undefined for another provider's. */
export function providerUUID(node: Node | undefined): string | undefined {
  if (node?.providerID?.startsWith(PROVIDER_SCHEME) !== true) return undefined
  return canonicalUUID(node.providerID.slice(PROVIDER_SCHEME.length))
}

interface Multimap {
  add(key: string, value: string): void
  delete(key: string, value: string): void
  get(key: string): Iterable<string>
  has(key: string): boolean
}

function createMultimap(): Multimap {
  const sets = new Map<string, Set<string>>()
  return {
    add(key, value) {
      const set = sets.get(key)
      if (set === undefined) sets.set(key, new Set([value]))
      else set.add(value)
    },
    delete(key, value) {
      const set = sets.get(key)
      set?.delete(value)
      if (set?.size === 0) sets.delete(key)
    },
    get: (key) => sets.get(key) ?? [],
    has: (key) => sets.has(key),
  }
}

function move(
  map: Multimap,
  from: string | undefined,
  to: string | undefined,
  name: string | undefined,
): void {
  if (name === undefined || from === to) return
  if (from !== undefined) map.delete(from, name)
  if (to !== undefined) map.add(to, name)
}
