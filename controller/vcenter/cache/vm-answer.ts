/** What the cache is told, and what it tells. */
import type { Lookup } from '../../types/inventory.ts'
import type { VCenterFailure } from '../../types/vcenter-failure.ts'
import type { VMProperties } from '../properties/resync-properties.ts'
import type { VCenterError } from '../wire/errors.ts'

/** Why not all VMs with a UUID are known. */
export type Incomplete = Pick<VCenterFailure, 'reason' | 'message'>

/** The VMs with a UUID; see {@link Lookup}. */
export interface VMAnswer {
  readonly vms: readonly VMProperties[]
  readonly incomplete?: Incomplete
}

export type LookupResult =
  | Extract<Lookup, { readonly state: 'pending' }>
  | (Omit<Extract<Lookup, { readonly state: 'answered' }>, 'incomplete'> & {
      readonly incomplete?: Incomplete
    })
  | { readonly state: 'failed'; readonly error: VCenterError }

/** What an update has changed. */
export interface Changes {
  /** VMs that have changed or are no longer shown. */
  readonly vms: readonly string[]
  /** UUIDs to be searched for again. */
  readonly doubted: readonly string[]
}
