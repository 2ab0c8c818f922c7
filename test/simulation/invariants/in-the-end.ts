/** What must hold some time after all faults are over. */
import { TAINT_SHUTDOWN, TAINT_UNINITIALIZED } from '../../../controller/types/well-known.ts'
import type { Machine } from '../model/machine.ts'
import { isDeparting, readyOf, type StoredNode, type StoredStatus } from '../model/objects.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import { machinesOf, type World } from '../world.ts'
import { isHeldForGood, isSearchUntried } from './addresses.ts'
import { claimDecides, isLeftBehind, judgeBound } from './binding.ts'
import { isMeant } from './brake.ts'
import { judgeServing } from './certificates.ts'
import { isAwaited, uuidsOf } from './deletion.ts'
import { isListed } from './entries.ts'
import { judgeToldTopology } from './topology.ts'

/**
 * Milliseconds after which a session at the REST interface of a vCenter has expired. Whoever has lost two logins, each of which may
 * have left one, sends no other before, and reads no tags.
 */
const REST_SESSION_EXPIRES = 1_800_000

/** Milliseconds after which that is. */
export function patience({ settings, machines, timeline, healing, vCenters }: World): number {
  const { absentFor, leaderAge, waitForVolumes, deletionsPerMinute, outOfServiceAfter } = settings.lifecycle
  const queue = (60_000 * machines.all.length) / deletionsPerMinute
  // A controller is replaced, a vCenter logged in to after logins without an answer, and everything read once again.
  const settle = 60_000 + 900_000 + 330_000
  const heal = Math.max(0, healing.until - timeline.now)
  // Of the brake, which releases itself when few are missing for twice absentFor; that is asked about no more often.
  const releases = 6 * absentFor
  const unseen = 6 * absentFor
  const lasting = unseen + absentFor + (waitForVolumes ?? 0) + leaderAge + queue + (outOfServiceAfter ?? 0)
  const logins = vCenters.map((each) => each.lostRESTLoginAt + REST_SESSION_EXPIRES - timeline.now)
  return Math.max(heal + settle + releases + lasting, Math.max(...logins) + settle)
}

export function judgeTheEnd(world: World): void {
  for (const node of world.api.nodes.values()) {
    const { name, uid } = node.metadata
    const report = world.api.reports.get(name)
    const status = report?.status.nodeUID === uid ? report.status : undefined
    const machines = machinesOf(world, uid)
    const [machine] = machines
    // Nothing is done any more for one that finalizers keep; what it keeps of others is seen on those.
    if (machine === undefined || isDeparting(node)) continue
    const taken = world.judge.taken.has(uid)
    if (machines.every(({ destroyed }) => destroyed)) {
      if (!taken) judgeGone(world, node, status)
    } else judgeTaint(world, node, machine, status)
    for (const each of machines) judgeInitialized(world, node, each)
    if (machines.length === 1) judgeServing(world, node, machine, status)
    judgeBound(world, node, status)
    judgeBrakeLeft(world, name, machines, status)
    judgeProvable(world, name, status)
    judgeTemplate(world, name, machines, status)
  }
  for (const vCenter of world.vCenters) judgeSessions(world, vCenter)
}

/**
 * A login that was given up may have made a session, which nobody has; its client ends it, where it may, once it has another.
 * Those of a replica that leads no more, or of a configuration that is no more, expire after half an hour.
 */
function judgeSessions({ judge }: World, { name, sessions, mayEndSessions }: VCenterModel): void {
  if (!mayEndSessions) return
  // One that another vCenter in its place has called ended is left to expire.
  const living = [...sessions.values()].filter((session) => session.alive() && !session.over)
  for (const [userAgent, each] of Map.groupBy(living, (session) => session.userAgent))
    if (each.length > 1 && each.some(({ known }) => known))
      judge.violate('no session is left behind', `${userAgent} has ${each.length} in ${name}`)
}

