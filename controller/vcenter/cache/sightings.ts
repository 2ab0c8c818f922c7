/** VMs that vCenter has told to have a followed UUID and that are not known to, until that UUID is searched for. No I/O. */

/** As many VMs as one UUID is remembered with; a search finds the others. */
const MAX_VMS = 64

export interface Sightings {
  add(uuid: string, vm: string): void
  /** All VMs by UUID, which are forgotten. */
  take(): ReadonlyMap<string, ReadonlySet<string>>
  /** How many UUIDs there are. */
  size(): number
}

export function createSightings(): Sightings {
  let seen = new Map<string, Set<string>>()
  return {
    add(uuid, vm) {
      const vms = seen.get(uuid)
      if (vms === undefined) seen.set(uuid, new Set([vm]))
      else if (vms.size < MAX_VMS) vms.add(vm)
    },
    take() {
      const taken = seen
      seen = new Map()
      return taken
    },
    size: () => seen.size,
  }
}
