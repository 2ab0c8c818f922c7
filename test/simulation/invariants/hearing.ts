/** What each replica was told of each VM, by the answers that it got: a fact of the world, whatever it makes of them. */
import { shownPower, stateOf, type VM } from '../model/machine.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import type { World } from '../world.ts'

/** How long a replica may take from an answer to what it writes, milliseconds. */
const NOTICED = 20_000
/** For how long one that could not ask a vCenter may act on that, milliseconds. */
const LATELY = 60_000

interface Told {
  readonly state: string
  /** When the answer came that said so first. */
  readonly at: number
}

export interface Hearing {
  /** An answer that has shown a VM in this state has come; the owner is a process, its connection, and a vCenter. */
  told(owner: string, vm: VM, state: string): void
  /** Whether a replica must know of a VM that it runs: it was told so a while ago, and could always ask since. */
  knowsToRun(by: string, vm: VM): boolean
  /** To be called every few seconds. */
  look(): void
}

export function createHearing(world: () => World): Hearing {
  /** By process and vCenter: those of the last connection. */
  const heard = new Map<string, { readonly owner: string; readonly vms: Map<VM, Told> }>()
  const mutedAt = new Map<string, number>()

  function canAsk(by: string, vCenter: VCenterModel): boolean {
    const { reach, slow, errors, impostor, passwordWrong, loaded, sessions } = vCenter
    return (
      reach === 'works' &&
      slow === 0 &&
      errors === 0 &&
      impostor === undefined &&
      !passwordWrong &&
      loaded === undefined &&
      [...sessions.values()].some(({ owner }) => owner.startsWith(`${by}/`))
    )
  }

  return {
    told(owner, vm, state) {
      const [process = ''] = owner.split('/')
      const key = `${process} ${vm.vCenter.name}`
      const known = heard.get(key)
      const { vms } = known?.owner === owner ? known : { vms: new Map<VM, Told>() }
      heard.set(key, { owner, vms })
      if (vms.get(vm)?.state !== state) vms.set(vm, { state, at: world().timeline.now })
    },
    knowsToRun(by, vm) {
      const { vCenter } = vm
      const { now } = world().timeline
      const key = `${by} ${vCenter.name}`
      const told = heard.get(key)?.vms.get(vm)
      return (
        vCenter.isVisible(vm) &&
        vm.connectionState === 'connected' &&
        shownPower(vm) === 'poweredOn' &&
        !vm.template &&
        canAsk(by, vCenter) &&
        now - (mutedAt.get(key) ?? Number.NEGATIVE_INFINITY) > LATELY &&
        told?.state === stateOf(vm) &&
        now - told.at > NOTICED
      )
    },
    look() {
      const { vCenters, processes, timeline } = world()
      for (const vCenter of vCenters)
        for (const { name } of processes)
          if (!canAsk(name, vCenter)) mutedAt.set(`${name} ${vCenter.name}`, timeline.now)
    },
  }
}
