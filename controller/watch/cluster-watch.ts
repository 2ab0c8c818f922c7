import type { Node, NodeReport } from '../facts/node.ts'
import type { Inventory } from '../facts/vcenter-view.ts'
import { type NodeIndex, reportedUUID } from '../gather/node-index.ts'
import type { Queue } from './queue.ts'

export interface ClusterWatchOptions {
  readonly index: NodeIndex
  readonly queue: Pick<Queue, 'add'>
  readonly inventories: readonly Pick<Inventory, 'follow' | 'unfollow'>[]
}

/** Turns what changed, in the cluster or in a vCenter, into names of Nodes to look at. */
export interface ClusterWatch {
  onNode(name: string, current: Node | undefined, previous: Node | undefined): void
  onReport(name: string, current: NodeReport | undefined, previous: NodeReport | undefined): void
  /** BIOS UUIDs whose VMs changed. */
  onInventory(uuids: Iterable<string>): void
}

/**
 * Which Node a change concerns is all that is decided here; what to make of it is not. Nodes that point to one VM
 * concern each other.
 */
export function createClusterWatch({ index, queue, inventories }: ClusterWatchOptions): ClusterWatch {
  function addAllOf(uuid: string | undefined): void {
    if (uuid === undefined) return
    for (const name of index.namesByUUID(uuid)) queue.add(name)
  }
  return {
    onNode(name, current, previous) {
      index.node(current, previous)
      queue.add(name)
      if (current?.uid === previous?.uid && current?.providerID === previous?.providerID) return
      addAllOf(index.uuidOf(name))
    },
    onReport(name, current, previous) {
      const before = reportedUUID(previous)
      const now = reportedUUID(current)
      index.report(current, previous)
      queue.add(name)
      if (before === now) return
      for (const inventory of inventories) {
        if (now !== undefined) inventory.follow(now)
        if (before !== undefined && !index.isReported(before)) inventory.unfollow(before)
      }
      addAllOf(before)
      addAllOf(now)
    },
    onInventory(uuids) {
      for (const uuid of uuids) addAllOf(uuid)
    },
  }
}
