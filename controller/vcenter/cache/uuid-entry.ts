/** What is known of one followed UUID. No I/O. */
import type { VCenterError } from '../wire/errors.ts'
import { ExpectedVMs } from './expected-vms.ts'
import type { Incomplete } from './vm-answer.ts'

export interface UUIDEntry {
  /** VMs that have the UUID, or had it when last seen. */
  vms: readonly string[]
  state: 'pending' | 'answered' | { readonly error: VCenterError }
  /** Why there are more than these. */
  incomplete?: Incomplete | undefined
  readonly expected: ExpectedVMs
  /** Until when vCenter was known to show these VMs; undefined while it is. */
  shownUntil?: number | undefined
  /** How the last VM was lost; undefined where none was seen. */
  lost?: {
    /** The number of the last read of all VMs that had begun by then. */
    readonly read: number
    readonly shownUntil: number
  }
}

export function newEntry(): UUIDEntry {
  return { vms: [], state: 'pending', expected: new ExpectedVMs() }
}
