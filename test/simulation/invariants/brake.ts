import { atOnce } from '../../../controller/loops/node/decide/lifecycle/brake.ts'
import { ANNOTATION_DELETION } from '../../../controller/types/node.ts'
import { isDeparting, readyOf, type StoredNode, type StoredStatus } from '../model/objects.ts'
import { wallTime } from '../model/process.ts'
import { machinesOf, type World } from '../world.ts'
import { hasCopy } from './binding.ts'
import type { Says } from './deletion.ts'
import { agentIsSilent, isKnownToLive, livesOn } from './living.ts'
import type { DeletedNode, Gone } from './promises.ts'

/** How long others must have been gone, or held by the brake, before a deleting controller knows, milliseconds. */
const KNOWN = 60_000
/** What a decision takes from the last answer to the deletion at most, when the API server is slow. */
const WRITES = 30_000

/** How long it takes to hear that a person has let go of a Node, milliseconds. */
const HEARD = 1_000

/** VMs that vanish within this many milliseconds of one another vanish at once; shorter than in the code. */
const AT_ONCE = 3_000

/**
 * No Node is deleted while too many VMs have vanished at once, or while the brake holds any Node, unless a person or an
 * autoscaler says so.
 */
export function judgeBrake(world: World, node: StoredNode, vCenter: string, by: string, says: Says): void {
  const { api, timeline, settings, judge } = world
  const { name, uid } = node.metadata
  if (isMeant(node)) return
  const own = api.reports.get(name)?.status
  if (own?.brakeEngagedAt !== undefined) says('the brake holds', `it engaged at ${own.brakeEngagedAt}`)

  const { maxAbsentMinimum, maxAbsentShare, absentFor } = settings.lifecycle
  // Those that were deleted since are part of what there was, and of what vanished.
  const deleted = (age: number): readonly DeletedNode[] =>
    judge.deletions.filter(
      (each) => each.vCenter === vCenter && each.by === by && !each.meant && timeline.now - each.at < age,
    )
  const others = deleted(2 * absentFor - WRITES).flatMap((each) => each.gone ?? [])
  // One of which no leader could know when it vanished was there as well.
  let bound = deleted(2 * absentFor + WRITES).length
  let living = 0
  for (const [other, { status }] of api.reports) {
    // Who only names a VM counts for nobody who was verified.
    const { vm, nodeUID, brakeEngagedAt } = status
    const known = api.nodes.get(other)
    if (other !== name && (known === undefined || known.metadata.uid !== nodeUID || isDeparting(known)))
      continue
    if (vm?.vCenterInstanceUUID !== vCenter) continue
    bound++
    const gone = goneSince(world, nodeUID ?? '')
    const away = gone !== undefined && timeline.now - gone.at > KNOWN
    if (other === name || !away || known === undefined || isMeant(known)) continue
    if (brakeEngagedAt !== undefined && timeline.now - (judge.braked.get(other) ?? timeline.now) > KNOWN)
      says('the brake holds', `it holds ${other} since ${brakeEngagedAt}`)
    const heard = judge.work(by, other).heard ?? []
    const old = heard.findIndex(({ at }) => timeline.now - at > WRITES)
    const proven = old >= 0 && heard.slice(0, old + 1).every(({ whole }) => whole)
    const { at: decidedAt = timeline.now } = judge.work(by, name).decided ?? {}
    const letGo = (judge.letGoAt.get(known.metadata.uid) ?? -Infinity) > decidedAt - HEARD
    const kept = letGo || known.metadata.annotations[ANNOTATION_DELETION] !== undefined
    // While a copy is there, a search finds its UUID; when it goes, others are gone for longer.
    if (kept || hasCopy(world, known.metadata.uid, gone.at, true)) continue
    if (livesOn(world, known, gone.at)) {
      // While the answers came by which this Node goes.
      const since = decidedAt - 2 * absentFor
      if (!agentIsSilent(world, known) && isKnownToLive(known, heard, since, decidedAt)) living++
      continue
    }
    if (wasBackUnnoticed(world, known, status, gone)) continue
    if (wasFoundLate(world, status, gone)) continue
    // Those of which nobody was told are found when one is lost, and count until they are proven to be gone. Who is proven
    // gone, and silent, counts even before kube-controller-manager calls its Node not ready.
    if (proven || (gone.untold && readyOf(known) !== 'True')) others.push(gone)
  }
  const allowed = Math.max(maxAbsentMinimum, Math.floor(bound * maxAbsentShare))
  if (living > allowed)
    says('a vCenter in doubt is not believed', `${living} of ${bound} live whose VMs it does not show`)
  // Who takes over finds both VMs missing at the same time, or the time that the one before has written down.
  const gone = goneSince(world, uid)
  if (gone === undefined || gone.untold || api.holder.since > gone.at || hasCopy(world, uid, gone.at, true))
    return
  if (own !== undefined && wasBackUnnoticed(world, node, own, gone)) return
  const known = others.filter(({ at, untold }) => !untold || at <= gone.at)
  const wave = 1 + known.filter(({ at }) => Math.abs(at - gone.at) <= AT_ONCE).length
  if (wave > allowed)
    says('the brake engages', `${wave} of ${bound} vanished at once, ${allowed} are allowed`)
}

