/** Lets one world pass by its seed, and says what came of it. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { DecisionConfig } from '../../controller/config/config.ts'
import { createWorld, type WorldPlan } from './create-world.ts'
import type { PlayedFault } from './faults/storm.ts'
import type { Violation } from './invariants/promises.ts'
import { drawPopulation } from './population.ts'
import { createRandom } from './random.ts'
import { drawSettings } from './settings.ts'
import { createTimeline } from './timeline.ts'
import type { World } from './world.ts'

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

/** What lets the model's time pass, in one run. */
export interface Passing {
  /** Takes steps until something holds, or the run is over. */
  until(done: () => boolean): Promise<void>
  /** Takes steps for so many milliseconds of the model's time. */
  pass(ms: number): Promise<void>
  /** Whether a promise was broken, or the time is up. */
  isOver(): boolean
}

export interface WorldOptions extends Pick<Partial<WorldPlan>, 'population' | 'onlooker'> {
  /** From the settings that the seed draws to those of this world; unchanged by default. */
  readonly settings?: (drawn: DecisionConfig) => DecisionConfig
  /** Milliseconds of the model's time after which the run is over. */
  readonly until: number
}

/** A run has some ten thousand. */
const MOST_STEPS = 300_000

/** The same seed gives the same run, step by step. `play` resolves with the faults that it has let begin. */
export async function runWorld(
  seed: number,
  { settings: settingsOf = (drawn) => drawn, population, onlooker, until }: WorldOptions,
  play: (world: World, passing: Passing) => Promise<Pick<RunResult, 'pairs' | 'faults'>>,
): Promise<RunResult> {
  const random = createRandom(seed)
  const timeline = createTimeline()
  const settings = settingsOf(drawSettings(random))
  const world = createWorld(random, timeline, {
    settings,
    population: population ?? drawPopulation(random, settings),
    onlooker,
  })
  const { judge } = world
  const passing: Passing = {
    isOver: () => judge.violations.length > 0 || timeline.now > until,
    async until(done) {
      while (!passing.isOver() && !done() && timeline.step()) {
        await nextTurn()
        if (timeline.steps > MOST_STEPS)
          judge.violate('no endless work', `${timeline.steps} steps in one run`)
      }
    },
    pass(ms) {
      const end = timeline.now + ms
      return passing.until(() => timeline.now >= end)
    },
  }
  try {
    const played = await play(world, passing)
    return {
      seed,
      steps: timeline.steps,
      time: timeline.now,
      ...played,
      deletions: judge.deletions.length,
      violation: judge.violations[0],
      trace: timeline.trace(),
    }
  } finally {
    world.end()
    await nextTurn()
  }
}
