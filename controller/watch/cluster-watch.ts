import type { Node, NodeReport } from '../facts/node.ts'
import type { Inventory } from '../facts/vcenter-view.ts'
import type { NodeIndex } from '../gather/node-index.ts'
import type { Queue } from './queue.ts'

export interface ClusterWatchOptions {
  readonly index: NodeIndex
  readonly queue: Pick<Queue, 'add'>
  readonly inventories: readonly Pick<Inventory, 'follow' | 'unfollow'>[]
}

/** Turns what changed, in the cluster or in a vCenter, into names of Nodes to look at. */
export interface ClusterWatch {
  onNode(name: string, current: Node | undefined, previous: Node | undefined): void
  onReport(name: string, current: NodeReport | undefined): void
  /** BIOS UUIDs whose VMs changed. */
  onInventory(uuids: Iterable<string>): void
}

/**
 * Which Node a change concerns is all that is decided here; what to make of it is not. Nodes that point to one VM
 * concern each other.
 */
export function createClusterWatch({ index, queue, inventories }: ClusterWatchOptions): ClusterWatch {
  function addAllOf(uuids: Iterable<string>): void {
    for (const uuid of uuids) for (const name of index.concernedBy(uuid)) queue.add(name)
  }

  /** Brings the index up to date, follows what is looked for now, and returns the UUIDs that came or went. */
  function enter(name: string, update: () => void): readonly string[] {
    const before = index.uuidsOf(name)
    update()
    const now = index.uuidsOf(name)
    const came = now.filter((uuid) => !before.includes(uuid))
    const went = before.filter((uuid) => !now.includes(uuid))
    for (const inventory of inventories) {
      for (const uuid of came) inventory.follow(uuid)
      for (const uuid of went) if (!index.isLookedFor(uuid)) inventory.unfollow(uuid)
    }
    return [...came, ...went]
  }

  return {
    onNode(name, current, previous) {
      const given = index.givenBy(name)
      const changed = enter(name, () => index.node(name, current))
      queue.add(name)
      addAllOf(changed)
      if (current?.uid === previous?.uid && String(index.givenBy(name)) === String(given)) return
      addAllOf([...index.uuidsOf(name), ...given, ...index.givenBy(name)])
    },
    onReport(name, current) {
      const changed = enter(name, () => index.report(name, current))
      queue.add(name)
      addAllOf(changed)
    },
    onInventory: addAllOf,
  }
}
