/** What each replica was told of each VM, by the answers that it got: a fact of the world, whatever it makes of them. */
import type { ShownVM } from '../model/connection.ts'
import { runs, stateOf, type VM } from '../model/machine.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import type { World } from '../world.ts'

/** How long a replica may take from an answer to what it writes, milliseconds. */
const NOTICED = 20_000
/** For how long one that could not ask a vCenter may act on that, milliseconds. */
const LATELY = 60_000

interface Told {
  readonly state: string
  readonly claim: string | undefined
  /** When the answers came that said so first. */
  readonly at: number
  readonly claimAt: number
}

export interface Hearing {
  /** An answer that has shown a VM in this state has come; the owner is a process, its connection, and a vCenter. */
  told(owner: string, shown: ShownVM): void
  /** Whether a replica must know of a VM that it runs: it was told so a while ago, and could always ask since. */
  knowsToRun(by: string, vm: VM): boolean
  /** The same of the claim that it shows. */
  knowsClaim(by: string, vm: VM, claim: string): boolean
  /** Whether a replica has a session in a vCenter that answers. */
  canAsk(by: string, vCenter: VCenterModel): boolean
  /** To be called every few seconds. */
  look(): void
}

export function createHearing(world: () => World): Hearing {
  /** By process and vCenter: those of the last connection. */
  const heard = new Map<string, { readonly owner: string; readonly vms: Map<VM, Told> }>()
  const mutedAt = new Map<string, number>()

  function canAsk(by: string, vCenter: VCenterModel): boolean {
    const { reach, slow, resolving, errors, impostor, passwordWrong, loaded, sessions } = vCenter
    return (
      reach === 'works' &&
      slow === 0 &&
      resolving === 0 &&
      errors === 0 &&
      impostor === undefined &&
      !passwordWrong &&
      loaded === undefined &&
      [...sessions.values()].some(({ owner, known }) => known && owner.startsWith(`${by}/`))
    )
  }

  /** What it has heard last, where it may see the VM, and could always ask. */
  function toldOf(by: string, vm: VM): Told | undefined {
    const { vCenter } = vm
    const key = `${by} ${vCenter.name}`
    const muted = world().timeline.now - (mutedAt.get(key) ?? Number.NEGATIVE_INFINITY) <= LATELY
    // One of which the account may not read what is essential is as good as not shown.
    const isShown = vCenter.isVisible(vm) && !vCenter.reticent.has(vm.moref)
    if (!isShown || !canAsk(by, vCenter) || muted) return undefined
    return heard.get(key)?.vms.get(vm)
  }

  return {
    canAsk,
    told(owner, { vm, state, claim }) {
      const [process = ''] = owner.split('/')
      const key = `${process} ${vm.vCenter.name}`
      const known = heard.get(key)
      const { vms } = known?.owner === owner ? known : { vms: new Map<VM, Told>() }
      heard.set(key, { owner, vms })
      const { now } = world().timeline
      const before = vms.get(vm)
      const at = before?.state === state ? before.at : now
      const claimAt = before !== undefined && before.claim === claim ? before.claimAt : now
      vms.set(vm, { state, claim, at, claimAt })
    },
    knowsToRun(by, vm) {
      const { at = Number.POSITIVE_INFINITY, state } = toldOf(by, vm) ?? {}
      return runs(vm) && !vm.template && state === stateOf(vm) && world().timeline.now - at > NOTICED
    },
    knowsClaim(by, vm, text) {
      const { claimAt = Number.POSITIVE_INFINITY, claim } = toldOf(by, vm) ?? {}
      return vm.claim === text && claim === text && world().timeline.now - claimAt > NOTICED
    },
    look() {
      const { vCenters, processes, timeline } = world()
      for (const vCenter of vCenters)
        for (const { name } of processes)
          if (!canAsk(name, vCenter)) mutedAt.set(`${name} ${vCenter.name}`, timeline.now)
    },
  }
}
