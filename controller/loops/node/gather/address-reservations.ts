import { createMultimap } from './multimap.ts'

/**
 * Addresses that a Node was decided to have and that the index does not show yet, for its status is still to be written.
 * Otherwise two Nodes that are decided on meanwhile could get one address.
 */
export interface AddressReservations {
  /** Takes the place of what was reserved for this Node. */
  set(name: string, addresses: readonly string[]): void
  holders(address: string): Iterable<string>
}

export function createAddressReservations(): AddressReservations {
  const reserved = new Map<string, readonly string[]>()
  const names = createMultimap()
  return {
    set(name, addresses) {
      for (const address of reserved.get(name) ?? []) names.delete(address, name)
      for (const address of addresses) names.add(address, name)
      if (addresses.length === 0) reserved.delete(name)
      else reserved.set(name, addresses)
    },
    holders: names.get,
  }
}
