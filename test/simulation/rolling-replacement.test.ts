// Nothing fails here: what the brake must not take for a fault of vCenter.
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { createWorld } from './create-world.ts'
import { faultOf } from './faults/all.ts'
import { judgeTheEnd } from './invariants/in-the-end.ts'
import { createRandom } from './random.ts'
import { drawSettings } from './settings.ts'
import { createTimeline } from './timeline.ts'

const SEEDS = 8
/** One or two VMs may vanish at once, and more are missing at the same time: a proof takes longer than a replacement. */
const STRICT = { deletion: 'on', maxAbsentShare: 0.2, maxAbsentMinimum: 1, absentFor: 90_000 } as const
/** Nodes are verified first. */
const CALM = 120_000
/** Six workers, each within a minute. */
const REPLACING = 6 * 60_000

/** Lets a world pass in which Cluster API replaces the workers of a vCenter and nobody else does anything. */
async function replaced(seed: number) {
  const random = createRandom(seed)
  const timeline = createTimeline()
  const drawn = drawSettings(random)
  const lifecycle = { ...drawn.lifecycle, ...STRICT }
  const { absentFor, leaderAge } = lifecycle
  const world = createWorld(random, timeline, { ...drawn, lifecycle })
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
  await pass(REPLACING + 6 * absentFor + leaderAge)
  judgeTheEnd(world)
  world.end()
  await nextTurn()
  return {
    engaged: [...engaged],
    violations: world.judge.violations,
    deletions: world.judge.deletions.length,
  }
}

t.test('a rolling replacement engages no brake, and waits for nobody', async (t) => {
  let deletions = 0
  for (let seed = 1; seed <= SEEDS; seed++) {
    const { engaged, violations, ...counted } = await replaced(seed)
    t.same({ engaged, violations }, { engaged: [], violations: [] }, `seed ${seed}`)
    deletions += counted.deletions
  }
  t.ok(deletions > 0, 'Rollcall deletes some of them')
})
