/** Scenes: a few faults at once, on one Node most often, for a while. */
import type { World } from '../world.ts'
import { faultOf, KINDS, PAIRS } from './all.ts'
import type { Focus } from './fault.ts'

export interface Storm {
  /** Lets one scene pass; resolves the next when it is over. */
  readonly over: boolean
  /** Pairs of kinds that were active at once, as indexes into {@link PAIRS}. */
  readonly pairs: ReadonlySet<number>
}

/** Faults that only a silent machine makes dangerous come with one. */
const SILENCERS = ['kubelet-dead', 'node-cut-off', 'powered-off', 'agent-dead']

const PAIR_NUMBERS = new Map(PAIRS.map(([a, b], index) => [`${a} ${b}`, index]))

export function unleash(
  world: World,
  scenes: number,
  firstPair: number,
  pairs: Set<number>,
): { over: boolean } {
  const { timeline, random, machines, settings } = world
  const state = { over: false }
  const active = new Map<string, number>()

  function count(kind: string): void {
    for (const other of active.keys()) {
      const number = PAIR_NUMBERS.get(`${kind} ${other}`) ?? PAIR_NUMBERS.get(`${other} ${kind}`)
      if (number !== undefined) pairs.add(number)
    }
    active.set(kind, (active.get(kind) ?? 0) + 1)
  }

  function discount(kind: string): void {
    const left = (active.get(kind) ?? 1) - 1
    if (left > 0) active.set(kind, left)
    else active.delete(kind)
  }

  function drawFocus(): Focus | undefined {
    const there = machines.all.filter(({ vm }) => vm !== undefined)
    if (there.length === 0) return undefined
    const machine = random.pick(there)
    const { vm } = machine
    return vm === undefined ? undefined : { machine, vCenter: vm.vCenter }
  }

  function strike(kind: string, focus: Focus, begin: number, last: number): void {
    timeline.after(begin, `${kind} begins`, () => {
      timeline.note(`at ${focus.machine.nodeName} in ${focus.vCenter.name}`)
      count(kind)
      const end = faultOf(kind)(world, focus)
      timeline.after(last, `${kind} ends`, () => {
        discount(kind)
        end?.()
      })
    })
  }

  function scene(number: number): void {
    const focus = drawFocus()
    if (number === scenes || focus === undefined) {
      state.over = true
      return
    }
    const [first, second] = PAIRS[(firstPair + number) % PAIRS.length] ?? ['', '']
    const kinds = [first, second]
    if (random.chance(0.7)) kinds.push(random.pick(SILENCERS))
    while (random.chance(0.35)) kinds.push(random.pick(KINDS))
    const { absentFor, leaderAge } = settings.lifecycle
    const length = random.between(0.5, 3) * absentFor + random.next() * leaderAge + 50_000
    for (const kind of new Set(kinds)) {
      const where = random.chance(0.8) ? focus : (drawFocus() ?? focus)
      // All overlap in the middle.
      const begin = random.next() * 0.4 * length * (random.chance(0.3) ? 0.02 : 1)
      strike(kind, where, begin, random.between(0.55, 1) * length - begin)
    }
    // Some begin while others have not been got over yet.
    timeline.after(length + random.pick([0, 10_000, 60_000]), 'a scene ends', () => scene(number + 1))
  }

  // Nodes are verified first.
  timeline.after(60_000, 'the storm begins', () => scene(0))
  return state
}
