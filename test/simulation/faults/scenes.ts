/** What happens in a scene, and when: drawn at its beginning. */
import type { Random } from '../random.ts'
import type { World } from '../world.ts'
import { KINDS, PAIRS } from './all.ts'
import type { Focus } from './fault.ts'
import { recipesFor, SILENT } from './recipes.ts'

export interface Beat {
  readonly kind: string
  readonly focus: Focus
  /** Milliseconds from the beginning of the scene. */
  readonly begin: number
  readonly end: number
}

export interface Scene {
  readonly length: number
  readonly beats: readonly Beat[]
}

/** What makes a machine silent to the API server: only then is its Node in danger. */
const SILENCERS = ['node-cut-off', 'powered-off', 'node-cut-off', 'suspended']
/** A kubelet's silence is noticed after this, and a VM's absence not at once. */
const NOTICE = 60_000

/** One of the dangerous scenes, of those with one of these kinds where they are given, most often with something besides. */
export function drawRecipe(
  world: World,
  random: Random,
  anywhere: Focus,
  about: ReadonlySet<string> | undefined,
): Scene {
  const { settings } = world
  const recipes = recipesFor(isLonely(world)).filter(
    ({ faults }) => about === undefined || faults.some(({ kind }) => about.has(kind)),
  )
  const { faults, small = false, reported = false } = random.pick(recipes)
  const here = ({ machine, vCenter }: Focus): boolean =>
    vCenter === world.vCenters.at(-1) && (machine.agent || !reported)
  const focus = small ? (drawFocus(world, random, here) ?? anywhere) : anywhere
  const { absentFor, leaderAge } = settings.lifecycle
  const proof = NOTICE + Math.max(absentFor, random.chance(0.5) ? leaderAge : 0)
  const length = random.between(1.5, 2.5) * proof
  const other = beside(world, random, focus)
  const beats = faults.map(({ kind, at = 0, until, who }): Beat => {
    const begin = at * proof + random.between(0, 3_000)
    return {
      kind: kind === SILENT ? random.pick(SILENCERS) : kind,
      focus: who === 'beside' ? other : focus,
      begin,
      end: until === undefined ? length : Math.max(begin, until * proof * random.between(0.9, 1.1)),
    }
  })
  return { length, beats: [...beats, ...extras(world, random, focus, length, 0.4)] }
}

/** Whether the last vCenter has no more than two Nodes' VMs. */
function isLonely({ vCenters }: World): boolean {
  const vms = [...(vCenters[1]?.vms.values() ?? [])].filter(({ machine }) => machine !== undefined)
  return vms.length === 1 || vms.length === 2
}

/** Three pairs, of which every one has its turn, and what chance adds. */
export function drawPairs(world: World, random: Random, focus: Focus, turn: number): Scene {
  const { settings } = world
  const { absentFor, leaderAge } = settings.lifecycle
  const length = random.between(0.5, 3) * absentFor + random.next() * leaderAge + 50_000
  const pair = (number: number) => PAIRS[number % PAIRS.length] ?? []
  const kinds = new Set([...pair(3 * turn), ...pair(3 * turn + 1), ...pair(3 * turn + 2)])
  if (random.chance(0.5)) kinds.add(random.pick(SILENCERS))
  const beats = [...kinds].map((kind) => drawBeat(world, random, kind, focus, length))
  return { length, beats: [...beats, ...extras(world, random, focus, length, 0.35)] }
}

function extras(world: World, random: Random, focus: Focus, length: number, chance: number): Beat[] {
  const beats: Beat[] = []
  while (random.chance(chance)) beats.push(drawBeat(world, random, random.pick(KINDS), focus, length))
  return beats
}

/** All that are drawn so overlap in the middle. */
function drawBeat(world: World, random: Random, kind: string, focus: Focus, length: number): Beat {
  return {
    kind,
    focus: random.chance(0.8) ? focus : (drawFocus(world, random) ?? focus),
    begin: random.next() * 0.4 * length * (random.chance(0.3) ? 0.02 : 1),
    end: random.between(0.55, 1) * length,
  }
}

/**
 * A machine that a vCenter lists, and that is such; undefined where there is none left. One number is drawn, however many
 * there are: what comes after it does not depend on what has happened before.
 */
export function drawFocus(
  { machines }: World,
  random: Random,
  isSuch: (focus: Focus) => boolean = () => true,
): Focus | undefined {
  const there = machines.all
    .flatMap((machine) => (machine.vm === undefined ? [] : [{ machine, vCenter: machine.vm.vCenter }]))
    .filter(isSuch)
  return there[random.below(there.length)]
}

function beside({ machines }: World, random: Random, focus: Focus): Focus {
  const others = machines.all.filter(
    (machine) => machine !== focus.machine && machine.vm?.vCenter === focus.vCenter,
  )
  const machine = others[random.below(others.length)]
  return machine === undefined ? focus : { ...focus, machine }
}
