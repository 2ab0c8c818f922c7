import type { ReportObject } from '../model/objects.ts'
import { machinesOf, type World } from '../world.ts'

/** How long after a VM was seen a controller may still act on that, milliseconds. */
const SEEN_LATELY = 90_000

/** Each condition says why, and the brake opens for a person or a VM that is back, alone. */
export function judgeReportStatus(world: World, by: string, before: ReportObject, after: ReportObject): void {
  const { judge, api, timeline } = world
  const { name } = after.metadata
  for (const { type, status, reason, message } of after.status.conditions) {
    if (!/^[A-Z][A-Za-z0-9]*$/.test(reason) || message === '' || message.length > 1024)
      judge.violate('every refusal has a reason', `${type}=${status} of ${name}: "${reason}: ${message}"`)
  }
  if (after.status.brakeClosedAt === undefined) judge.braked.delete(name)
  else if (!judge.braked.has(name)) judge.braked.set(name, timeline.now)
  if (before.status.brakeClosedAt === undefined || after.status.brakeClosedAt !== undefined) return
  const node = api.nodes.get(name)
  if (node === undefined || node.metadata.uid !== before.status.nodeUID) return
  const proceeds = node.metadata.annotations['rollcall.dev/deletion'] === 'proceed'
  // A level that has ended takes the binding with it, and the Node will not be deleted at all.
  if (proceeds || after.status.identityLevel === undefined) return
  const absent = machinesOf(world, node.metadata.uid).every(
    ({ vm, vanishedAt }) => vm === undefined && timeline.now - vanishedAt > SEEN_LATELY,
  )
  if (absent) judge.violate('the brake stays closed', `${by} opens it for ${name}, whose VM is not back`)
}
