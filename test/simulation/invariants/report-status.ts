import { ANNOTATION_DELETION } from '../../../controller/types/node.ts'
import { isDeparting, type StoredReport } from '../model/objects.ts'
import { machinesOf, type World } from '../world.ts'
import { judgeLevel, judgeNewBinding } from './binding.ts'
import { isMeant } from './brake.ts'
import { deletionFor } from './configuration.ts'
import { judgeLatch } from './latch.ts'
import { livesOn } from './living.ts'

/** How long after a VM was seen a controller may still act on that, milliseconds. */
const SEEN_LATELY = 90_000

/** A suspended replica's clocks, and the time from a decision to its write, milliseconds. */
const CLOCKS = 30_000

/**
 * Each condition says why. The brake is released for a person, for a VM that is back, or after a long time with few
 * missing.
 */
export function judgeReportStatus(world: World, by: string, before: StoredReport, after: StoredReport): void {
  const { judge, timeline } = world
  const { name } = after.metadata
  for (const { type, status, reason, message } of after.status.conditions) {
    if (!/^[A-Z][A-Za-z0-9]*$/.test(reason) || message === '' || message.length > 1024)
      judge.violate('every refusal has a reason', `${type}=${status} of ${name}: "${reason}: ${message}"`)
  }
  if (after.status.brakeEngagedAt !== undefined && !judge.braked.has(name))
    judge.braked.set(name, timeline.now)
  noteFound(world, before, after)
  countHeld(world, before.status.vm?.vCenterInstanceUUID)
  judgeOpening(world, by, before, after)
  judgeLatch(world, by, before, after)
  judgeStandby(world, before, after)
  judgeNewBinding(world, by, before, after)
  judgeLevel(world, by, before, after)
  if (after.status.brakeEngagedAt === undefined) judge.braked.delete(name)
}

/** By the true time: a leader's own clock may be ahead. */
function noteFound({ judge, timeline }: World, { status: before }: StoredReport, after: StoredReport): void {
  const { nodeUID, absentSince } = before
  if (nodeUID === undefined || nodeUID !== after.status.nodeUID) return
  if (absentSince !== undefined && absentSince !== after.status.absentSince)
    judge.foundAgain.set(nodeUID, timeline.now)
}

/** The standby of a Fault Tolerance group runs nothing of its own; one that was restored without its group is a VM like others. */
function judgeStandby({ judge, vCenters }: World, before: StoredReport, after: StoredReport): void {
  const { vm } = after.status
  if (vm === undefined || vm.moref === before.status.vm?.moref) return
  const vCenter = vCenters.find(({ instanceUUID }) => instanceUUID === vm.vCenterInstanceUUID)
  const shown = vCenter?.vms.get(vm.moref)
  if (shown?.standby === true && shown.faultTolerance !== undefined)
    judge.violate('a standby is nobody', `${after.metadata.name} is verified to be ${vm.moref}`)
}

/** Remembers when the brake last held more Nodes of a vCenter than may be missing. */
function countHeld({ api, judge, timeline, settings }: World, vCenter: string | undefined): void {
  if (vCenter === undefined) return
  let bound = 0
  let held = 0
  for (const [name, { status }] of api.reports) {
    const node = api.nodes.get(name)
    if (node === undefined || node.metadata.uid !== status.nodeUID || isDeparting(node)) continue
    if (status.vm?.vCenterInstanceUUID !== vCenter) continue
    // One that is contradicted by now was verified all the same, so that more may vanish.
    bound++
    if (status.identityLevel !== undefined && status.brakeEngagedAt !== undefined && !isMeant(node)) held++
  }
  const { maxAbsentMinimum, maxAbsentShare } = settings.lifecycle
  if (held > Math.max(maxAbsentMinimum, Math.floor(bound * maxAbsentShare)))
    judge.many.set(vCenter, timeline.now)
}

function judgeOpening(world: World, by: string, before: StoredReport, after: StoredReport): void {
  const { judge, api, timeline, settings } = world
  const { name } = after.metadata
  if (before.status.brakeEngagedAt === undefined || after.status.brakeEngagedAt !== undefined) return
  const node = api.nodes.get(name)
  if (node === undefined || node.metadata.uid !== before.status.nodeUID) return
  const proceeds = node.metadata.annotations[ANNOTATION_DELETION] === 'proceed'
  // A level that has ended takes the binding with it, and the Node will not be deleted at all.
  if (proceeds || after.status.identityLevel === undefined) return
  const absent = machinesOf(world, node.metadata.uid).every(
    ({ vm, vanishedAt }) =>
      vm === undefined && timeline.now - vanishedAt > SEEN_LATELY && !livesOn(world, node, vanishedAt),
  )
  // It releases itself as well: not soon, and never while too many are missing.
  const many = judge.many.get(before.status.vm?.vCenterInstanceUUID ?? '') ?? 0
  const time = timeline.now - Math.max(many, judge.braked.get(name) ?? timeline.now)
  const { absentFor } = settings.lifecycle
  if (absent && deletionFor(world, by) === 'on' && time < 2 * absentFor - CLOCKS)
    judge.violate(
      'the brake stays engaged',
      `${by} releases it for ${name} after ${time} ms, whose VM is not back`,
    )
}
