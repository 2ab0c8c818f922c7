import type { IndexChange, NodeIndex } from '../loops/node/gather/node-index.ts'
import type { RunningLoop } from '../loops/table.ts'
import type { Inventory } from '../types/inventory.ts'
import type { Node, NodeReport } from '../types/node.ts'

/**
 * Event handlers: each enqueues the Nodes that a change in the cluster concerns, and decides nothing else. Nodes that point to
 * the same VM concern each other.
 */
export function createEventHandlers(options: {
  readonly index: NodeIndex
  readonly queue: Pick<RunningLoop, 'add'>
  readonly inventories: readonly Pick<Inventory, 'follow' | 'unfollow'>[]
}) {
  const { index, queue, inventories } = options
  /** Updates what the inventories follow, and enqueues the Nodes that the change of this one concerns. */
  function handle(name: string, { added, unused, concerned }: IndexChange): void {
    for (const inventory of inventories) {
      for (const uuid of added) inventory.follow(uuid)
      for (const uuid of unused) inventory.unfollow(uuid)
    }
    for (const each of concerned) queue.add(each, each === name ? 'itself' : undefined)
  }

  return {
    onNode(name: string, current: Node | undefined): void {
      handle(name, index.node(name, current))
      queue.add(name, 'itself')
    },
    onReport(name: string, current: NodeReport | undefined): void {
      handle(name, index.report(name, current))
      queue.add(name, 'itself')
    },
    /** A report's status is another by decision, before the API server has it: the Node itself need not be looked at. */
    onStatus: (name: string, current: NodeReport | undefined): void =>
      handle(name, index.report(name, current)),
  }
}

/** The same for a vCenter: takes the BIOS UUIDs whose VMs changed there. */
export function createInventoryHandler(
  index: Pick<NodeIndex, 'concernedBy'>,
  queue: Pick<RunningLoop, 'add'>,
): (uuids: Iterable<string>) => void {
  return (uuids) => {
    for (const uuid of uuids) for (const name of index.concernedBy(uuid)) queue.add(name)
  }
}
