import type { DecisionConfig } from '../../controller/config/config.ts'
import { atOnce } from '../../controller/loops/node/decide/lifecycle/brake.ts'
import { ANNOTATION_DELETION } from '../../controller/types/node.ts'
import { calmOf, simulateCalm } from './calm.ts'
import { unleash } from './faults/storm.ts'
import { isAwaited } from './invariants/deletion.ts'
import { judgeQuiet, judgeTheEnd, patience } from './invariants/in-the-end.ts'
import { isDeparting, readyOf, type StoredNode } from './model/objects.ts'
import { type RunResult, runWorld } from './run-world.ts'
import { machinesOf, type World } from './world.ts'

const SCENES = 8
const QUIET_MINUTES = 3

export interface SimulateOptions {
  /** The faults of the run that are let begin, by ID; all by default. */
  readonly only?: ReadonlySet<string> | undefined
  /** Of the scenes, those alone in which a fault of one of these kinds was put on purpose; all by default. */
  readonly about?: ReadonlySet<string> | undefined
  /** Ends the run early, milliseconds of the model's time. */
  readonly until?: number
}

/** Lets one world pass: faults, then peace; or, every few seeds, one in which nothing fails. */
export async function simulate(
  seed: number,
  { only, about, until = Number.POSITIVE_INFINITY }: SimulateOptions = {},
): Promise<RunResult> {
  const calm = about === undefined ? calmOf(seed) : undefined
  if (calm !== undefined) return simulateCalm(seed, calm, until)
  return runWorld(seed, { until }, async (world, passing) => {
    const storm = unleash(world, { scenes: SCENES, turn: (seed * SCENES) / 2, only, about })
    const { judge } = world
    await passing.until(() => storm.over)
    keepPeople(world)
    await passing.pass(patience(world))
    if (!passing.isOver()) judgeTheEnd(world)
    judge.count()
    await passing.pass(QUIET_MINUTES * 60_000)
    if (!passing.isOver()) judgeQuiet(world, QUIET_MINUTES)
    return { pairs: storm.pairs, faults: storm.faults }
  })
}

/**
 * People who look after the cluster once the faults are over, and let go whom the brake holds where so many vanished at
 * once, as the controller found it, that it will not release itself.
 */
function keepPeople(world: World): void {
  const { api, timeline, annotate } = world
  for (const { metadata } of api.nodes.values()) {
    if (metadata.annotations[ANNOTATION_DELETION] !== undefined) annotate(metadata.name, undefined)
  }
  const look = (): void => {
    // Those that were never verified are counted together.
    for (const group of [...world.vCenters.map(({ instanceUUID }) => instanceUUID), '']) {
      const bound = [...api.nodes.values()].filter((node) => {
        const { name, uid } = node.metadata
        const { vm, namedVM, nodeUID, brakeEngagedAt } = api.reports.get(name)?.status ?? {}
        const known = vm ?? namedVM ?? node.spec.providerID ?? brakeEngagedAt
        const names = known !== undefined || isAwaited(world, node)
        return nodeUID === uid && !isDeparting(node) && names && (vm?.vCenterInstanceUUID ?? '') === group
      })
      // Of one that nobody has registered again a person does not know that it is gone, but the brake counts it.
      const missing = bound.filter((node) => {
        const machines = machinesOf(world, node.metadata.uid)
        return machines.length > 0 && machines.every(({ vm }) => vm === undefined) && readyOf(node) !== 'True'
      })
      const gone = missing.filter(({ metadata: { uid } }) =>
        machinesOf(world, uid).every(({ destroyed }) => destroyed),
      )
      const status = ({ metadata: { name } }: StoredNode) => api.reports.get(name)?.status
      const { maxAbsentMinimum, maxAbsentShare } = world.settings.lifecycle
      const allowed = Math.max(maxAbsentMinimum, Math.floor(bound.length * maxAbsentShare))
      // Those that the status names, whatever became of their VMs.
      const latched = bound.filter((node) => status(node)?.brakeEngagedAt !== undefined)
      const moments = missing.map((node) => Date.parse(status(node)?.absentSince ?? ''))
      if (Math.max(latched.length, largestWave(moments, world.settings.lifecycle)) <= allowed) continue
      for (const { metadata } of gone) {
        const held = api.reports.get(metadata.name)?.status.brakeEngagedAt !== undefined
        if (held && metadata.annotations[ANNOTATION_DELETION] === undefined)
          annotate(metadata.name, 'proceed')
      }
    }
    timeline.after(20_000, 'a person looks', look)
  }
  look()
}

/** How many of these moments, milliseconds, follow one another closely; in the status they are seconds. */
function largestWave(moments: readonly number[], lifecycle: DecisionConfig['lifecycle']): number {
  const gap = atOnce(lifecycle) + 1_000
  let [largest, size, last] = [0, 0, Number.NEGATIVE_INFINITY]
  for (const moment of moments.toSorted((a, b) => a - b)) {
    size = moment - last <= gap ? size + 1 : 1
    largest = Math.max(largest, size)
    last = moment
  }
  return largest
}
