import { createMultimap } from './multimap.ts'

/** Which Nodes wait for an address that another one holds. In memory alone: a new leader looks at every Node anyway. */
export interface AddressWaits {
  /** Takes, instead of what was said before, which Nodes hold an address that this one wants. */
  waits(name: string, holders: readonly string[]): void
  /** Takes the addresses that a Node holds against others now. Who waits for it is woken where one is given up. */
  holds(name: string, addresses: readonly string[]): void
}

/** Only a loss wakes: two Nodes that want each other's addresses would wake each other without end. */
export function createAddressWaits(wake: (name: string) => void): AddressWaits {
  const holdersOf = new Map<string, readonly string[]>()
  const waiting = createMultimap()
  const held = new Map<string, readonly string[]>()

  return {
    waits(name, holders) {
      for (const holder of holdersOf.get(name) ?? []) waiting.delete(holder, name)
      for (const holder of holders) waiting.add(holder, name)
      if (holders.length === 0) holdersOf.delete(name)
      else holdersOf.set(name, holders)
    },
    holds(name, addresses) {
      const before = held.get(name)
      if (addresses.length === 0) held.delete(name)
      else held.set(name, addresses)
      // One that was not looked at before may have held anything.
      if (before?.every((address) => addresses.includes(address))) return
      for (const waiter of waiting.get(name)) wake(waiter)
    },
  }
}
