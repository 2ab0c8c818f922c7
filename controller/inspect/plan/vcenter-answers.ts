import type { Lookup } from '../../types/inventory.ts'
import type { RunningInventory } from '../../vcenter/running-inventory.ts'

/** Most Nodes that are named in one line. */
const MAX_NAMES = 5

/** Whether the vCenter has answered for all of these Nodes, or has said why it cannot. */
export function isSettled(
  inventory: RunningInventory,
  names: Iterable<string>,
  uuidsOf: (name: string) => readonly string[],
): boolean {
  if (inventory.failure() !== undefined) return true
  if (!inventory.connected()) return false
  for (const name of names) if (uuidsOf(name).some((uuid) => isOpen(inventory.lookup(uuid)))) return false
  return true
}

/** Whether the VMs, or what stands above them, are still to be read. */
function isOpen(lookup: Lookup): boolean {
  if (lookup.state === 'answered') return lookup.vms.some(({ ancestry }) => ancestry === undefined)
  return lookup.state === 'pending'
}

/** Why a vCenter has not answered for all of these Nodes; nothing where it has. */
export function silenceOf(
  inventory: RunningInventory,
  names: readonly string[],
  uuidsOf: (name: string) => readonly string[],
): readonly string[] {
  const failure = inventory.failure()
  if (failure !== undefined) return [`vCenter ${inventory.vCenter}: ${failure.reason}: ${failure.message}`]
  if (!inventory.connected()) return [`vCenter ${inventory.vCenter} did not answer in time`]
  const left = names.filter((name) =>
    uuidsOf(name)
      .map((uuid) => inventory.lookup(uuid))
      .some((lookup) => lookup.state === 'unknown' || isOpen(lookup)),
  )
  const some = left.slice(0, MAX_NAMES).join(', ')
  return left.length === 0
    ? []
    : [`vCenter ${inventory.vCenter} did not answer in time for ${left.length} Nodes, such as ${some}`]
}
