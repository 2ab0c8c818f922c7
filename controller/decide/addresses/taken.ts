import type { NodeAddress } from '../../../agent/shared/node-report.ts'
import type { CandidateAddress } from './candidate-addresses.ts'

/** An address that is another Node's. */
export type Taken = CandidateAddress & { readonly holder: string }

export interface AddressHolders {
  /** The addresses that this Node was verified with before. */
  readonly before: readonly NodeAddress[]
  /** Another Node that holds this address or this host name (lower case). */
  readonly holder: (address: string) => string | undefined
}

/**
 * A report cannot take an address from the Node that was verified with it: traffic for one node, above all the API
 * server's to its kubelet, would reach another. The Node that had the address first keeps it.
 */
export function sortOut(
  candidates: readonly CandidateAddress[],
  { before, holder }: AddressHolders,
): { free: CandidateAddress[]; taken: Taken[] } {
  const free: CandidateAddress[] = []
  const taken: Taken[] = []
  for (const candidate of candidates) {
    const { address } = candidate
    const other = before.some((own) => own.address === address) ? undefined : holder(address)
    if (other === undefined) free.push(candidate)
    else taken.push({ ...candidate, holder: other })
  }
  return { free, taken }
}