/**
 * Whether nobody could know that a VM was back: for so short a time that it may have come and gone between two answers of its
 * vCenter, and without a word of its kubelet, since the moment from which it is missing by the status.
 */
export function wasBackUnnoticed(
  world: World,
  { metadata: { uid }, status: { conditions } }: StoredNode,
  { absentSince }: Pick<StoredStatus, 'absentSince'>,
  { at }: Gone,
): boolean {
  if (absentSince === undefined || absentSince >= wallTime(Math.max(0, at - KNOWN))) return false
  const silent = conditions.every(
    ({ lastTransitionTime }) => Date.parse(lastTransitionTime) < Date.parse(absentSince) + 2 * KNOWN,
  )
  const machines = machinesOf(world, uid)
  return (
    silent && machines.some(({ firstVanishedAt = 0, vanishedAt }) => vanishedAt - firstVanishedAt > KNOWN)
  )
}

/**
 * Whether nobody was told that a VM vanished, and it was missed later than what vanishes with it: `docs/lifecycle.md` goes by the
 * first search that does not find a VM, and one that had got another UUID is not read with the others.
 */
export function wasFoundLate(
  { settings }: World,
  { absentSince = '' }: Pick<StoredStatus, 'absentSince'>,
  { at, untold }: Gone,
): boolean {
  return untold && Date.parse(absentSince) > Date.parse(wallTime(at)) + atOnce(settings.lifecycle)
}

/** Whether a person, or an autoscaler by its taint, has said that the machine goes on purpose. */
export function isMeant({ metadata, spec }: StoredNode): boolean {
  return (
    metadata.annotations[ANNOTATION_DELETION] === 'proceed' ||
    spec.taints.some(({ key }) => key === 'ToBeDeletedByClusterAutoscaler')
  )
}

/**
 * When the last of a Node's VMs vanished; undefined where one is listed. One that was back for a short time, of which nobody
 * was told, is gone since before that; unless a leader has found it nevertheless, and taken back that it was missing. An entry
 * that a machine has left counts as long as it is listed: nothing tells it from a VM that is there.
 */
export function goneSince(world: World, nodeUID: string): Gone | undefined {
  const machines = machinesOf(world, nodeUID)
  if (machines.length === 0 || machines.some(({ vm }) => vm !== undefined)) return undefined
  const left = world.vCenters.flatMap(({ known, vms, unlistedAt }) =>
    [...known.values()]
      .filter(({ machine, leftAt }) => leftAt !== undefined && machines.some((each) => each === machine))
      .map(({ moref }) => (vms.has(moref) ? undefined : unlistedAt.get(moref))),
  )
  const unlisted = left.filter((at) => at !== undefined)
  if (unlisted.length < left.length) return undefined
  const foundAt = world.judge.foundAgain.get(nodeUID) ?? Number.NEGATIVE_INFINITY
  return {
    at: Math.max(
      ...unlisted,
      ...machines.map(({ vanishedAt, vanishedUntold, firstVanishedAt = vanishedAt, lastVM }) => {
        const found = lastVM !== undefined && foundAt >= lastVM.registeredAt
        return vanishedUntold && !found ? firstVanishedAt : vanishedAt
      }),
    ),
    untold: machines.some(({ vanishedUntold }) => vanishedUntold),
  }
}
