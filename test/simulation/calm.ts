/** Runs in which nothing fails: what the brake must not take for a fault of vCenter, and what is to go in time. */
import type { DecisionConfig, LifecycleConfig } from '../../controller/config/config.ts'
import { TAINT_UNINITIALIZED } from '../../controller/types/well-known.ts'
import { SETTINGS } from '../fixtures/facts.ts'
import { faultOf } from './faults/all.ts'
import { judgeTheEnd } from './invariants/in-the-end.ts'
import { type Passing, type RunResult, runWorld } from './run-world.ts'
import type { World } from './world.ts'

/**
 * One or two VMs may vanish at once, and more are missing at the same time: a proof takes longer than a replacement. By this
 * `absentFor`, those vanish at once of which each goes within 22.5 s of the next.
 */
export const STRICT = { deletion: 'on', maxAbsentShare: 0.2, maxAbsentMinimum: 1, absentFor: 90_000 } as const
/** Nodes are verified first. */
const CALM = 120_000
/** Six workers, each within a minute. */
const REPLACING = 6 * 60_000
/** The brake holds for longer than this, milliseconds. */
const LOOKS = 1_000
/** Longer than the last answer takes to come, milliseconds. */
const FEW_SECONDS = 10_000
/** Minutes apart, milliseconds: no wave, and four are missing at the same time. */
const APART = 90_000
/** kube-controller-manager's `--node-monitor-grace-period`, milliseconds: the default before Kubernetes 1.32, and a long one. */
const GRACE_PERIODS = [40_000, 300_000]

const SLOW_NODES = 60
/** Longer than all of them hold up others until they are known, milliseconds. */
const FOUND_OUT = 60_000
const NEW_NODES = 4
/** A machine that is created is initialized within this time, its boot included; milliseconds. */
const INITIALIZED = 20_000

interface Calm {
  readonly name: string
  /** How many Nodes Rollcall deletes at least, in a world of some size. */
  readonly deletes: number
  readonly lifecycle: (drawn: LifecycleConfig) => LifecycleConfig
  readonly play: (world: World, passing: Passing) => Promise<void>
}

/** As Cluster API replaces the workers of a vCenter. */
const replaced: Calm = {
  name: 'a rolling replacement engages no brake, and waits for nobody',
  deletes: 1,
  lifecycle: (drawn) => ({ ...drawn, ...STRICT }),
  async play(world, { pass, isOver }) {
    const { machines, vCenters, judge, settings, timeline } = world
    const look = (): void => {
      for (const [name] of judge.braked)
        judge.violate('a rolling replacement engages no brake', `it holds ${name}`)
      timeline.after(LOOKS, 'a person looks for brakes', look)
    }
    look()
    await pass(CALM)
    const [vCenter] = vCenters
    const [machine] = machines.all
    if (vCenter === undefined || machine === undefined) throw new Error('every world has one')
    faultOf('rolling-replacement')(world, { machine, vCenter })
    const { absentFor, leaderAge } = settings.lifecycle
    await pass(REPLACING + 6 * absentFor + leaderAge + machines.kubelets.gracePeriod)
    if (!isOver()) judgeTheEnd(world)
  },
}

const destroyedOneByOne: Calm = {
  name: 'workers that are destroyed one by one all go, in absentFor',
  deletes: 3,
  lifecycle: () => SETTINGS.lifecycle,
  async play({ machines, vCenters, judge, settings }, { pass, isOver }) {
    const { absentFor, leaderAge } = settings.lifecycle
    await pass(Math.max(CALM, leaderAge))
    const [, ...workers] = machines.all.filter(({ vm, migrated }) => vm?.vCenter === vCenters[0] && !migrated)
    for (const machine of workers) {
      machines.destroy(machine)
      await pass(APART)
    }
    await pass(absentFor)
    if (isOver()) return
    for (const { nodeName, nodeUID, vanishedAt } of workers) {
      const { at = Number.POSITIVE_INFINITY } =
        judge.deletions.find((deletion) => deletion.nodeUID === nodeUID) ?? {}
      const took = at - vanishedAt
      if (took < absentFor || took > absentFor + FEW_SECONDS)
        judge.violate('workers that go one by one go in absentFor', `${nodeName} in ${took} ms`)
    }
  },
}

/** More than are worked on at once, of which none can be written. */
const slowNodes: Calm = {
  name: 'Nodes whose writes are slow hold up nobody',
  deletes: 1,
  lifecycle: () => SETTINGS.lifecycle,
  async play({ machines, vCenters, judge, settings, api }, { pass, isOver }) {
    const { absentFor, leaderAge } = settings.lifecycle
    await pass(Math.max(CALM, leaderAge))
    const [vCenter] = vCenters
    const folder = vCenter?.folders.at(0)
    const worker = machines.all.findLast(({ vm, migrated }) => vm?.vCenter === vCenter && !migrated)
    if (vCenter === undefined || folder === undefined || worker === undefined)
      throw new Error('every world has one')
    for (let number = 1; number <= SLOW_NODES; number++) {
      const { nodeName } = machines.create(`slow-${number}`, vCenter, folder)
      api.burdens.set(nodeName, { slow: 10 * FEW_SECONDS, lost: true, denied: false })
    }
    machines.destroy(worker)
    const from = judge.deletions.length
    // Each is found out to be slow once.
    await pass(FOUND_OUT)
    for (let number = 1; number <= NEW_NODES; number++) {
      await pass(FEW_SECONDS)
      const { nodeName } = machines.create(`new-${number}`, vCenter, folder)
      await pass(INITIALIZED)
      if (isOver()) return
      const taints = api.nodes.get(nodeName)?.spec.taints
      if (taints?.every(({ key }) => key !== TAINT_UNINITIALIZED) !== true)
        judge.violate('Nodes whose writes are slow hold up nobody', `${nodeName} is not initialized`)
    }
    await pass(absentFor)
    if (!isOver() && !judge.deletions.slice(from).some(({ nodeUID }) => nodeUID === worker.nodeUID))
      judge.violate('Nodes whose writes are slow hold up nobody', `${worker.nodeName} is not deleted`)
  },
}

/** All, with each grace period. */
export const CALM_RUNS: readonly (Calm & { readonly gracePeriod: number })[] = GRACE_PERIODS.flatMap(
  (gracePeriod) => [replaced, destroyedOneByOne, slowNodes].map((calm) => ({ ...calm, gracePeriod })),
)

/** One seed in so many is calm. */
const EVERY = 16

/** The calm run of a seed; undefined where faults are to happen. */
export function calmOf(seed: number): (typeof CALM_RUNS)[number] | undefined {
  return seed % EVERY === 0 ? CALM_RUNS[(seed / EVERY) % CALM_RUNS.length] : undefined
}

/** Lets one world pass in which nobody does anything else. */
export function simulateCalm(
  seed: number,
  { lifecycle, gracePeriod, play }: (typeof CALM_RUNS)[number],
  until = Number.POSITIVE_INFINITY,
): Promise<RunResult> {
  const settings = (drawn: DecisionConfig) => ({ ...drawn, lifecycle: lifecycle(drawn.lifecycle) })
  return runWorld(seed, { settings, until }, async (world, passing) => {
    world.machines.kubelets.gracePeriod = gracePeriod
    await play(world, passing)
    return { pairs: new Set(), faults: [] }
  })
}
