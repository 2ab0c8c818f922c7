/** What must hold at the moment when the API server deletes a Node for a controller. */

import type { BoundVM } from '../../../agent/shared/node-report.ts'
import { ANNOTATION_DELETION } from '../../../controller/types/node.ts'
import { TAINT_OUT_OF_SERVICE, TAINT_UNINITIALIZED } from '../../../controller/types/well-known.ts'
import { type Machine, swapBytes, type VM } from '../model/machine.ts'
import { readyOf, type StoredNode, type StoredReport } from '../model/objects.ts'
import { wallTime } from '../model/process.ts'
import { machinesOf, type World } from '../world.ts'
import { hasCopy, stillListed } from './binding.ts'
import { goneSince, isMeant, judgeBrake, wasBackUnnoticed, wasFoundLate } from './brake.ts'
import { deletionFor } from './configuration.ts'
import type { Work } from './promises.ts'

/** How old a result may be when it is acted on, milliseconds; repeated here, so that a change of the code cannot change it. */
const FRESH = 10_000
/** What a probe takes at most, and what two writes and a confirmation do, when the API server is slow. */
const PROBE_TIME = 60_000
const WRITES = 30_000

export function judgeDeletion(world: World, by: string, before: StoredNode): void {
  const { judge, api, timeline, settings } = world
  const { now } = timeline
  const { lifecycle } = settings
  const { name, uid, annotations } = before.metadata
  const { decided } = judge.work(by, name)
  const answered = decided?.answered
  const says = (promise: string, what: string): void =>
    judge.violate(promise, `${by} deletes ${name}: ${what}`)

  const report = api.reports.get(name)
  const bound = report?.status.nodeUID === uid ? report.status.vm : undefined
  const machines = machinesOf(world, uid)
  // By these a VM can be told; under none of them it is another, for vCenter too.
  const named = report?.status.nodeUID === uid ? report.status.namedVM : undefined
  const known = new Set(
    [bound, named]
      .flatMap((each) => [each?.moref, each?.instanceUUID, each?.biosUUID])
      .concat(uuidsOf(world, before)),
  )
  const homes = [bound, named].flatMap((each) => each?.vCenterInstanceUUID ?? [])
  const isTold = (vm: VM | undefined): boolean =>
    vm !== undefined && !isUnknowable(vm, homes) && answersBy(vm, known)
  const since = Math.max(answered?.asked.at ?? 0, now - PROBE_TIME - FRESH - WRITES)
  for (const machine of machines) {
    const why = existence(machine, { isTold, since, from: now - lifecycle.absentFor, decided })
    if (why !== undefined) says('no Node is deleted whose VM exists', why)
  }
  const former = stillListed(world, uid, since)
  if (former !== undefined) says('no Node is deleted whose VM exists', former)
  if (readyOf(before) === 'True') says('no Node is deleted that is Ready', 'it is')
  if (api.holder.identity !== by)
    says('only the holder of the Lease deletes', `${api.holder.identity || 'nobody'} holds it`)
  const shown = named !== undefined && report !== undefined && isShown(world, named, report)
  const unseen = uuidsOf(world, before).some(
    (uuid) => uuid !== bound?.biosUUID && (!shown || uuid !== named.biosUUID),
  )
  if (unseen && (bound !== undefined || (lifecycle.unbound !== 'delete' && !isAwaited(world, before))))
    says('only a machine that was seen is known to be gone', `unbound is ${lifecycle.unbound}`)

  const deletion = deletionFor(world, by) ?? 'on'
  if (deletion !== 'on') says('deletion is on', `it is ${deletion}`)
  const annotation = annotations[ANNOTATION_DELETION]
  if (annotation !== undefined && annotation !== 'proceed') says('a held Node is kept', `"${annotation}"`)
  const led = now - api.holder.since
  if (led < lifecycle.leaderAge) says('the leader is old enough', `it leads for ${led} ms`)
  const ones = world.machines.all.filter(
    ({ lists, biosUUID }) =>
      lists.has(bound?.moref ?? '') || lists.has(named?.moref ?? '') || (unseen && known.has(biosUUID)),
  )
  // One that failed over to a VM by which nothing tells it is gone since then, though a vCenter listed it.
  const gone = Math.min(
    ...ones.map(({ firstVanishedAt = now, vm, lastVM }) => {
      const last = vm ?? lastVM
      const untoldSince = last === undefined || isTold(last) ? now : last.registeredAt
      // A vCenter that was loading its inventory may never have shown it again.
      const shown = (last && judge.shownAt(last)) ?? now
      return now - Math.min(firstVanishedAt, untoldSince, shown)
    }),
  )
  // Said here once more, so that the code cannot change it.
  const takes = unseen ? 6 * lifecycle.absentFor : lifecycle.absentFor
  if (gone < takes) says('absence is confirmed', `gone for ${gone} ms of ${takes}`)
  if (answered === undefined || decided === undefined || decided.monotonic - answered.monotonic > FRESH)
    says('vCenter was asked just now', JSON.stringify({ decided, now }))
  judgeAnswers(world, by, name, says)
  const wait = lifecycle.waitForVolumes
  const volumes = api.attachments.get(name) ?? 0
  // Where they could not be listed, it is not known that there is anything to be detached, and time has to do.
  const listed = !api.volumesRefused && now - api.volumesChangedAt > PROBE_TIME
  const detaching = before.spec.taints.some(({ key }) => key === TAINT_OUT_OF_SERVICE)
  if (wait !== undefined && volumes > 0 && !detaching && (listed || gone < lifecycle.absentFor + wait))
    says('volumes are detached first', `${volumes} are not`)
  // Those that were never verified are counted together.
  const vCenter = bound?.vCenterInstanceUUID ?? ''
  if (vCenter !== '') judgeBrake(world, before, vCenter, by, says)
  const vanished = isMeant(before) ? undefined : goneSince(world, uid)
  const noticed =
    vanished &&
    !hasCopy(world, uid, vanished.at, true) &&
    !wasBackUnnoticed(world, before, report?.status ?? {}, vanished) &&
    !wasFoundLate(world, report?.status ?? {}, vanished)
      ? vanished
      : undefined
  judge.deletions.push({ nodeUID: uid, vCenter, by, at: now, meant: isMeant(before), gone: noticed })
  judgeRate(world, by, vCenter, says)
}

