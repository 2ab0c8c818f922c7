import type { Random } from '../simulation/random.ts'
import type { Guest } from './guest.ts'
import type { People } from './people.ts'
import { patient, type SoakStage } from './stage.ts'

/** What may become of one machine. Time, chance and the end of the soak are handed in. */
export interface HappeningContext {
  readonly stage: SoakStage
  readonly people: People
  readonly random: Random
  /** Waits so many seconds, or until the storm is over. */
  pause(seconds: number): Promise<void>
  /** Whether the storm is over, and what began should end. */
  over(): boolean
}

export interface Happening {
  readonly name: string
  /** How often, against the others. */
  readonly weight: number
  run(guest: Guest, context: HappeningContext): Promise<void>
}

/** Makes a machine, in the place of another of the same size. */
export async function come(
  { stage: { vcsim, fleet } }: HappeningContext,
  like: Guest,
  { name, agent }: { readonly name: string; readonly agent: boolean },
): Promise<Guest> {
  const vm = await patient('a VM is made', () => vcsim.create({ name, like: like.vm.ref }))
  return await fleet.join(vm, { agent })
}

/** Destroys a machine and all that runs in it. */
export async function go({ stage: { vcsim, fleet }, people }: HappeningContext, guest: Guest): Promise<void> {
  guest.machine.destroyedAt = performance.now()
  // Not while the account has lost its privileges: they are the simulator's own, too.
  await patient('a VM is destroyed', () => vcsim.destroy(guest.vm.ref))
  await fleet.leave(guest)
  people.tidyUpAfter(guest)
}

/** Destroys a machine and makes another of its name, with its address, as Terraform does. */
async function rebuild({ stage: { vcsim, fleet } }: HappeningContext, guest: Guest): Promise<Guest> {
  guest.machine.destroyedAt = performance.now()
  const vm = await patient('a VM is rebuilt', () => vcsim.recreate(guest.vm.ref))
  const next = await fleet.join(vm, { former: guest })
  await fleet.leave(guest)
  return next
}

export const HAPPENINGS: readonly Happening[] = [
  {
    name: 'is off for a while',
    weight: 3,
    async run(guest, { stage: { vcsim }, random, pause, over }) {
      const powerState = random.chance(0.7) ? 'poweredOff' : 'suspended'
      const seconds = random.between(3, 150)
      guest.machine.runs = false
      await vcsim.setState({ vm: guest.vm.ref, powerState })
      await pause(seconds)
      // Some are off at the end.
      if (over()) return
      await vcsim.setState({ vm: guest.vm.ref, powerState: 'poweredOn' })
      if (powerState === 'suspended') guest.machine.runs = true
      else guest.boot()
    },
  },
  {
    name: 'is off, then destroyed',
    weight: 1,
    async run(guest, context) {
      guest.machine.runs = false
      await context.stage.vcsim.setState({ vm: guest.vm.ref, powerState: 'poweredOff' })
      await context.pause(context.random.between(3, 90))
      await go(context, guest)
    },
  },
  {
    name: 'has a neighbor that is destroyed before its agent has reported',
    weight: 1,
    async run(guest, context) {
      const name = `${guest.vm.name}-neighbor`
      const neighbor = await come(context, guest, { name, agent: false })
      neighbor.busy = true
      await context.pause(context.random.between(5, 60))
      await go(context, neighbor)
    },
  },
  {
    name: 'moves to another host',
    weight: 4,
    async run(guest, { stage: { vcsim, fleet }, random }) {
      const hosts = [...new Set([...fleet.guests].map(({ vm }) => vm.host))]
      const host = random.pick(hosts)
      await vcsim.move({ vm: guest.vm.ref, host })
      guest.vm = { ...guest.vm, host }
    },
  },
  { name: 'reboots', weight: 1, run: async (guest) => guest.boot() },
  {
    name: 'is unregistered and registered again',
    weight: 1,
    async run(guest, { stage: { vcsim }, random, pause }) {
      await vcsim.unregister(guest.vm.ref)
      await pause(random.between(1, 45))
      guest.vm = await vcsim.register(guest.vm.ref)
    },
  },
  {
    name: 'does not reach the API server',
    weight: 2,
    async run(guest, { random, pause }) {
      guest.linked = false
      await pause(random.between(20, 90))
      guest.linked = true
    },
  },
  {
    name: 'is rebuilt, its Node deleted first',
    weight: 1,
    async run(guest, context) {
      await context.stage.removeNode(guest.name)
      await rebuild(context, guest)
    },
  },
  {
    name: 'is rebuilt while its Node stays',
    weight: 1,
    async run(guest, context) {
      context.people.lookAfter(await rebuild(context, guest))
    },
  },
  {
    name: 'is rebuilt while its Node stays, and destroyed',
    weight: 1,
    async run(guest, context) {
      const next = await rebuild(context, guest)
      next.busy = true
      await context.pause(context.random.between(5, 60))
      await go(context, next)
      // Mostly it goes by itself; not where vCenter could not be asked as long as the second VM was there.
      context.people.lookAfter(next)
    },
  },
]
