import type { World } from '../world.ts'
import { faultOf, PAIRS } from './all.ts'
import { type Beat, drawFocus, drawPairs, drawRecipe } from './scenes.ts'

/** A fault that has begun. */
export interface PlayedFault {
  /** The scene and its place in it, as `3.0`: the same in every run of a seed. */
  readonly id: string
  readonly kind: string
  /** Where it strikes. */
  readonly at: string
  /** Milliseconds of the model's time. */
  readonly begin: number
  readonly end: number
}

export interface Storm {
  readonly over: boolean
  /** Pairs of kinds that were active at once, as indexes into {@link PAIRS}. */
  readonly pairs: ReadonlySet<number>
  readonly faults: readonly PlayedFault[]
}

export interface StormOptions {
  /** How many scenes pass, one after the other. */
  readonly scenes: number
  /** Counts the scenes of all runs, so that every pair has its turn. */
  readonly turn: number
  /** The faults that are let begin, by ID; undefined for all. */
  readonly only: ReadonlySet<string> | undefined
  /** Where given, scenes with a fault of one of these kinds alone. */
  readonly about: ReadonlySet<string> | undefined
}

const PAIR_NUMBERS = new Map(PAIRS.map(([a, b], index) => [`${a} ${b}`, index]))
/** Nodes are verified first. */
const CALM = 60_000

/**
 * Lets scenes pass, one after the other. Each scene and each fault draws from a source of its own, so that whoever leaves one
 * fault out has all others as they were.
 */
export function unleash(world: World, { scenes, turn, only, about }: StormOptions): Storm {
  const { timeline, machines } = world
  const state = { over: false, pairs: new Set<number>(), faults: [] as PlayedFault[] }
  const active = new Map<string, number>()

  function count(kind: string): void {
    for (const other of active.keys()) {
      const number = PAIR_NUMBERS.get(`${kind} ${other}`) ?? PAIR_NUMBERS.get(`${other} ${kind}`)
      if (number !== undefined) state.pairs.add(number)
    }
    active.set(kind, (active.get(kind) ?? 0) + 1)
  }

  function discount(kind: string): void {
    const left = (active.get(kind) ?? 1) - 1
    if (left > 0) active.set(kind, left)
    else active.delete(kind)
  }

  function play({ kind, focus: first, begin, end }: Beat, id: string): void {
    timeline.after(begin, `${kind} begins`, () => {
      // It may have been made anew since.
      const machine = machines.all.findLast(({ nodeName }) => nodeName === first.machine.nodeName)
      const focus = { ...first, machine: machine ?? first.machine }
      const at = `${focus.machine.nodeName} in ${focus.vCenter.name}`
      timeline.note(`at ${at}`)
      state.faults.push({ id, kind, at, begin: timeline.now, end: timeline.now + end - begin })
      count(kind)
      const finish = faultOf(kind)({ ...world, random: world.random.derive(`fault ${id}`) }, focus)
      timeline.after(end - begin, `${kind} ends`, () => {
        discount(kind)
        finish?.()
      })
    })
  }

  function scene(number: number): void {
    const random = world.random.derive(`scene ${number}`)
    const focus = drawFocus(world, random)
    if (number === scenes || focus === undefined) {
      state.over = true
      return
    }
    const { length, beats } =
      about === undefined && number % 2 === 0
        ? drawPairs(world, random, focus, turn + number / 2)
        : drawRecipe(world, random, focus, about)
    for (const [index, beat] of beats.entries()) {
      const id = `${number}.${index}`
      if (only?.has(id) !== false) play(beat, id)
    }
    // Some begin while others have not been got over yet.
    timeline.after(length + random.pick([0, 10_000, 60_000]), 'a scene ends', () => scene(number + 1))
  }

  timeline.after(CALM, 'the storm begins', () => scene(0))
  return state
}