/**
 * Whether a vCenter has listed this VM since the report was made. Rollcall knows a Node since then: what it remembers from
 * before says nothing of what vCenter shows, whatever the report's status says.
 *
 * A clone of the vCenter counts where the status names the clone: until it is taken out of the configuration it is a vCenter
 * as well, and what it showed has a reference by which the original is asked.
 */
function isShown(
  { vCenters, clones }: World,
  { vCenter, moref }: Pick<BoundVM, 'vCenter' | 'moref'>,
  { metadata }: StoredReport,
): boolean {
  const its = clones.filter(({ name }) => name === vCenter)
  return [...vCenters, ...its].some(({ vms, unlistedAt }) => {
    const until = unlistedAt.get(moref)
    return vms.has(moref) || (until !== undefined && wallTime(until) >= metadata.creationTimestamp)
  })
}

/** Whether a Node was never initialized, and its own agent says which VM it is: nothing was ever scheduled to it. */
export function isAwaited({ api }: World, { metadata, spec }: StoredNode): boolean {
  const report = api.reports.get(metadata.name)
  return (
    spec.taints.some(({ key }) => key === TAINT_UNINITIALIZED) &&
    report?.spec.nodeUID === metadata.uid &&
    report.spec.machine.serialUUID !== undefined
  )
}

/** The UUIDs by which a Node names machines: the report's, the kubelet's, the provider ID's, all as vCenter writes them. */
export function uuidsOf(world: World, { metadata, spec, status }: StoredNode): readonly string[] {
  const report = world.api.reports.get(metadata.name)
  const serial = report?.spec.nodeUID === metadata.uid ? report.spec.machine.serialUUID : undefined
  const provider = spec.providerID?.replace('vsphere://', '')
  const swapped = machinesOf(world, metadata.uid).some((machine) => machine.swapped)
  const turned = provider !== undefined && swapped ? swapBytes(provider) : provider
  return [serial, status.nodeInfo.systemUUID, turned].filter((uuid) => uuid !== undefined)
}

/**
 * Why a machine exists: a vCenter has listed its VM since before the last probe, under a reference or a UUID by which
 * it can be told, whatever that vCenter says or lets anyone see; or it runs without that, and has spoken, to the
 * controller's knowledge, within the time that a VM must be absent.
 */
