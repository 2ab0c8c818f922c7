/** A VM as a controller's table holds it. */
import type { Ancestor, Ancestry } from '../../../controller/types/virtual-machine.ts'
import type { VMPlacement } from '../../../controller/vcenter/cache/placement.ts'
import type { VMProperties as Row } from '../../../controller/vcenter/cache/vm-properties.ts'
import { ROOT } from './answers.ts'
import { type Folder, shownPower, type VM } from './machine.ts'

const POOL = { type: 'ResourcePool', value: 'resgroup-8' }

/** What is read of a VM. One whose configuration is away has no UUIDs; `before` then says what was known. */
export function readRow(vm: VM, before: Row | undefined): Row {
  const away = vm.connectionState === 'inaccessible'
  return {
    moref: vm.moref,
    name: vm.name,
    biosUUID: away ? undefined : vm.biosUUID,
    instanceUUID: away ? before?.instanceUUID : vm.instanceUUID,
    template: false,
    faultTolerance: vm.faultTolerance,
    connectionState: vm.connectionState,
    powerState: shownPower(vm),
    cpus: 2,
    memoryMB: 4096,
    guestID: 'ubuntu64Guest',
    nics: [{ mac: vm.mac }],
    guestNICs: [],
    unreadable: [],
    changeVersion: undefined,
    claim: vm.claim,
    host: { type: 'HostSystem', value: vm.host },
    resourcePool: POOL,
    parent: { type: 'Folder', value: vm.folder.moref },
    vApp: undefined,
  }
}

/** Where VMs stand, by the folders of their vCenter. */
export function createPlaces(folders: readonly Folder[]): (row: Row) => VMPlacement {
  const known = new Map<string, VMPlacement>()
  return ({ moref, name, host, parent }) => {
    const key = `${moref} ${host?.value} ${parent?.value}`
    const place = known.get(key) ?? placeOf(moref, name, host?.value ?? '', parent?.value, folders)
    known.set(key, place)
    return place
  }
}

function placeOf(
  moref: string,
  name: string,
  host: string,
  parent: string | undefined,
  folders: readonly Folder[],
): VMPlacement {
  const folder = folders.find((each) => each.moref === parent)
  const datacenter = folder?.datacenter ?? 'dc-1'
  const above = (type: string, moref: string, name: string): Ancestor => ({
    type,
    moref,
    name,
    tags: [],
  })
  const top = [above('Datacenter', datacenter, datacenter), above('Folder', ROOT, 'Datacenters')]
  const ancestry: Ancestry = {
    compute: [above('HostSystem', host, host), ...top],
    resourcePool: [above(POOL.type, POOL.value, 'Resources')],
    folder: [
      above('VirtualMachine', moref, name),
      ...(folder === undefined ? [] : [above('Folder', folder.moref, folder.name)]),
      ...top,
    ],
    unreadable: [],
  }
  return { host, cluster: undefined, datacenter, ancestry }
}