/** The brake holds nobody whose VM is there, nor anybody where nothing is to be deleted. */
function judgeBrakeLeft(
  { judge, settings }: World,
  name: string,
  machines: readonly Machine[],
  status: StoredStatus | undefined,
): void {
  if (status?.brakeEngagedAt === undefined) return
  const { deletion } = settings.lifecycle
  if (deletion !== 'on')
    judge.violate('no brake is left behind', `deletion is ${deletion}, and it holds ${name}`)
  const seen = machines.some(
    ({ vm }) => vm?.connectionState === 'connected' && vm.biosUUID === status.vm?.biosUUID,
  )
  if (seen) judge.violate('no brake is left behind', `the VM of ${name} is there`)
}

/** What is a template runs nothing, whatever it was before. */
function judgeTemplate(
  { judge, vCenters }: World,
  name: string,
  machines: readonly Machine[],
  status: StoredStatus | undefined,
): void {
  const [vm, ...others] = machines.flatMap((machine) => machine.vm ?? [])
  if (vm?.template !== true || others.length > 0 || vm.connectionState !== 'connected') return
  const listed = vCenters.flatMap(({ vms }) => [...vms.values()])
  if (listed.some((each) => each !== vm && each.biosUUID === vm.biosUUID)) return
  if (status?.identityLevel !== undefined && status.vm?.moref === vm.moref)
    judge.violate('a template is nobody', `${name} is verified to be ${vm.moref}`)
}

/** The accounts may read everything again, and a vCenter that is empty demands no canary. */
function judgeProvable({ judge, settings }: World, name: string, status: StoredStatus | undefined): void {
  if (settings.lifecycle.deletion === 'off' || status?.identityLevel === undefined) return
  const possible = status.conditions.find(({ type }) => type === 'DeletionPossible')
  if (possible?.status === 'False')
    judge.violate('what could not be proven is taken back', `${name}: ${possible.reason} ${possible.message}`)
}

/** Who runs, and is what its agent says, is initialized; nobody waits forever for what another has held. */
function judgeInitialized(world: World, node: StoredNode, machine: Machine): void {
  const { judge, settings, vCenters } = world
  const { vm, destroyed, power } = machine
  if (destroyed || power !== 'poweredOn' || vm?.connectionState !== 'connected') return
  const datacenters = settings.datacenters[vm.vCenter.name]
  if (datacenters !== undefined && !datacenters.includes(vm.folder.datacenter)) return
  const copies = vCenters.flatMap(({ vms }) =>
    [...vms.values()].filter(({ biosUUID }) => biosUUID === vm.biosUUID),
  )
  if (vm.biosUUID !== machine.biosUUID || machine.providerID !== undefined) return
  // Who shows no claim, or shares it, waits as long as another VM passes for his.
  const others = copies.filter((each) => each !== vm)
  if (others.length > 0 && !claimDecides(machine, others)) return
  judgeToldTopology(world, node, vm, world.api.reports.get(node.metadata.name)?.status)
  const told = world.api.reports.get(node.metadata.name)?.status.conditions
  const waits = told?.find(({ type }) => type === 'Initialized')?.reason
  if (waits === 'AddressOfAnotherNode' && isHeldForGood(world, node, machine)) return
  // A machine without a nonce that was restored as another VM takes a person's word.
  if (machine.claims !== 'with-nonce' && isLeftBehind(world, node.metadata.name)) return
  if (node.spec.taints.some(({ key }) => key === TAINT_UNINITIALIZED))
    judge.violate('a VM that runs has an initialized Node', `${node.metadata.name} is not`)
}

