import type { NodeIndex } from '../gather/node-index.ts'
import type { Inventory } from '../types/inventory.ts'
import type { Node, NodeReport } from '../types/node.ts'
import type { WorkQueue } from './work-queue.ts'

export interface EventHandlersOptions {
  readonly index: NodeIndex
  readonly queue: Pick<WorkQueue, 'add'>
  readonly inventories: readonly Pick<Inventory, 'follow' | 'unfollow'>[]
}

/** Event handlers: each enqueues the Nodes that a change in the cluster concerns. */
export interface EventHandlers {
  onNode(name: string, current: Node | undefined, previous: Node | undefined): void
  onReport(name: string, current: NodeReport | undefined): void
  /** A report's status is another by decision, before the API server has it: the Node itself need not be looked at. */
  onStatus(name: string, current: NodeReport | undefined): void
}

/**
 * Decides only which Nodes a change concerns, not what follows from it. Nodes that point to the same VM concern each
 * other.
 */
export function createEventHandlers({ index, queue, inventories }: EventHandlersOptions): EventHandlers {
  const addAllOf = createInventoryHandler({ index, queue })

  /** Updates the index and what the inventories follow, and returns the UUIDs that were added or removed. */
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
    onStatus(name, current) {
      addAllOf(enter(name, () => index.report(name, current)))
    },
  }
}

/** The same for a vCenter: takes the BIOS UUIDs whose VMs changed there. */
export function createInventoryHandler({
  index,
  queue,
}: Pick<EventHandlersOptions, 'index' | 'queue'>): (uuids: Iterable<string>) => void {
  return (uuids) => {
    for (const uuid of uuids) for (const name of index.concernedBy(uuid)) queue.add(name)
  }
}
