/** Who is in a world at its beginning, and at which pace machines speak. */
import type { DecisionConfig } from '../../controller/config/config.ts'
import type { Folder } from './model/machine.ts'
import type { MachinesOptions } from './model/machines.ts'
import type { Random } from './random.ts'
import type { World } from './world.ts'

/** Whether there is a second vCenter, and how many Nodes' VMs it has. */
type Second = 'none' | 'few' | 'one' | 'empty'

export interface Population extends Pick<MachinesOptions, 'heartbeat' | 'gracePeriod' | 'refresh'> {
  readonly second: Second
  /** Makes the machines, before any controller starts. */
  readonly place: (world: World) => void
}

export function drawPopulation(random: Random, { lifecycle }: DecisionConfig): Population {
  const second = random.pick(['none', 'one', 'few', 'few', 'one', 'empty'] as const)
  return {
    second,
    heartbeat: random.between(20_000, 300_000),
    gracePeriod: drawGracePeriod(random.derive('grace period')),
    refresh: random.between(30_000, 2.5 * lifecycle.absentFor),
    place: (world) => populate(world, second),
  }
}

/** The second vCenter may have nothing but one VM, or not even that. */
function populate({ random, vCenters, machines }: World, second: Second): void {
  const inSecond = { none: 0, empty: 0, one: 1, few: 1 + random.below(3) }[second]
  for (const [index, vCenter] of vCenters.entries()) {
    const count = index === 0 ? 4 + random.below(4) : inSecond
    for (let n = 1; n <= count; n++) {
      // The first folder holds one alone, so that no other's being found says anything of it.
      const [first, ...rest] = vCenter.folders
      const folder: Folder | undefined = n === 1 ? first : rest[random.below(2)]
      if (folder !== undefined) machines.create(`node-${index}-${n}`, vCenter, folder)
    }
    const [folder] = vCenter.folders
    if (folder !== undefined && (random.chance(0.4) || (index > 0 && second === 'one')))
      machines.create(`migrated-${index}`, vCenter, folder, { migrated: true })
  }
}

/** Mostly the default before Kubernetes 1.32; some wait for minutes. */
function drawGracePeriod(random: Random): number {
  return random.chance(0.7) ? 40_000 : random.between(40_000, 300_000)
}