function judgeGone(world: World, node: StoredNode, status: StoredStatus | undefined): void {
  const { judge, settings, vCenters } = world
  const { name } = node.metadata
  const { deletion, unbound } = settings.lifecycle
  const known = [status?.vm, status?.namedVM, ...(status?.formerVMs ?? [])].filter((vm) => vm !== undefined)
  const awaited = isAwaited(world, node)
  // Nobody can be asked about one that was in a vCenter which is no longer there.
  const homes = vCenters.map(({ instanceUUID }) => instanceUUID)
  if (known.some(({ vCenterInstanceUUID }) => !homes.includes(vCenterInstanceUUID))) return
  // One that was never initialized nor bound, and that nothing names, is nobody's VM.
  if (known.length === 0 && node.spec.providerID === undefined && !awaited && unbound !== 'delete') return
  const uuids = [...known.map(({ biosUUID }) => biosUUID), ...uuidsOf(world, node)]
  const twin = vCenters.some(({ vms }) =>
    [...vms.values()].some(
      (vm) =>
        uuids.includes(vm.biosUUID) ||
        known.some(({ instanceUUID }) => instanceUUID !== '' && vm.instanceUUID === instanceUUID),
    ),
  )
  // The VM is listed though its machine is gone, as one that was moved and destroyed at once: the other conditions say what is so.
  if (twin && status?.conditions.some(({ type, status }) => type === 'VMFound' && status === 'True')) return
  // So it is with one that a former VM of the Node keeps, or a copy of a machine that nobody was ever taken for.
  if (twin && (status?.vm === undefined || status.formerVMs !== undefined)) return
  const pending = status?.conditions.find(({ type }) => type === 'DeletionPending')
  if (twin && pending?.reason === 'VMExists') return
  if (pending === undefined || pending.status === 'False')
    judge.violate('a Node that is kept says why', `${name}: ${JSON.stringify(pending)}`)
  const unseen = uuids.some((uuid) => known.every(({ biosUUID }) => biosUUID !== uuid))
  const goes = !unseen || (status?.vm === undefined && (unbound === 'delete' || awaited))
  const had = known[0]?.vCenterInstanceUUID
  const inDoubt = pending?.reason === 'CanaryNotFound' && isInDoubt(world, node, had)
  const braked = pending?.reason === 'BrakeEngaged' && tooManyLive(world, had)
  if (deletion === 'on' && !twin && goes && !inDoubt && !braked)
    judge.violate(
      'the Node of a VM that is gone is deleted',
      `${name} is kept: ${pending?.reason} ${pending?.message}`,
    )
}

/**
 * Whether the vCenter that had a Node's VM, or any where nobody knows which one that was, shows nothing at all while another
 * Node runs whose VM no vCenter has shown: it may have that one, so that it is not taken for empty. Nor is one that had the VM
 * of a Node which runs, until that VM is shown elsewhere; by its instance UUID where no claim was ever read, or none is shown. Nor is any while a
 * Node runs whose own vCenter is no longer there, and whose VM none shows. The VM of a Node that shows no claim, and was restored
 * as another, is shown nowhere until a person says which it is. A Node that somebody removes says nothing of any vCenter.
 */
function isInDoubt(world: World, node: StoredNode, had: string | undefined): boolean {
  const { api, vCenters } = world
  if (isSearchUntried(world)) return true
  const empty = vCenters.filter(({ vms }) => vms.size === 0).map(({ instanceUUID }) => instanceUUID)
  const mayHave = had === undefined ? empty.length > 0 : empty.includes(had)
  return [...api.nodes.values()].some((other) => {
    const { name, uid } = other.metadata
    if (other === node || readyOf(other) !== 'True' || isDeparting(other) || isMeant(other)) return false
    const { nodeUID, vm, namedVM } = api.reports.get(name)?.status ?? {}
    const seen = nodeUID === uid ? (vm ?? namedVM) : undefined
    const shown = machinesOf(world, uid).flatMap((machine) => machine.vm ?? [])
    const isRestored =
      !isListed(world, seen) &&
      machinesOf(world, uid).some(({ agent, claims }) => !agent || claims !== 'with-nonce')
    const hasLostItsVCenter =
      seen !== undefined &&
      seen === vm &&
      vCenters.every(({ instanceUUID }) => instanceUUID !== seen.vCenterInstanceUUID)
    const mayBeThere = mayHave || (empty.length > 0 && hasLostItsVCenter)
    if (mayBeThere && (seen === undefined || shown.length === 0 || isRestored)) return true
    const others = shown.filter(
      ({ instanceUUID }) => (vm === undefined || isRestored) && instanceUUID !== seen?.instanceUUID,
    )
    return empty.includes(seen?.vCenterInstanceUUID ?? '') && others.length === shown.length
  })
}

