import { LABEL_REGION, LABEL_ZONE } from '../../../controller/types/well-known.ts'
import type { VM } from '../model/machine.ts'
import type { StoredNode } from '../model/objects.ts'
import { regionOf, zoneOf } from '../model/rest.ts'
import { machinesOf, type World } from '../world.ts'
import { isOfAcceptedCopy } from './binding.ts'

/** A zone or region that is written is one in which a VM of the Node stands, or has stood. */
export function judgeTopology(world: World, by: string, before: StoredNode, after: StoredNode): void {
  const { name, uid } = before.metadata
  const machines = machinesOf(world, uid)
  for (const label of [LABEL_ZONE, LABEL_REGION]) {
    const value = after.metadata.labels[label]
    if (value === undefined || value === before.metadata.labels[label]) continue
    if (machines.some(({ places }) => places.has(value))) continue
    const stands = ({ host, folder }: VM): boolean =>
      [zoneOf(host), regionOf(folder.datacenter)].includes(value)
    if (isOfAcceptedCopy(world, by, before, stands)) continue
    world.judge.violate('zone and region are those of the VM', `${by} labels ${name} with ${label}=${value}`)
  }
}
