// Nothing fails here: what the brake must not take for a fault of vCenter.
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { SETTINGS } from '../fixtures/facts.ts'
import { createWorld } from './create-world.ts'
import { faultOf } from './faults/all.ts'
import { judgeTheEnd } from './invariants/in-the-end.ts'
import { createRandom } from './random.ts'
import { drawSettings } from './settings.ts'
import { createTimeline } from './timeline.ts'

const SEEDS = 3
/** One or two VMs may vanish at once, and more are missing at the same time: a proof takes longer than a replacement. */
const STRICT = { deletion: 'on', maxAbsentShare: 0.2, maxAbsentMinimum: 1, absentFor: 90_000 } as const
/** Nodes are verified first. */
const CALM = 120_000
/** Six workers, each within a minute. */
const REPLACING = 6 * 60_000

/** kube-controller-manager's `--node-monitor-grace-period`, milliseconds: before Kubernetes 1.32, and of who waits longer. */
const GRACE_PERIODS = [40_000, 300_000]

/** Lets a world pass in which Cluster API replaces the workers of a vCenter and nobody else does anything. */
async function replaced(seed: number, gracePeriod: number) {
  const random = createRandom(seed)
  const timeline = createTimeline()
  const drawn = drawSettings(random)
  const lifecycle = { ...drawn.lifecycle, ...STRICT }
  const { absentFor, leaderAge } = lifecycle
  const world = createWorld(random, timeline, { ...drawn, lifecycle })
  world.machines.kubelets.gracePeriod = gracePeriod
  const engaged = new Set<string>()
  const pass = async (ms: number): Promise<void> => {
    const end = timeline.now + ms
    while (timeline.now < end && timeline.step()) {
      await nextTurn()
      for (const name of world.judge.braked.keys()) engaged.add(name)
    }
  }
  await pass(CALM)
  const [vCenter] = world.vCenters
  const [machine] = world.machines.all
  if (vCenter === undefined || machine === undefined) throw new Error('every world has one')
  faultOf('rolling-replacement')(world, { machine, vCenter })
  await pass(REPLACING + 6 * absentFor + leaderAge + gracePeriod)
  judgeTheEnd(world)
  world.end()
  await nextTurn()
  return {
    engaged: [...engaged],
    violations: world.judge.violations,
    deletions: world.judge.deletions.length,
  }
}

for (const gracePeriod of GRACE_PERIODS)
  t.test(`a rolling replacement engages no brake, and waits for nobody: ${gracePeriod} ms`, async (t) => {
    let deletions = 0
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { engaged, violations, ...counted } = await replaced(seed, gracePeriod)
      t.same({ engaged, violations }, { engaged: [], violations: [] }, `seed ${seed}`)
      deletions += counted.deletions
    }
    t.ok(deletions > 0, 'Rollcall deletes some of them')
  })

/** Longer than the last answer takes to come, milliseconds. */
const FEW_SECONDS = 10_000
/** Minutes apart, milliseconds: no wave, and four are missing at the same time. */
const APART = 90_000

/** Lets a world pass in which workers are destroyed one after the other; how long it took until each one's Node was deleted. */
async function destroyedOneByOne(seed: number, gracePeriod: number) {
  const random = createRandom(seed)
  const timeline = createTimeline()
  const { lifecycle } = SETTINGS
  const world = createWorld(random, timeline, { ...drawSettings(random), lifecycle })
  world.machines.kubelets.gracePeriod = gracePeriod
  const pass = async (ms: number): Promise<void> => {
    const end = timeline.now + ms
    while (timeline.now < end && timeline.step()) await nextTurn()
  }
  await pass(Math.max(CALM, lifecycle.leaderAge))
  const [, ...workers] = world.machines.all.filter(
    ({ vm, migrated }) => vm?.vCenter === world.vCenters[0] && !migrated,
  )
  for (const machine of workers) {
    world.machines.destroy(machine)
    await pass(APART)
  }
  await pass(lifecycle.absentFor)
  const took = workers.map(({ nodeUID, vanishedAt }) => {
    const deletion = world.judge.deletions.find((each) => each.nodeUID === nodeUID)
    return deletion === undefined ? Number.POSITIVE_INFINITY : deletion.at - vanishedAt
  })
  world.end()
  await nextTurn()
  return { took, violations: world.judge.violations }
}

for (const gracePeriod of GRACE_PERIODS)
  t.test(`workers that are destroyed one by one all go, in absentFor: ${gracePeriod} ms`, async (t) => {
    for (let seed = 1; seed <= SEEDS; seed++) {
      const { took, violations } = await destroyedOneByOne(seed, gracePeriod)
      t.same(violations, [], `seed ${seed}`)
      t.ok(took.length >= 3, `${took.length} workers are destroyed`)
      t.ok(Math.max(...took) <= SETTINGS.lifecycle.absentFor + FEW_SECONDS, `${took} ms`)
      t.ok(Math.min(...took) >= SETTINGS.lifecycle.absentFor, 'and no sooner')
    }
  })
