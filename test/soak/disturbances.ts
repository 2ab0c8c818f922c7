import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../simulation/random.ts'
import type { Guest } from './guest.ts'
import type { HappeningContext } from './happenings.ts'
import type { Replicas } from './replicas.ts'
import { patient } from './stage.ts'

/** What goes wrong with all of it. */
export interface Disturbance {
  readonly name: string
  /** Two of one part never happen at once. */
  readonly part: 'vCenter' | 'inventory' | 'API server' | 'replicas' | 'configuration'
  run(context: HappeningContext): Promise<void>
}

/** Half of the machines that run and to which nothing happens. */
function half({ stage: { fleet }, random }: HappeningContext): readonly Guest[] {
  const idle = [...fleet.guests].filter(({ busy, machine }) => !busy && machine.runs)
  return shuffled(idle, random).slice(0, Math.floor(fleet.guests.size / 2))
}

function shuffled<T>(list: readonly T[], random: Random): readonly T[] {
  return list
    .map((item) => ({ item, order: random.next() }))
    .toSorted((a, b) => a.order - b.order)
    .map(({ item }) => item)
}

/** Nothing else happens to these machines meanwhile. */
async function keepingBusy(guests: readonly Guest[], work: () => Promise<void>): Promise<void> {
  for (const guest of guests) guest.busy = true
  try {
    await work()
  } finally {
    for (const guest of guests) guest.busy = false
  }
}

async function hidden(context: HappeningContext, seconds: number, cutOff: boolean): Promise<void> {
  const {
    stage: { vcsim },
    pause,
  } = context
  const guests = half(context)
  const refs = guests.map(({ vm }) => vm.ref)
  await keepingBusy(guests, async () => {
    for (const guest of guests) guest.linked = !cutOff
    try {
      await vcsim.hide(...refs)
      await pause(seconds)
    } finally {
      await patient('what is hidden is shown again', () => vcsim.show(...refs))
      for (const guest of guests) guest.linked = true
    }
  })
}

/** The name under which a storm knows it. */
export const LEADERS_CHANGE = 'leaders change'
/** A Lease runs out after 15 s, and is taken within a few more, milliseconds. */
const PAST_THE_LEASE = 25_000

/** Has the leader killed, or frozen or cut off for longer than its Lease; so another leads, most often. */
async function changeLeaders({ stage: { replicas }, random }: HappeningContext): Promise<void> {
  const { survivor, other } = replicas
  const led = await replicas.leader()
  if (led !== survivor) await other.kill(random.pick([500, 5_000, PAST_THE_LEASE]))
  else if (random.chance(0.5)) await survivor.freeze(PAST_THE_LEASE)
  else {
    survivor.line.set(random.pick(['cut', 'lost', 'deaf', 'mute'] as const))
    await sleep(PAST_THE_LEASE)
    survivor.line.set('works')
  }
}

/** Takes the lead from the replica that may be killed. */
export async function leadBySurvivor({ other }: Replicas): Promise<void> {
  if (await other.leads()) await other.kill(PAST_THE_LEASE)
}

export const DISTURBANCES: readonly Disturbance[] = [
  { name: 'sessions are dropped', part: 'vCenter', run: ({ stage }) => stage.vcsim.endSessions() },
  {
    name: 'vCenter restarts',
    part: 'vCenter',
    async run({ stage: { vcsim, line }, random, pause }) {
      line.set('cut')
      await vcsim.endSessions()
      await pause(random.between(1, 8))
      await vcsim.fault({ operation: '*', kind: 'status', status: 503 })
      line.set('works')
      await pause(random.between(1, 8))
      await vcsim.clearFaults()
    },
  },
  {
    name: 'vCenter is cut off',
    part: 'vCenter',
    async run({ stage: { line }, random, pause }) {
      line.set(random.pick(['cut', 'lost', 'deaf'] as const))
      await pause(random.between(5, 40))
      line.set('works')
    },
  },
  {
    name: 'vCenter is slow',
    part: 'vCenter',
    async run({ stage: { vcsim }, random, pause }) {
      await vcsim.fault({ operation: '*', kind: 'delay', milliseconds: 1_500 })
      await pause(random.between(10, 30))
      await vcsim.clearFaults()
    },
  },
  {
    name: 'the account loses its privileges',
    part: 'inventory',
    async run({ stage: { vcsim }, random, pause }) {
      await vcsim.revoke({ as: random.pick(['fault', 'missingSet'] as const) })
      await pause(random.between(10, 50))
      await vcsim.restore()
    },
  },
  {
    name: 'half of the inventory is hidden',
    part: 'inventory',
    run: (context) => hidden(context, context.random.between(15, 60), false),
  },
  {
    name: 'half of the inventory is hidden, and those machines do not reach the API server',
    part: 'inventory',
    run: (context) => hidden(context, context.random.between(60, 90), true),
  },
  {
    name: 'a host does not answer vCenter',
    part: 'inventory',
    async run({ stage: { vcsim, fleet }, random, pause }) {
      const { host } = random.pick([...fleet.guests]).vm
      const guests = [...fleet.guests].filter((guest) => guest.vm.host === host && !guest.busy)
      await keepingBusy(guests, async () => {
        await vcsim.setHost({ host, connectionState: 'notResponding' })
        await pause(random.between(10, 60))
        await vcsim.setHost({ host, connectionState: 'connected' })
      })
    },
  },
  {
    name: 'the API server restarts',
    part: 'API server',
    async run({ stage: { cluster }, random, pause }) {
      await cluster.stopApiServer(3_000)
      await pause(random.between(1, 10))
      await patient('the API server starts', () => cluster.startApiServer())
    },
  },
  { name: LEADERS_CHANGE, part: 'replicas', run: changeLeaders },
  {
    name: 'the configuration is changed',
    part: 'configuration',
    async run({ stage, random, pause }) {
      await stage.configure(
        random.pick([
          { topology: { onChange: 'relabel' } },
          { lifecycle: { deletion: 'dry-run' } },
          { lifecycle: { deletion: 'off' } },
          { lifecycle: { maxAbsentShare: '30%' } },
        ] as const),
      )
      await pause(random.between(10, 40))
      await stage.configure()
    },
  },
]
