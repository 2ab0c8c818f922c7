import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DecisionConfig } from '../../controller/config/config.ts'
import { calmOf, simulateCalm } from './calm.ts'
import { createWorld } from './create-world.ts'
import { type PlayedFault, unleash } from './faults/storm.ts'
import { isAwaited } from './invariants/deletion.ts'
import { judgeQuiet, judgeTheEnd, patience } from './invariants/in-the-end.ts'
import type { Violation } from './invariants/promises.ts'
import { type NodeObject, readyOf } from './model/objects.ts'
import { createRandom } from './random.ts'
import { createTimeline } from './timeline.ts'
import { machinesOf, type World } from './world.ts'

export interface RunResult {
  readonly seed: number
  readonly steps: number
  /** Milliseconds of the model's time. */
  readonly time: number
  /** Indexes of the pairs of faults that were active at once. */
  readonly pairs: ReadonlySet<number>
  /** Those that have begun, in their order. */
  readonly faults: readonly PlayedFault[]
  readonly deletions: number
  /** The first, which has ended the run. */
  readonly violation: Violation | undefined
  /** The last steps before it. */
  readonly trace: readonly string[]
}

const SCENES = 8
const QUIET_MINUTES = 3
/** A run has some ten thousand. */
const MOST_STEPS = 300_000

/**
 * Lets one world pass: faults, then peace; or, every few seeds, one in which nothing fails. The same seed gives the same run,
 * step by step; with the IDs of some faults, the same one without all others. A storm ends early where that much of the
 * model's time has passed, milliseconds.
 */
export async function simulate(
  seed: number,
  only?: ReadonlySet<string>,
  until = Number.POSITIVE_INFINITY,
): Promise<RunResult> {
  const calm = calmOf(seed)
  if (calm !== undefined) return simulateCalm(seed, calm)
  const random = createRandom(seed)
  const timeline = createTimeline()
  const world = createWorld(random, timeline)
  const storm = unleash(world, { scenes: SCENES, turn: (seed * SCENES) / 2, only })
  const { judge } = world

  const isOver = (): boolean => judge.violations.length > 0 || timeline.now > until

  /** Steps until something holds, or a promise is broken. */
  async function passUntil(done: () => boolean): Promise<void> {
    while (!isOver() && !done() && timeline.step()) {
      await nextTurn()
      if (timeline.steps > MOST_STEPS) judge.violate('no endless work', `${timeline.steps} steps in one run`)
    }
  }
  const pass = (ms: number): Promise<void> => {
    const end = timeline.now + ms
    return passUntil(() => timeline.now >= end)
  }

  await passUntil(() => storm.over)
  keepPeople(world)
  await pass(patience(world))
  if (!isOver()) judgeTheEnd(world)
  judge.count()
  await pass(QUIET_MINUTES * 60_000)
  if (!isOver()) judgeQuiet(world, QUIET_MINUTES)
  const result: RunResult = {
    seed,
    steps: timeline.steps,
    time: timeline.now,
    pairs: storm.pairs,
    faults: storm.faults,
    deletions: judge.deletions.length,
    violation: judge.violations[0],
    trace: timeline.trace(),
  }
  world.end()
  await nextTurn()
  return result
}

/**
 * People who look after the cluster once the faults are over, and let go whom the brake holds where so many vanished at
 * once, as the controller found it, that it will not release itself.
 */
function keepPeople(world: World): void {
  const { api, timeline, annotate } = world
  for (const { metadata } of api.nodes.values()) {
    if (metadata.annotations['rollcall.dev/deletion'] !== undefined) annotate(metadata.name, undefined)
  }
  const look = (): void => {
    // Those that were never verified are counted together.
    for (const group of [...world.vCenters.map(({ instanceUUID }) => instanceUUID), '']) {
      const bound = [...api.nodes.values()].filter((node) => {
        const { name, uid } = node.metadata
        const { vm, namedVM, nodeUID, brakeEngagedAt } = api.reports.get(name)?.status ?? {}
        const known = vm ?? namedVM ?? node.spec.providerID ?? brakeEngagedAt
        const names = known !== undefined || isAwaited(world, node)
        return nodeUID === uid && names && (vm?.vCenterInstanceUUID ?? '') === group
      })
      // Of one that nobody has registered again a person does not know that it is gone, but the brake counts it.
      const missing = bound.filter((node) => {
        const machines = machinesOf(world, node.metadata.uid)
        return machines.length > 0 && machines.every(({ vm }) => vm === undefined) && readyOf(node) !== 'True'
      })
      const gone = missing.filter(({ metadata: { uid } }) =>
        machinesOf(world, uid).every(({ destroyed }) => destroyed),
      )
      const status = ({ metadata: { name } }: NodeObject) => api.reports.get(name)?.status
      const { maxAbsentMinimum, maxAbsentShare } = world.settings.lifecycle
      const allowed = Math.max(maxAbsentMinimum, Math.floor(bound.length * maxAbsentShare))
      // Those that the status names, whatever became of their VMs.
      const latched = bound.filter((node) => status(node)?.brakeEngagedAt !== undefined)
      const moments = missing.map((node) => Date.parse(status(node)?.absentSince ?? ''))
      if (Math.max(latched.length, largestWave(moments, world.settings.lifecycle)) <= allowed) continue
      for (const { metadata } of gone) {
        const held = api.reports.get(metadata.name)?.status.brakeEngagedAt !== undefined
        if (held && metadata.annotations['rollcall.dev/deletion'] === undefined)
          annotate(metadata.name, 'proceed')
      }
    }
    timeline.after(20_000, 'a person looks', look)
  }
  look()
}

/** How many of these moments, milliseconds, follow one another closely; in the status they are seconds. */
function largestWave(moments: readonly number[], { absentFor }: DecisionConfig['lifecycle']): number {
  const gap = Math.min(60_000, Math.max(5_000, absentFor / 5)) + 1_000
  let [largest, size, last] = [0, 0, Number.NEGATIVE_INFINITY]
  for (const moment of moments.toSorted((a, b) => a - b)) {
    size = moment - last <= gap ? size + 1 : 1
    largest = Math.max(largest, size)
    last = moment
  }
  return largest
}
