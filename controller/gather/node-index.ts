import type { BoundVM, IdentityLevel } from '../../agent/contract.ts'
import { standingStatus } from '../decide/binding.ts'
import type { ClaimedNode, Settings } from '../decide/facts.ts'
import { machineUUID } from '../decide/machine-uuid.ts'
import { canonicalUUID, swapUUID } from '../decide/uuid.ts'
import { PROVIDER_SCHEME } from '../decide/well-known.ts'
import type { Node, NodeReport } from '../facts/node.ts'
import { createMultimap, type Multimap } from './multimap.ts'

/** Which Nodes point to which BIOS UUID, UID and address: kept current from the two watches. */
export interface NodeIndex {
  node(name: string, current: Node | undefined): void
  report(name: string, current: NodeReport | undefined): void
  /** Names of the Nodes and reports that point to this BIOS UUID: by what their VM is looked for, or by provider ID. */
  namesByUUID(uuid: string): readonly string[]
  nodeByUID(uid: string): ClaimedNode | undefined
  /** The BIOS UUIDs by which the VM of this Node is looked for. */
  uuidsOf(name: string): readonly string[]
  /** Whether any Node's VM is looked for by this BIOS UUID. */
  isLookedFor(uuid: string): boolean
  /** Another Node that was verified with this address. */
  addressHolder(address: string, except: string): string | undefined
}

interface Entry {
  readonly node?: Node | undefined
  readonly report?: NodeReport | undefined
}

/** What an entry is found by. */
interface Keys {
  readonly looked: readonly string[]
  readonly provider: readonly string[]
  readonly uid: readonly string[]
  readonly addresses: readonly string[]
}

const NONE: Keys = { looked: [], provider: [], uid: [], addresses: [] }

export function createNodeIndex(identity: Settings['identity']): NodeIndex {
  const entries = new Map<string, Entry>()
  const keys = new Map<string, Keys>()
  const maps: { readonly [Kind in keyof Keys]: Multimap } = {
    looked: createMultimap(),
    provider: createMultimap(),
    uid: createMultimap(),
    addresses: createMultimap(),
  }

  function keysOf({ node, report }: Entry): Keys {
    const provider = providerUUID(node)
    const { level, addresses } = verified({ node, report })
    return {
      looked: machineUUID(node, report, identity).uuids,
      provider: provider === undefined ? [] : [provider],
      uid: node === undefined ? [] : [node.uid],
      addresses: level === undefined ? [] : addresses,
    }
  }

  function enter(name: string, entry: Entry): void {
    const before = keys.get(name) ?? NONE
    const gone = entry.node === undefined && entry.report === undefined
    const now = gone ? NONE : keysOf(entry)
    for (const kind of ['looked', 'provider', 'uid', 'addresses'] as const) {
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
    namesByUUID: (uuid) => [
      // The in-tree provider wrote the swapped order.
      ...new Set([
        ...maps.provider.get(uuid),
        ...maps.provider.get(swapUUID(uuid)),
        ...maps.looked.get(uuid),
      ]),
    ],
    nodeByUID(uid) {
      const [name] = maps.uid.get(uid)
      if (name === undefined) return undefined
      return { name, boundTo: verified(entries.get(name) ?? {}).boundTo }
    },
    uuidsOf: (name) => keys.get(name)?.looked ?? [],
    isLookedFor: (uuid) => maps.looked.has(uuid),
    addressHolder(address, except) {
      for (const name of maps.addresses.get(address)) if (name !== except) return name
      return undefined
    },
  }
}

interface VerifiedParts {
  readonly boundTo: BoundVM | undefined
  readonly level: IdentityLevel | undefined
  readonly addresses: readonly string[]
}

/** What was found out about a Node that is there. */
function verified({ node, report }: Entry): VerifiedParts {
  const { vm, identityLevel, addresses = [] } = node === undefined ? {} : standingStatus(report, node)
  const ips = addresses.filter(({ type }) => type !== 'Hostname').map(({ address }) => address)
  return { boundTo: vm, level: identityLevel, addresses: [...new Set(ips)] }
}

/** The UUID in a Node's provider ID, canonical; undefined for another provider's. */
export function providerUUID(node: Node | undefined): string | undefined {
  if (node?.providerID?.startsWith(PROVIDER_SCHEME) !== true) return undefined
  return canonicalUUID(node.providerID.slice(PROVIDER_SCHEME.length))
}