function existence(
  { vm, power, reports, renewals }: Machine,
  {
    isTold,
    since,
    from,
    decided,
  }: {
    readonly isTold: (vm: VM | undefined) => boolean
    readonly since: number
    readonly from: number
    readonly decided: Work['decided']
  },
): string | undefined {
  const told = isTold(vm)
  if (vm !== undefined && told && vm.registeredAt <= since && !isUnseeable(vm))
    return `${vm.vCenter.name} lists ${vm.moref}, ${vm.connectionState}, ${power}`
  // What came later, the controller could not know.
  const sign =
    reports.find((at) => at > from && at <= (decided?.arrived ?? 0)) ??
    renewals.find((at) => at > from && at < (decided?.answered?.asked.at ?? 0))
  return !told && power === 'poweredOn' && sign !== undefined
    ? `its machine runs and has spoken at ${sign} ms`
    : undefined
}

/**
 * What `docs/lifecycle.md` says that no proof protects from: the VM has moved to a vCenter at whose address another one
 * answers, as if it were not configured; or the Node was never taken for it, and the account may not read its folder, or reads another vCenter.
 */
function isUnknowable({ vCenter, folder }: VM, homes: readonly string[]): boolean {
  if (homes.length === 0) return vCenter.denied.has(folder.moref) || vCenter.impostor !== undefined
  return vCenter.impostor !== undefined && !homes.includes(vCenter.instanceUUID)
}

/** Whether a listed VM can be told by these. No search finds one that is inaccessible: it answers by reference alone. */
function answersBy(vm: VM, known: ReadonlySet<string | undefined>): boolean {
  const searchable = vm.connectionState === 'inaccessible' ? [] : [vm.instanceUUID, vm.biosUUID]
  return [vm.moref, ...searchable].some((each) => known.has(each))
}

/**
 * The one case that nothing tells from a VM that is gone, which `docs/lifecycle.md` names: all that stands above it may be
 * read, nothing in there, it has another reference by now, and its vCenter has no other Node's VM.
 */
export function isUnseeable(vm: VM): boolean {
  const { withoutPropagation, vms } = vm.vCenter
  return (
    withoutPropagation &&
    [...vms.values()].every(({ machine }) => machine === undefined || machine === vm.machine)
  )
}

const MINUTE = 60_000
/** The rate is counted when a deletion is tried, and judged when it has come through. */
const SLACK = 10_000

/** A leader knows of its own deletions alone; those of the one before are over when it may first delete, if that takes a minute. */
function judgeRate({ judge, settings, timeline }: World, by: string, vCenter: string, says: Says): void {
  const { now } = timeline
  const { absentFor, leaderAge, deletionsPerMinute: allowed } = settings.lifecycle
  const ofAll = Math.max(absentFor, leaderAge) >= MINUTE
  const recent = judge.deletions.filter(
    (each) => each.vCenter === vCenter && (ofAll || each.by === by) && now - each.at < MINUTE - SLACK,
  )
  if (recent.length > allowed) says('the rate is kept', `${recent.length} of ${allowed} in a minute`)
}

/** All answers in the time that a VM must be absent have said so, in one session, and as often and for as long as configured. */
function judgeAnswers({ judge, settings }: World, by: string, nodeName: string, says: Says): void {
  const { decided, heard = [] } = judge.work(by, nodeName)
  const { absentFor, confirmations } = settings.lifecycle
  const from = (decided?.at ?? 0) - absentFor
  const until = decided?.at ?? 0
  const lately = heard.filter(({ at }) => at >= from && at <= until)
  const doubts = lately.filter(({ whole }) => !whole).length
  const sessions = new Set(lately.map((each) => each.sessions)).size
  if (doubts > 0) says('the answers agree', `${doubts} of ${lately.length} left a doubt`)
  if (sessions > 1) says('the answers are of one session', `they are of ${sessions}`)
  const known = heard.filter(({ at }) => at <= until)
  const times = known.findIndex(({ whole }) => !whole)
  if (times < 0) return
  if (times < confirmations) says('absence is confirmed', `${times} times of ${confirmations}`)
  // The first of them counts as well: an answer of which it may be forgotten that vCenter was loading its inventory.
  const [last, first] = [known[0]?.asked.monotonic ?? 0, known[times - 1]?.asked.monotonic ?? 0]
  if (times > 0 && last - first < absentFor)
    says('absence is confirmed', `by answers of ${last - first} ms of ${absentFor}`)
}

export type Says = (promise: string, what: string) => void
