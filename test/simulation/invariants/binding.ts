/** Which VM a Node is: never one that its machine does not run by, whoever makes his own look like it. */

import { ANNOTATION_VM } from '../../../controller/types/node.ts'
import type { Machine, VM } from '../model/machine.ts'
import { readyOf, type StoredNode, type StoredReport, type StoredStatus } from '../model/objects.ts'
import { claimOf, FORGED_MAC } from '../model/report-spec.ts'
import { machinesOf, type World } from '../world.ts'
import { isAccepted, LATELY } from './accepted-copies.ts'
import { type Bound, entryOf, isListed } from './entries.ts'

/** Judged when a status names another VM than before. */
export function judgeNewBinding(world: World, by: string, before: StoredReport, after: StoredReport): void {
  const { judge } = world
  const { vm, nodeUID } = after.status
  const same = before.status.nodeUID === nodeUID ? before.status : undefined
  if (vm === undefined || nodeUID === undefined) return
  const entry = entryOf(world, vm)
  if (entry === undefined) return
  const bound = judge.bindings.get(nodeUID) ?? new Set()
  judge.bindings.set(nodeUID, bound)
  const isAsBefore = same?.vm?.vCenterInstanceUUID === vm.vCenterInstanceUUID
  if (isAsBefore && same?.vm !== undefined && entryOf(world, same.vm) === entry) return
  const machines = machinesOf(world, nodeUID)
  const wrong = machines.length === 0 ? undefined : whyWrong(world, vm, entry, machines)
  if (wrong === undefined) {
    bound.add(entry)
    judge.taken.delete(nodeUID)
  } else if (isAccepted(world, by, entry, machines, same)) judge.taken.set(nodeUID, entry)
  else
    judge.violate(
      'no Node is a VM that it is not',
      `${by} takes ${after.metadata.name} for ${vm.moref} in ${vm.vCenter}: ${wrong}; ${[
        `before ${same?.vm === undefined ? 'none' : `${same.vm.moref} in ${same.vm.vCenter}`} (${reasonOf(same)})`,
        ...machines.map(
          (each) => `its agent writes ${each.claims}, its VM is ${each.vm?.moref ?? 'listed nowhere'}`,
        ),
      ].join('; ')}`,
    )
}

/** What was verified ends for no copy, whatever it makes itself look like. */
export function judgeLevel(world: World, by: string, before: StoredReport, after: StoredReport): void {
  const { judge } = world
  const { nodeUID, identityLevel, vm } = before.status
  if (identityLevel === undefined || vm === undefined || nodeUID !== after.status.nodeUID) return
  if (after.status.identityLevel !== undefined || nodeUID === undefined || judge.taken.has(nodeUID)) return
  const [machine, ...others] = machinesOf(world, nodeUID)
  const entry = entryOf(world, vm)
  if (machine === undefined || others.length > 0 || entry === undefined || entry.machine !== machine) return
  const seen = after.spec.interfaces.every(({ mac }) => mac === entry.mac)
  // A report that contradicts its machine counts until the agent has written another.
  const forged = machine.forged || after.spec.interfaces.some(({ mac }) => mac === FORGED_MAC)
  const verdict = after.status.conditions.find(({ type }) => type === 'IdentityVerified')?.reason
  // Another VM has the UUID that its machine reports, once its own has been given another.
  const isRenamed = entry.biosUUID !== machine.biosUUID
  if (seen && !forged && !isRenamed && verdict === 'MACsContradict')
    judge.violate('a NIC that is replaced ends nothing', `${by} at ${after.metadata.name}`)
  // vCenter may show a new NIC before the guest reports it, most of all of a machine that is off. No copy has part in that.
  const outdated = !seen && verdict === 'MACsContradict'
  const its = [entry, ...(machine.vm === undefined ? [] : [machine.vm])]
  const changed = its.some(
    ({ biosUUID, template, mac }) => template || biosUUID !== machine.biosUUID || mac !== machine.mac,
  )
  // It has booted with another UUID than the Node was initialized with, which no copy has brought about. What is known of its
  // VM may have followed already, while that was off.
  const { providerID } = world.api.nodes.get(after.metadata.name)?.spec ?? {}
  const rebooted = verdict === 'ProviderIDOfAnotherVM' && providerID !== `vsphere://${machine.biosUUID}`
  if (changed || forged || outdated || rebooted || !hasCopy(world, nodeUID)) return
  judge.violate(
    'what was verified ends for no copy',
    `${by} at ${after.metadata.name}: ${after.status.conditions.map(({ type, reason }) => `${type} ${reason}`).join(', ')}`,
  )
}

