import type { Lookup } from '../../../types/inventory.ts'
import type { VCenterFailure } from '../../../types/vcenter-failure.ts'

/** Why a vCenter does not say which VMs have a UUID, or not of all of them; undefined where it does, or will in a moment. */
export function failureOf(lookup: Lookup): VCenterFailure | undefined {
  switch (lookup.state) {
    case 'pending':
      return undefined
    case 'unknown':
      return lookup.failure
    case 'answered':
      return lookup.incomplete
  }
}
