import { setTimeout as sleep } from 'node:timers/promises'
import { createRandom } from '../simulation/random.ts'
import { LEADERS_CHANGE, leadBySurvivor } from './disturbances.ts'
import { judgeNodes, type NodeProblem } from './judge-nodes.ts'
import { judgeOutcome, type SessionClients } from './judge-outcome.ts'
import type { Unbound } from './ledger.ts'
import { middle, type TimeSpan } from './memory.ts'
import { createPeople } from './people.ts'
import { brokenLines, progressLine, summaryLines } from './print.ts'
import { openSoakStage, type SoakStage } from './stage.ts'
import { unleash } from './storm.ts'

export interface SoakOptions {
  readonly nodes: number
  readonly minutes: number
  readonly seed: number
  readonly unbound: Unbound
  /** Whether vCenter is behind a slow proxy. */
  readonly far: boolean
}

/** What came of it. */
export interface SoakOutcome {
  readonly held: readonly NodeProblem[]
  /** Milliseconds of quiet until nothing was wrong any more. */
  readonly settledAfter: number
  readonly memory: { readonly early: MemoryFigures; readonly late: MemoryFigures }
  readonly times: { readonly early: TimeSpan; readonly late: TimeSpan }
  /** Those that live in vCenter in the end. */
  readonly sessions: SessionClients
}

export type MemoryFigures = ReturnType<typeof middle>

const MINUTE = 60_000
/** How long all may take to come to rest, milliseconds: a person would look into what takes longer. */
const PATIENCE = 10 * MINUTE
/** What is right at one moment might be right by chance. */
const STILL = 30_000
/** As large sites have it before their vCenters: proxies, and what they cut. Milliseconds. */
const FAR = { least: 100, most: 4_000, silence: 50_000, every: 200 }

/** Runs it all and prints what it sees; resolves with whether all was right. */
export async function soak(options: SoakOptions, print: (line: string) => void): Promise<boolean> {
  const { nodes: count, minutes, seed, unbound, far } = options
  const total = minutes * MINUTE
  // After ten minutes of an hour, and at its end.
  const width = total / 15
  const times = {
    early: { from: total / 6 - width / 2, to: total / 6 + width / 2 },
    late: { from: total - width, to: total },
  }
  print(
    `seed ${seed}: ${count} nodes, ${minutes} minutes, unbound: ${unbound}${far ? ', far away' : ''}; starting the servers`,
  )
  await using stage = await openSoakStage(count, unbound)
  const settled = await untilRight(stage, 5 * MINUTE)
  if (settled.held.length > 0)
    throw new Error(`not all begins well: ${settled.held[0]?.problem}; ${stage.fleet.failures().last}`)
  if (far) await stage.vcsim.setFar(FAR)
  print('all Nodes are initialized; the storm begins')

  const begin = performance.now()
  const elapsed = () => performance.now() - begin
  const ending = new AbortController()
  const mayChangeLeaders = () =>
    Object.values(times).every(({ from, to }) => elapsed() < from - width / 2 || elapsed() >= to)
  const people = createPeople(stage)
  const storm = unleash({
    stage,
    people,
    random: createRandom(seed),
    nodes: count,
    signal: ending.signal,
    mayChangeLeaders,
  })
  const watching = new AbortController()
  const watch = Promise.all([
    every(500, watching.signal, () => judgeDeletions(stage, (line) => print(line))),
    every(5_000, watching.signal, people.look),
    every(5_000, watching.signal, async () => {
      await stage.replicas.sample(elapsed())
      // What is measured is a leader's memory.
      if (!mayChangeLeaders() && !storm.active().includes(LEADERS_CHANGE))
        await leadBySurvivor(stage.replicas)
    }),
    every(Math.min(MINUTE, total / 8), watching.signal, async () =>
      print(await progressLine(stage, storm, elapsed())),
    ),
  ])
  await Promise.race([sleep(total), watch])
  ending.abort()
  await storm.over
  print('the storm is over; all may come to rest')
  const rest = await untilRight(stage, PATIENCE, print)
  watching.abort()
  await watch
  await judgeDeletions(stage, print)

  const { samples } = stage.replicas.survivor
  const memory = { early: middle(samples, times.early), late: middle(samples, times.late) }
  const outcome: SoakOutcome = { ...rest, memory, times, sessions: await stage.vcsim.clients() }
  for (const line of summaryLines({ stage, storm, outcome, options })) print(line)
  const { ledger, replicas } = stage
  const problems = judgeOutcome({
    ...outcome,
    wrong: ledger.wrong,
    kills: replicas.other.restarts,
    failures: storm.failures,
    minutes,
  })
  for (const line of await brokenLines({ stage, storm, problems, begin })) print(line)
  if (problems.length > 0)
    print(
      `\nto see it again: npm run soak -- --nodes ${count} --minutes ${minutes} --seed ${seed} --unbound ${unbound}${far ? ' --far' : ''}`,
    )
  return problems.length === 0
}

/** Waits until nothing is wrong, and is not a while later either; resolves with what still is. */
async function untilRight(
  stage: SoakStage,
  within: number,
  print: (line: string) => void = () => undefined,
): Promise<Pick<SoakOutcome, 'held' | 'settledAfter'>> {
  const start = performance.now()
  let settledAfter: number | undefined
  let told = start
  for (;;) {
    const held = judgeNodes(stage.ledger.machines, stage.nodes.all(), await stage.reports())
    const now = performance.now() - start
    if (held[0] !== undefined && performance.now() - told > MINUTE) {
      print(`${held.length} problems are left, as ${held[0].node}: ${held[0].problem}`)
      told = performance.now()
    }
    if (held.length > 0) settledAfter = undefined
    else settledAfter ??= now
    if (settledAfter !== undefined && now - settledAfter >= STILL) return { held, settledAfter }
    if (settledAfter === undefined && now > within) return { held, settledAfter: now }
    await sleep(1_000)
  }
}

/** Puts each Node that was deleted since the last call before the ledger. */
async function judgeDeletions(
  { nodes, ledger, fleet }: SoakStage,
  print: (line: string) => void,
): Promise<void> {
  for (const { object, at } of nodes.deletions()) {
    const wrong = ledger.deleted(object.metadata, at)
    if (wrong === undefined) continue
    print(`WRONG DELETION of ${wrong.node}: ${wrong.why}`)
    // A person starts its kubelet anew, and the soak goes on.
    for (const guest of fleet.guests) if (guest.machine.nodeUID === wrong.uid) guest.restartKubelet()
  }
}

async function every(ms: number, signal: AbortSignal, act: () => Promise<void>): Promise<void> {
  while (!signal.aborted) {
    await act()
    // sleep() rejects only when the signal aborts.
    await sleep(ms, undefined, { signal }).catch(() => undefined)
  }
}
