import type { World } from '../world.ts'
import { faultOf, PAIRS } from './all.ts'
import { type Beat, drawFocus, drawPairs, drawRecipe } from './scenes.ts'

export interface Storm {
  readonly over: boolean
  /** Pairs of kinds that were active at once, as indexes into {@link PAIRS}. */
  readonly pairs: ReadonlySet<number>
}

const PAIR_NUMBERS = new Map(PAIRS.map(([a, b], index) => [`${a} ${b}`, index]))
/** Nodes are verified first. */
const CALM = 60_000

/** Lets so many scenes pass, one after the other. `turn` counts those of all runs, so that every pair has its turn. */
export function unleash(world: World, scenes: number, turn: number): Storm {
  const { timeline, random, machines } = world
  const state = { over: false, pairs: new Set<number>() }
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

  function play({ kind, focus: first, begin, end }: Beat): void {
    timeline.after(begin, `${kind} begins`, () => {
      // It may have been made anew since.
      const machine = machines.all.findLast(({ nodeName }) => nodeName === first.machine.nodeName)
      const focus = { ...first, machine: machine ?? first.machine }
      timeline.note(`at ${focus.machine.nodeName} in ${focus.vCenter.name}`)
      count(kind)
      const finish = faultOf(kind)(world, focus)
      timeline.after(end - begin, `${kind} ends`, () => {
        discount(kind)
        finish?.()
      })
    })
  }

  function scene(number: number): void {
    const focus = drawFocus(world)
    if (number === scenes || focus === undefined) {
      state.over = true
      return
    }
    const { length, beats } =
      number % 2 === 0 ? drawPairs(world, focus, turn + number / 2) : drawRecipe(world, focus)
    for (const beat of beats) play(beat)
    // Some begin while others have not been got over yet.
    timeline.after(length + random.pick([0, 10_000, 60_000]), 'a scene ends', () => scene(number + 1))
  }

  timeline.after(CALM, 'the storm begins', () => scene(0))
  return state
}
