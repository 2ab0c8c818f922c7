/** Copies of a vCenter's appliance that are configured beside it, and say that they are it (`about.instanceUuid`). */
import { shownPower, type VM } from '../model/machine.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import type { World } from '../world.ts'
import type { Fault, Faults } from './fault.ts'

/** How often something changes in the copy, milliseconds. */
const PACE = { least: 2_000, most: 40_000 }

const POWERS = ['poweredOn', 'poweredOff', 'suspended'] as const

/** What the copy shows, of a share of the VMs: as they were, or in another state. */
function copyInventory({ random }: World, from: VCenterModel, to: VCenterModel, share: number): void {
  const changes = random.pick([0, 0.3, 1])
  const connectionState = random.pick(['connected', 'connected', 'connected', 'disconnected'] as const)
  for (const vm of from.vms.values())
    if (random.chance(share))
      to.register(
        {
          ...vm,
          connectionState: vm.connectionState === 'connected' ? connectionState : vm.connectionState,
          shownPower: random.chance(changes) ? random.pick(POWERS) : shownPower(vm),
          machine: undefined,
          tenant: undefined,
        },
        vm.moref,
      )
}

/** Its own hosts power VMs on and off, and somebody tidies up. */
function change({ random }: World, vm: VM): void {
  if (random.chance(0.2)) vm.vCenter.unregister(vm)
  else {
    vm.shownPower = random.pick(POWERS)
    vm.connectionState = random.pick(['connected', 'connected', 'connected', 'inaccessible'])
    vm.vCenter.changed(vm)
  }
}

/** @param lives whether it goes on by itself; otherwise its inventory stands still */
function cloned(lives: boolean): Fault {
  return (world, { vCenter }) => {
    const { clones, configFile, timeline, random } = world
    // Nothing tells the copy from the vCenter itself where another one answers in the place of that, or was the last that did.
    if (vCenter.impostor !== undefined || isMistaken(world, vCenter)) return undefined
    if (clones.some(({ name }) => configFile.names(name))) return undefined
    const clone = world.cloneVCenter(vCenter, random)
    copyInventory(world, vCenter, clone, random.pick([0, 0.5, 1, 1]))
    configFile.add(clone.name, vCenter.name, random.derive('place').pick(['first', 'last']))
    let over = false
    const act = (): void => {
      const vms = [...clone.vms.values()]
      if (over || !lives || vms.length === 0) return
      change(world, random.pick(vms))
      timeline.after(random.between(PACE.least, PACE.most), `the copy of ${vCenter.name} goes on`, act)
    }
    act()
    return () => {
      over = true
      configFile.remove(clone.name)
      clone.retiredAt = timeline.now
    }
  }
}

export const CLONE_FAULTS: Faults = {
  'vcenter-cloned': cloned(false),
  'vcenter-cloned-alive': cloned(true),
  'clone-away'({ clones, random }) {
    const clone = clones.at(-1)
    if (clone === undefined) return undefined
    clone.reach = random.pick(['down', 'hangs'])
    clone.breakWaits()
    return () => {
      clone.reach = 'works'
    }
  },
}

/** Whether a replica has not logged in there since another vCenter answered in its place. */
function isMistaken({ processes }: World, { mistakenBy }: VCenterModel): boolean {
  return processes.some(({ name, state }) => state !== 'dead' && mistakenBy.has(name))
}

/** Whether a copy of this vCenter is configured, or was, and a replica that has not read the file since is logged in there. */
export function isCloned({ clones, configFile, processes }: World, vCenter: VCenterModel): boolean {
  const living = processes.filter(({ state }) => state !== 'dead')
  const isFollowed = ({ sessions }: VCenterModel): boolean =>
    [...sessions.values()].some(({ owner }) => living.some(({ name }) => owner.startsWith(`${name}/`)))
  return clones.some(
    (clone) => clone.cloneOf === vCenter && (configFile.names(clone.name) || isFollowed(clone)),
  )
}
