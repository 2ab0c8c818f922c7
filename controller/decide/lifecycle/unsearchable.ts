import type { BoundVM } from '../../../agent/contract.ts'
import type { SeenVM } from '../../types/vcenter-probe.ts'
import { type ConditionValue, unknown } from '../condition.ts'
import { describeBound } from '../describe-vm.ts'

/** The condition for a VM that exists although a search by its known UUID does not find it. */
export function existsUnseen(bound: BoundVM, seen: SeenVM): ConditionValue {
  const name = describeBound(bound)
  if (seen.biosUUID !== undefined && seen.biosUUID !== bound.biosUUID) {
    return unknown(
      'BIOSUUIDChanged',
      `the BIOS UUID of ${name} is ${seen.biosUUID} now and was ${bound.biosUUID}; the Node is kept, and its provider ID names the old one: set uuid.bios back, or delete the Node and let it register anew; if vCenter was restored, another VM may have its reference`,
    )
  }
  if (seen.moref !== bound.moref) {
    return unknown(
      'UUIDOfAnotherVM',
      `${name} is not found, but VM "${seen.name}" (${seen.moref}) has its UUID, and the Node is kept; give a copy a UUID of its own, or delete the Node if its machine is gone`,
    )
  }
  return unknown(
    'VMNotSearchable',
    `${name} is there (${seen.connectionState}), but no search finds it by its UUID, and the Node is kept; bring its host and datastore back`,
  )
}
