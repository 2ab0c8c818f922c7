import type { Machine } from '../model/machine.ts'
import type { NodeObject } from '../model/objects.ts'
import { machinesOf, type World } from '../world.ts'
import type { Says } from './deletion.ts'

/** So long must others have been gone, or braked, to be known to whoever deletes, milliseconds. */
const KNOWN = 60_000

/** Nobody is deleted while too many are gone, nor one for which the brake has closed, unless a person says so. */
export function judgeBrake(world: World, node: NodeObject, vCenter: string, says: Says): void {
  const { api, timeline, settings, judge } = world
  const { name, annotations } = node.metadata
  if (annotations['rollcall.dev/deletion'] === 'proceed') return
  const own = api.reports.get(name)?.status
  if (own?.brakeClosedAt !== undefined) says('the brake holds', `it closed at ${own.brakeClosedAt}`)

  let bound = 0
  let missed = 0
  for (const [other, { status }] of api.reports) {
    const { vm, identityLevel, nodeUID, brakeClosedAt } = status
    const known = api.nodes.get(other)
    if (other !== name && known?.metadata.uid !== nodeUID) continue
    if (vm?.vCenterInstanceUUID !== vCenter || identityLevel === undefined) continue
    bound++
    const machines = machinesOf(world, nodeUID ?? '')
    const away = machines.length > 0 && machines.every((machine) => goneFor(machine, timeline.now) > KNOWN)
    if (other === name || away) missed++
    const proceeds = known?.metadata.annotations['rollcall.dev/deletion'] === 'proceed'
    if (
      other !== name &&
      away &&
      !proceeds &&
      brakeClosedAt !== undefined &&
      timeline.now - (judge.braked.get(other) ?? timeline.now) > KNOWN
    )
      says('the brake holds', `it holds ${other} since ${brakeClosedAt}`)
  }
  const { maxAbsentMinimum, maxAbsentShare } = settings.lifecycle
  const allowed = Math.max(maxAbsentMinimum, Math.floor(bound * maxAbsentShare))
  if (missed > allowed) says('the brake closes', `${missed} of ${bound} are gone, ${allowed} are allowed`)
}

function goneFor({ vm, vanishedAt }: Machine, now: number): number {
  return vm === undefined ? now - vanishedAt : 0
}