/** Whether more machines run than may vanish at once that their vCenter lists no more, or by other UUIDs: it is in doubt. */
function tooManyLive(world: World, vCenter: string | undefined): boolean {
  const { api, settings } = world
  const bound = [...api.nodes.values()].flatMap((node) => {
    const { nodeUID, vm } = api.reports.get(node.metadata.name)?.status ?? {}
    return nodeUID === node.metadata.uid && vm?.vCenterInstanceUUID === vCenter ? [{ node, vm }] : []
  })
  const living = bound.filter(({ node, vm }) =>
    machinesOf(world, node.metadata.uid).some(
      (machine) =>
        readyOf(node) === 'True' &&
        machine.vm?.moref !== vm?.moref &&
        machine.vm?.instanceUUID !== vm?.instanceUUID &&
        machine.vm?.biosUUID !== vm?.biosUUID,
    ),
  )
  const { maxAbsentMinimum, maxAbsentShare } = settings.lifecycle
  return living.length > Math.max(maxAbsentMinimum, Math.floor(bound.length * maxAbsentShare))
}

function judgeTaint(
  { judge }: World,
  node: StoredNode,
  machine: Machine,
  status: StoredStatus | undefined,
): void {
  const { vm } = machine
  const bound = status?.identityLevel === undefined ? undefined : status.vm
  // What is in doubt keeps its taints.
  if (vm === undefined || bound === undefined || vm.connectionState !== 'connected') return
  if (vm.biosUUID !== bound.biosUUID || bound.vCenterInstanceUUID !== vm.vCenter.instanceUUID) return
  const runs = machine.power === 'poweredOn'
  // One that is registered again while it is off is bound when it boots.
  if (vm.moref !== bound.moref && (!runs || vm.instanceUUID !== bound.instanceUUID)) return
  const tainted = node.spec.taints.some(({ key }) => key === TAINT_SHUTDOWN)
  if (tainted === runs)
    judge.violate(
      'the taint says whether the VM is off',
      `${node.metadata.name} is ${machine.power} and ${tainted ? 'tainted' : 'not tainted'}`,
    )
}

/** While nothing happens, nothing is written, and only missing VMs are probed. */
const MOST_IN_A_MINUTE = { writes: 6, probes: 13 }

export function judgeQuiet(world: World, minutes: number): void {
  const { judge, api } = world
  for (const [name, count] of judge.writes) {
    if (count > minutes * MOST_IN_A_MINUTE.writes)
      judge.violate('no endless writing', `${name} was written ${count} times in ${minutes} minutes of quiet`)
  }
  for (const [name, count] of judge.probes) {
    const node = api.nodes.get(name)
    const machines = node === undefined ? [] : machinesOf(world, node.metadata.uid)
    const well = machines.some(
      ({ vm, power }) => vm?.connectionState === 'connected' && power === 'poweredOn',
    )
    const status = api.reports.get(name)?.status
    const same = machines.some(
      ({ vm }) => vm?.moref === status?.vm?.moref && vm?.biosUUID === status?.vm?.biosUUID,
    )
    const taken = node !== undefined && judge.taken.has(node.metadata.uid)
    if (well && same && !taken && status?.identityLevel !== undefined)
      judge.violate('no probes in quiet', `${name}, which is well, was asked for ${count} times`)
    if (count > minutes * MOST_IN_A_MINUTE.probes)
      judge.violate(
        'no endless asking',
        `${name} was asked for ${count} times in ${minutes} minutes of quiet`,
      )
  }
}