function reasonOf(status: StoredStatus | undefined): string {
  return status?.conditions.find(({ type }) => type === 'VMFound')?.reason ?? 'never looked at'
}

function whyWrong(
  { timeline }: World,
  { vCenterInstanceUUID }: Bound,
  entry: VM,
  machines: readonly Machine[],
): string | undefined {
  // Another one may answer in its place, which has none of its VMs.
  if (vCenterInstanceUUID !== entry.vCenterInstanceUUID)
    return `the vCenter with the instance UUID ${vCenterInstanceUUID} has never listed it`
  if (entry.machine === undefined)
    return entry.tenant === undefined ? 'nobody runs by it' : "it is a tenant's"
  if (!machines.includes(entry.machine)) return `it is the machine of ${entry.machine.nodeName}`
  if (entry.leftAt !== undefined && timeline.now - entry.leftAt > LATELY)
    return `its machine has left it at ${entry.leftAt} ms`
  return undefined
}

/**
 * Whether somebody makes his VM pass for that of a Node, or a copy of its vCenter shows it as well; or did so after this
 * moment, which is this one where it is not named. `plain` for a copy of the VM that is made without a purpose, too.
 */
export function hasCopy(world: World, nodeUID: string, since = world.timeline.now, plain = false): boolean {
  const uuids = machinesOf(world, nodeUID).map(({ biosUUID }) => biosUUID)
  return [...world.vCenters, ...world.clones].some(
    ({ known, cloneOf, retiredAt = Number.POSITIVE_INFINITY, unlistedAt }) =>
      retiredAt >= since &&
      [...known.values()].some(
        ({ tenant, machine, biosUUID, moref }) =>
          ((tenant ?? cloneOf) !== undefined || (plain && machine === undefined)) &&
          uuids.includes(biosUUID) &&
          (unlistedAt.get(moref) ?? Number.POSITIVE_INFINITY) >= since,
      ),
  )
}

/** Whether the Node of this UID is bound to a VM that its machine has left, so that its state is that one's. */
export function isLeftBehind(world: World, name: string): boolean {
  const { vm } = world.api.reports.get(name)?.status ?? {}
  return vm !== undefined && entryOf(world, vm)?.leftAt !== undefined
}

/** Why the Node may not be deleted for the sake of a VM that it was bound to; undefined where none of them is listed. */
export function stillListed({ judge }: World, nodeUID: string, since: number): string | undefined {
  const there = [...(judge.bindings.get(nodeUID) ?? [])].find(
    (vm) => vm.vCenter.vms.get(vm.moref) === vm && vm.leftAt !== undefined && vm.registeredAt <= since,
  )
  return there && `${there.vCenter.name} lists ${there.moref}, which it was before`
}

