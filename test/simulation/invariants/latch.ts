import { ANNOTATION_DELETION } from '../../../controller/types/node.ts'
import { isDeparting, readyOf, type StoredReport } from '../model/objects.ts'
import type { World } from '../world.ts'
import { isMeant } from './brake.ts'
import { deletionFor } from './configuration.ts'

/** For how long a controller may go on believing what was so, milliseconds. */
const STALE = 60_000

/** Remembers of which Nodes the absence may count. To be called every few seconds. */
export function noteUndecided({ api, judge, timeline }: World): void {
  for (const node of api.nodes.values()) {
    const { name, uid, annotations } = node.metadata
    if (
      isDeparting(node) ||
      readyOf(node) === 'True' ||
      isMeant(node) ||
      annotations[ANNOTATION_DELETION] !== undefined
    )
      continue
    const { vm, nodeUID } = api.reports.get(name)?.status ?? {}
    const vCenter = nodeUID === uid ? vm?.vCenterInstanceUUID : undefined
    judge.undecided.set(uid, { nodeName: name, vCenter, at: timeline.now })
  }
}

/**
 * The brake engages where more VMs are gone than may be: Nodes that a person holds do not count, nor those deleted before.
 * As vCenter says, right or wrong: one that wrongly shows nothing is what the brake is there for.
 */
export function judgeLatch(world: World, by: string, before: StoredReport, { status }: StoredReport): void {
  const { api, judge, timeline, settings } = world
  const vCenter = status.vm?.vCenterInstanceUUID
  if (before.status.brakeEngagedAt !== undefined || status.brakeEngagedAt === undefined) return
  // Who was let go just now counts, too.
  noteUndecided(world)
  const deletion = deletionFor(world, by) ?? 'on'
  if (deletion !== 'on')
    judge.violate(
      'no brake is left behind',
      `deletion is ${deletion}, and it engages for ${before.metadata.name}`,
    )
  if (vCenter === undefined) return
  const others = [...judge.undecided].filter(
    ([uid, each]) =>
      uid !== status.nodeUID &&
      each.vCenter === vCenter &&
      timeline.now - each.at < STALE &&
      judge.work(by, each.nodeName).heard?.some(({ gone }) => gone) === true,
  )
  const bound = [...api.reports].filter(
    ([
      name,
      {
        status: { vm, nodeUID },
      },
    ]) => {
      const node = api.nodes.get(name)
      return (
        node !== undefined &&
        node.metadata.uid === nodeUID &&
        !isDeparting(node) &&
        vm?.vCenterInstanceUUID === vCenter
      )
    },
  )
  const { maxAbsentMinimum, maxAbsentShare } = settings.lifecycle
  const allowed = Math.max(maxAbsentMinimum, Math.floor(bound.length * maxAbsentShare))
  if (1 + others.length <= allowed)
    judge.violate(
      'the brake engages for what is gone now',
      `${by} engages it for ${before.metadata.name}: ${1 + others.length} of ${bound.length} may be gone, ${allowed} are allowed`,
    )
}
