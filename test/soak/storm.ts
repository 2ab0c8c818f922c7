import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../simulation/random.ts'
import { DISTURBANCES } from './disturbances.ts'
import type { Guest } from './guest.ts'
import { come, go, HAPPENINGS, type HappeningContext } from './happenings.ts'
import type { People } from './people.ts'
import type { SoakStage } from './stage.ts'

export interface SoakStormOptions {
  readonly stage: SoakStage
  readonly people: People
  readonly random: Random
  /** How many machines there are to be, more or less. */
  readonly nodes: number
  /** Aborted when the storm is to end. */
  readonly signal: AbortSignal
  /** Whether leaders may change now. */
  readonly mayChangeLeaders: () => boolean
}

/** What happens, and how often it has. */
export interface SoakStorm {
  readonly counts: ReadonlyMap<string, number>
  /** Disturbances that go on now. */
  active(): readonly string[]
  /** When each disturbance began and ended, by `performance.now()`. */
  readonly disturbances: readonly { readonly at: number; readonly what: string }[]
  /** What this side could not do. */
  readonly failures: readonly string[]
  /** Resolves once the signal has aborted and all that had begun has ended. */
  readonly over: Promise<void>
}

/** Lets things happen to machines, and to all of it, until the signal aborts. */
export function unleash({
  stage,
  people,
  random,
  nodes,
  signal,
  mayChangeLeaders,
}: SoakStormOptions): SoakStorm {
  const counts = new Map<string, number>()
  const disturbances: { at: number; what: string }[] = []
  const failures: string[] = []
  const running = new Set<Promise<void>>()
  const parts = new Map<string, string>()
  const context: HappeningContext = {
    stage,
    people,
    random,
    // sleep() rejects only when the signal aborts.
    pause: (seconds) => sleep(seconds * 1000, undefined, { signal }).catch(() => undefined),
    over: () => signal.aborted,
  }
  let serial = 0

  function start(what: string, work: () => Promise<void>): void {
    counts.set(what, (counts.get(what) ?? 0) + 1)
    const done = work()
      .catch((error: unknown) => {
        failures.push(`${what}: ${error instanceof Error ? error.stack : String(error)}`)
      })
      .finally(() => running.delete(done))
    running.add(done)
  }

  /** Something becomes of one machine, which was well before. */
  function happen(): void {
    const { guests } = stage.fleet
    const idle = [...guests].filter(
      ({ busy, machine }) => !busy && machine.runs && machine.nodeUID !== undefined,
    )
    if (idle.length === 0) return
    const guest = random.pick(idle)
    const choices = HAPPENINGS.flatMap((each) => Array.from({ length: each.weight }, () => each))
    const pick = random.below(choices.length + 6)
    const chosen = choices[pick]
    if (chosen !== undefined) become(guest, chosen.name, () => chosen.run(guest, context))
    else if (guests.size < nodes)
      start('comes', async () => void (await come(context, guest, { name: `vm-${serial++}`, agent: true })))
    else become(guest, 'is destroyed', () => go(context, guest))
  }

  function become(guest: Guest, what: string, work: () => Promise<void>): void {
    guest.busy = true
    stage.ledger.note(guest.name, performance.now(), `${guest.vm.name} ${what}`)
    start(what, async () => {
      await work()
      guest.busy = false
    })
  }

  function disturb(): void {
    const free = DISTURBANCES.filter(
      ({ part }) => !parts.has(part) && (part !== 'replicas' || mayChangeLeaders()),
    )
    if (free.length === 0) return
    const { name, part, run } = random.pick(free)
    parts.set(part, name)
    disturbances.push({ at: performance.now(), what: `${name}: begins` })
    start(name, async () => {
      try {
        await run(context)
      } finally {
        parts.delete(part)
      }
      disturbances.push({ at: performance.now(), what: `${name}: over` })
    })
  }

  const every = async (seconds: () => number, act: () => void) => {
    while (!signal.aborted) {
      await context.pause(seconds())
      if (!signal.aborted) act()
    }
  }
  const pace = 60 / Math.max(12, nodes / 10)
  const over = Promise.all([
    every(() => random.between(0.5, 1.5) * pace, happen),
    every(() => random.between(15, 75), disturb),
  ]).then(async () => {
    while (running.size > 0) await Promise.all(running)
  })
  return { counts, active: () => [...parts.values()], disturbances, failures, over }
}
