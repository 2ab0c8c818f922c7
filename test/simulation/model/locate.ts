/** What one search and one read of vCenter say about the wanted UUIDs, by the rules of `vcenter/sync-vms.ts`. */

import type { Table } from '../../../controller/vcenter/cache/table.ts'
import type { VMProperties as Row } from '../../../controller/vcenter/cache/vm-properties.ts'
import { SoapFault, VCenterError } from '../../../controller/vcenter/wire/errors.ts'
import type { VM } from './machine.ts'
import type { VCenterModel } from './vcenter.ts'
import { readRow } from './views.ts'

/** The answers for these UUIDs. VMs that had one before are also read by moref, whatever the search finds. */
export function locate(
  vCenter: VCenterModel,
  table: Table,
  uuids: readonly string[],
): ReadonlyMap<string, readonly Row[] | VCenterError> {
  return new Map(uuids.map((uuid) => [uuid, locateOne(vCenter, table, uuid)]))
}

function locateOne(vCenter: VCenterModel, table: Table, uuid: string): readonly Row[] | VCenterError {
  const known = new Set(table.vmsOf(uuid))
  const morefs = new Set([...known, ...vCenter.search(uuid, 'bios').map(({ moref }) => moref)])
  const rows: Row[] = []
  for (const moref of morefs) {
    const read = readVM(vCenter, moref)
    if (read instanceof VCenterError) return read
    if (read === undefined) continue
    const row = readRow(read, table.machine(moref))
    if (row.biosUUID === uuid || (row.biosUUID === undefined && known.has(moref))) rows.push(row)
  }
  return rows
}

/** Undefined for a VM that is gone; an error for one that may not be read. */
function readVM(vCenter: VCenterModel, moref: string): VM | SoapFault | undefined {
  try {
    const vm = vCenter.read(moref)
    const object = { type: 'VirtualMachine', value: moref }
    return vCenter.reticent.has(moref) ? new SoapFault('NoPermission', '', object) : vm
  } catch (error) {
    if (!(error instanceof SoapFault)) throw error
    return error.fault === 'ManagedObjectNotFound' ? undefined : error
  }
}