/** In the end, each machine that runs has its Node, whatever has happened to it; copies change nothing. */
export function judgeBound(
  world: World,
  { metadata, spec }: StoredNode,
  status: StoredStatus | undefined,
): void {
  const { judge, settings, vCenters, api } = world
  const machines = machinesOf(world, metadata.uid)
  const by = judge.taken.get(metadata.uid)
  // Who has once shown the claim himself keeps the Node until his VM stops, or until a person says which it is.
  if (by?.tenant?.reads === true) return
  const [machine, ...others] = machines.filter(({ destroyed }) => !destroyed)
  if (machine === undefined || others.length > 0 || !machine.agent || !machine.kubelet) return
  const { vm, power, biosUUID, claims } = machine
  if (by !== undefined && claims !== 'with-nonce') return
  if (power !== 'poweredOn' || vm?.connectionState !== 'connected' || vm.biosUUID !== biosUUID) return
  const datacenters = settings.datacenters[vm.vCenter.name]
  if (datacenters !== undefined && !datacenters.includes(vm.folder.datacenter)) return
  if (spec.providerID !== undefined && spec.providerID !== `vsphere://${biosUUID}`) return
  if (api.reports.get(metadata.name)?.spec.nodeUID !== metadata.uid) return
  const copies = vCenters
    .flatMap(({ vms }) => [...vms.values()])
    .filter((each) => each !== vm && each.biosUUID === biosUUID)
  const says = (what: string): void =>
    judge.violate('a machine that runs has its Node', `${metadata.name}, by ${vm.moref}, ${what}`)
  if (status?.identityLevel === undefined) {
    // Who waits for the first time may wait as long as another VM passes for his, unless his own alone shows the claim.
    // One whose report was contradicted while it failed over waits for a person.
    const left = status?.vm !== undefined && entryOf(world, status.vm)?.leftAt !== undefined
    // So does one that shows no claim and was registered anew as another VM.
    const anew = isLeftToPerson(world, machine, vm, status)
    const first = status?.vm === undefined && !claimDecides(machine, copies)
    if (!left && !anew && (copies.length === 0 || !first)) says('is not verified')
    return
  }
  const right = status.vm?.moref === vm.moref && status.vm.vCenter === vm.vCenter.name
  // Two show the claim, nobody can show any, or one has the instance UUID of the VM before, or its vCenter is not known to be
  // empty, so that it is not proven gone: what was verified stands, and a person says which it is.
  const undecided =
    copies.some(isReader) ||
    copies.some(
      (copy) =>
        (copy.tenant !== undefined || isUnfollowed(world, copy, status.vm)) && hasPlaceOf(copy, status.vm),
    ) ||
    mayStillHave(world, metadata.uid, status.vm) ||
    (machine.claims !== 'with-nonce' && copies.length > 0) ||
    isLeftToPerson(world, machine, vm, status)
  if (!right && !undecided) says(`is taken for ${status.vm?.moref} in ${status.vm?.vCenter}`)
  if (right && machine.claims === 'with-nonce' && status.identityLevel !== 'proven' && !copies.some(isReader))
    says(`is ${status.identityLevel}`)
}

/**
 * Whether a machine that shows no claim runs by another VM than its Node is bound to, which nobody lists any more, and a
 * person is told how to say so.
 */
function isLeftToPerson(
  world: World,
  { claims }: Machine,
  { instanceUUID }: VM,
  status: StoredStatus | undefined,
): boolean {
  const { vm: bound, conditions = [] } = status ?? {}
  if (claims === 'with-nonce' || bound === undefined || isListed(world, bound)) return false
  const told = conditions.find(({ type }) => type === 'VMFound')?.message
  return told?.includes(`${ANNOTATION_VM}=${instanceUUID}`) === true
}

/** Whether its VM alone shows the claim of a machine, so that it is known whatever else has its UUID. */
export function claimDecides(machine: Machine, copies: readonly VM[]): boolean {
  const claim = claimOf(machine)
  const { vm, claims } = machine
  return claims === 'with-nonce' && vm?.claim === claim && copies.every((copy) => copy.claim !== claim)
}

/** Whether an entry has the instance UUID of the VM that a Node is bound to, in its vCenter. */
function hasPlaceOf({ vCenter, instanceUUID }: VM, bound: StoredStatus['vm']): boolean {
  return instanceUUID === bound?.instanceUUID && vCenter.instanceUUID === bound.vCenterInstanceUUID
}

/**
 * Whether a machine has left this VM before its Node followed it there: it was registered anew, while a copy of its vCenter
 * still showed the one that the Node is bound to, and failed over. Of a VM that is off nothing says whose it is.
 */
function isUnfollowed(world: World, { machine, leftAt }: VM, bound: StoredStatus['vm']): boolean {
  return machine !== undefined && leftAt !== undefined && !isListed(world, bound)
}

/**
 * Whether the vCenter of a VM shows nothing while the VM of a Node that runs may be there, so that the search finds nothing though
 * it is not empty: no vCenter lists that VM, or no agent has ever said which it is.
 */
function mayStillHave(world: World, nodeUID: string, bound: StoredStatus['vm']): boolean {
  const { vCenters, api } = world
  const isNowhere = (uid: string): boolean => machinesOf(world, uid).every(({ vm }) => vm === undefined)
  const its = vCenters.find(({ instanceUUID }) => instanceUUID === bound?.vCenterInstanceUUID)
  return (
    its?.vms.size === 0 &&
    [...api.nodes.values()].some(
      (other) =>
        other.metadata.uid !== nodeUID &&
        readyOf(other) === 'True' &&
        (!api.reports.has(other.metadata.name) || isNowhere(other.metadata.uid)),
    )
  )
}

function isReader({ tenant }: VM): boolean {
  return tenant?.reads === true
}
