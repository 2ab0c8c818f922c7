/** What is known to remain possible: for which copies of its VM a Node may be taken, and when. */
import { ANNOTATION_VM } from '../../../controller/types/node.ts'
import { type Machine, runs, type VM } from '../model/machine.ts'
import type { StoredNode, StoredStatus } from '../model/objects.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import { machinesOf, type World } from '../world.ts'
import { type Bound, entryOf } from './entries.ts'

/** How long after a machine has left a VM a controller may still act on what it showed, milliseconds. */
export const LATELY = 90_000

/** Whether a label is that of a copy for which the Node is taken in a moment. */
export function isOfAcceptedCopy(
  world: World,
  by: string,
  node: StoredNode,
  isIts: (vm: VM) => boolean,
): boolean {
  const { name, uid } = node.metadata
  const report = world.api.reports.get(name)
  const status = report?.status.nodeUID === uid ? report.status : undefined
  const machines = machinesOf(world, uid)
  return (
    world.judge.taken.has(uid) ||
    world.vCenters.some((vCenter) =>
      shownLately(vCenter, world.timeline.now).some(
        (vm) => isIts(vm) && isAccepted(world, by, vm, machines, status),
      ),
    )
  )
}

/** Longer than until it is noticed that a VM is gone of which push has told nobody: all is read every five minutes. Milliseconds. */
const UNTOLD = 400_000

/** The VMs that a vCenter lists, and those that have left it so lately that a leader may not know. */
function shownLately({ vms, known, unlistedAt }: VCenterModel, now: number): readonly VM[] {
  return [...known.values()].filter(
    (vm) => vms.get(vm.moref) === vm || now - (unlistedAt.get(vm.moref) ?? Number.NEGATIVE_INFINITY) < UNTOLD,
  )
}

/**
 * What is known to remain possible. A tenant who may read the VM shows its claim: he gets a Node whose VM does not run and
 * shows no claim, of whose VM the leader was not told that it runs, or whose vCenter is away. Where no claim tells machines
 * apart, since the agent cannot make one or the Node is new, a VM that is shown is taken for one that is not. So is a dead entry
 * that a VM has left behind: it looks like a VM whose host is disconnected.
 */
export function isAccepted(
  world: World,
  by: string,
  copy: VM,
  machines: readonly Machine[],
  before: StoredStatus | undefined,
): boolean {
  const { tenant, claim } = copy
  const hidden = machines.every((machine) => !isShown(world, by, machine))
  if (tenant === undefined) return before?.vm === undefined && hidden && copy.connectionState !== 'connected'
  if (!tenant.reads && machines.some((machine) => isWaitedFor(world, machine))) return false
  if (before?.vm === undefined) return hidden
  if (wasFound(world, by, machines)) return false
  const claims = world.api.reports.get(machines[0]?.nodeName ?? '')?.spec.claim.digest !== undefined
  if (!claims) return hidden && isMissing(world, copy, before.vm)
  if (!tenant.reads) return false
  const entry = entryOf(world, before.vm)
  if (entry !== undefined && claim !== undefined && world.judge.knowsClaim(by, entry, claim)) return false
  return hidden || isAway(world, before.vm) || hasStopped(world, before.vm)
}

/** Seconds are lost in what a leader reckons, milliseconds. */
const RECKONED = 10_000

/**
 * Whether the VM of a Node was shown by no vCenter for as long as a proof takes, or not at all while another has its place: the
 * same instance UUID in the same vCenter, or a person's word for it.
 */
function isMissing({ vCenters, judge, timeline, settings, api }: World, copy: VM, bound: Bound): boolean {
  const its = vCenters.find(({ instanceUUID }) => instanceUUID === bound.vCenterInstanceUUID)
  const entry = its?.known.get(bound.moref)
  if (its === undefined || its.impostor !== undefined || entry === undefined) return true
  const named = [...api.nodes.values()].some(
    ({ metadata }) => metadata.annotations[ANNOTATION_VM] === copy.instanceUUID,
  )
  if (named || (copy.vCenter === its && copy.instanceUUID === entry.instanceUUID)) return true
  return timeline.now - (judge.shownAt(entry) ?? 0) >= settings.lifecycle.absentFor - RECKONED
}

/** Longer than it takes to notice that a vCenter does not answer, milliseconds. */
const UNANSWERED = 150_000

/** Whether the vCenter that lists a machine has not answered for long: who shows no claim waits for each. */
function isWaitedFor({ judge, timeline }: World, { vm }: Machine): boolean {
  const since = vm && judge.awaySince(vm.vCenter)
  return since !== undefined && timeline.now - since > UNANSWERED
}

/** How long after a decision its writes may arrive where the API server is quick, milliseconds. */
const WRITTEN = 1_000
/** Each way of its two writes may take so many times what the API server is slow by. */
const WAYS = 4

/**
 * Whether all probes that were answered lately, and the last one before, have found a VM by which a machine runs: a write may
 * have been decided on before the last of them was answered. What was found in a vCenter in whose place another answers, or has
 * answered since, says nothing any more.
 */
function wasFound(world: World, by: string, machines: readonly Machine[]): boolean {
  const { judge, timeline, api } = world
  const decided = timeline.now - WRITTEN - WAYS * api.slow
  return machines.some(({ nodeName, vm }) => {
    if (vm === undefined || !runs(vm) || !isConfigured(world, vm)) return false
    const { vCenter, moref } = vm
    if (vCenter.impostor !== undefined || !vCenter.vms.has(moref)) return false
    const { heard = [] } = judge.work(by, nodeName)
    const before = heard.findIndex(({ at }) => at <= decided)
    const awayAt = judge.awayAt(vCenter) ?? 0
    return (
      before >= 0 &&
      heard
        .slice(0, before + 1)
        .every(({ at, found }) => at >= awayAt && found.includes(`${vCenter.instanceUUID} ${moref}`))
    )
  })
}

/** One outside of the configured datacenters is no rival. */
function isConfigured({ settings }: World, vm: VM): boolean {
  return settings.datacenters[vm.vCenter.name]?.includes(vm.folder.datacenter) !== false
}

/** Whether the leader knows that the VM runs by which a machine does, in a configured datacenter. */
function isShown(world: World, by: string, { vm, biosUUID }: Machine): boolean {
  return (
    vm !== undefined && vm.biosUUID === biosUUID && isConfigured(world, vm) && world.judge.knowsToRun(by, vm)
  )
}

/** Whether a vCenter is no longer there, does not answer, or did not a moment ago. */
function isAway({ vCenters, judge, timeline }: World, { vCenterInstanceUUID }: Bound): boolean {
  const its = vCenters.find(({ instanceUUID }) => instanceUUID === vCenterInstanceUUID)
  if (its === undefined || its.reach !== 'works' || its.impostor !== undefined) return true
  return timeline.now - (judge.awayAt(its) ?? Number.NEGATIVE_INFINITY) < LATELY
}

/** Whether vCenter shows that a VM does not run, or did so a moment ago. */
function hasStopped(world: World, bound: Bound): boolean {
  const entry = entryOf(world, bound)
  if (entry === undefined || !runs(entry)) return true
  return world.timeline.now - (world.judge.stoppedAt(entry) ?? Number.NEGATIVE_INFINITY) < LATELY
}
