import { createReverseIndex } from './multimap.ts'

/**
 * Which Nodes wait for an address that another Node holds. In memory only: a new leader reconciles every Node anyway.
 *
 * Wakes only when an address is given up: two Nodes that want each other's addresses would otherwise never rest.
 */
export function createAddressWaits(wake: (name: string) => void) {
  const waiting = createReverseIndex()
  const held = new Map<string, readonly string[]>()

  return {
    /** Sets which Nodes hold an address that this one wants. */
    waits: (name: string, holders: readonly string[]): void => waiting.set(name, holders),
    /** Whether another Node waits for an address of this one. */
    isAwaited: (name: string): boolean => waiting.has(name),
    /** Sets the addresses that a Node holds. If it gave one up, the Nodes that wait for it are woken. */
    holds(name: string, addresses: readonly string[]): void {
      const before = held.get(name)
      if (addresses.length === 0) held.delete(name)
      else held.set(name, addresses)
      // A Node that was not reconciled before may have held anything.
      if (before?.every((address) => addresses.includes(address))) return
      for (const waiter of waiting.get(name)) wake(waiter)
    },
  }
}
