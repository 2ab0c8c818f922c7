import { setTimeout as sleep } from 'node:timers/promises'
import type { VcsimVM } from '../servers/control.ts'
import { inParallel } from '../world/crowd.ts'
import { createGuest, type Guest, type GuestContext } from './guest.ts'

/** All machines whose VMs exist, and the kubelets and agents in them. */
export interface SoakFleet extends AsyncDisposable {
  readonly guests: ReadonlySet<Guest>
  /** How often a kubelet or an agent could not do what it wanted, and the last such time. */
  failures(): { readonly count: number; readonly last: string }
  /** Starts a machine for a VM: in the place of a former one, or under a name and an address of its own. */
  join(vm: VcsimVM, options?: JoinOptions): Promise<Guest>
  /** For one whose VM is gone; its address is the next one's, unless another has it already. */
  leave(guest: Guest): Promise<void>
}

export interface JoinOptions {
  readonly former?: Pick<Guest, 'name' | 'address'>
  /** Whether its agent comes up, by default true. */
  readonly agent?: boolean
}

/** As a kubelet's renewals of its Lease, milliseconds. */
const BEAT = 10_000

export async function createFleet(context: GuestContext, vms: readonly VcsimVM[]): Promise<SoakFleet> {
  const { vcsim } = context
  const guests = new Set<Guest>()
  /** Of machines that are gone: the next one gets the same, as from a DHCP server or a list of static ones. */
  const freeAddresses: string[] = []
  const ending = new AbortController()
  const failed = { count: 0, last: '' }
  let serial = 0

  async function beat(guest: Guest): Promise<void> {
    try {
      await guest.beat()
    } catch (error) {
      // The API server is away, or comes and goes: the next beat tries again, and the end shows whether one succeeds.
      failed.count++
      failed.last = `${guest.name}: ${error instanceof Error ? error.message : String(error)}`
    }
  }

  async function join(vm: VcsimVM, { former, agent = true }: JoinOptions = {}): Promise<Guest> {
    serial++
    const name = former?.name ?? `node-${String(serial).padStart(4, '0')}`
    const address = former?.address ?? freeAddresses.shift() ?? `10.1.${serial >> 8}.${serial & 255}`
    await vcsim.setGuest({ vm: vm.ref, hostName: name, nics: [{ addresses: [`${address}/8`] }] })
    const guest = await createGuest(context, { name, address, vm, agent })
    guests.add(guest)
    await beat(guest)
    return guest
  }

  await inParallel(vms, async (vm) => void (await join(vm)))
  const beating = (async () => {
    while (!ending.signal.aborted) {
      for (const guest of [...guests]) {
        void beat(guest)
        // sleep() rejects only when the signal aborts.
        await sleep(BEAT / guests.size, undefined, { signal: ending.signal }).catch(() => undefined)
      }
    }
  })()
  return {
    guests,
    failures: () => failed,
    join,
    async leave(guest) {
      guests.delete(guest)
      if (![...guests].some(({ address }) => address === guest.address)) freeAddresses.push(guest.address)
      await guest.close()
    },
    async [Symbol.asyncDispose]() {
      ending.abort()
      await beating
      await Promise.all([...guests].map((guest) => guest.close()))
    },
  }
}
