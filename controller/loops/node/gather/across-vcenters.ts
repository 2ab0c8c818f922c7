/** What several vCenters say of one Node, or several accounts of one vCenter, put together. */
import type { BoundVM } from '../../../../agent/shared/node-report.ts'
import type { DecisionConfig } from '../../../config/config.ts'
import { failureOf, type Inventory, type Lookup, type Proof, vmsOf } from '../../../types/inventory.ts'
import type { Reason } from '../../../types/reasons.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import type { NodeFacts, NodeLookup } from '../decide/node-facts.ts'
import { outOfScope } from '../decide/topology/scope.ts'
import { doubtTwins } from './twin-vcenters.ts'

/**
 * Looks these BIOS UUIDs up in every vCenter, believes of two that say they are one what both say (`doubtTwins`), and leaves
 * one view of each VM: see {@link oneViewOfEach}. Whoever makes copies must not hide the VM that the Node was verified to be.
 */
export function lookUpInAll(
  uuids: readonly string[],
  { boundTo, previous }: Pick<NodeFacts, 'boundTo' | 'previous'>,
  inventories: readonly Inventory[],
  settings: Pick<DecisionConfig, 'datacenters' | 'servers'>,
): readonly NodeLookup[] {
  const { vm } = previous
  const all = inventories.flatMap((inventory) => {
    const { vCenter } = inventory
    const isIts = inventory.instanceUUID() === vm?.vCenterInstanceUUID
    return uuids.map((uuid) => ({
      vCenter,
      uuid,
      lookup: inventory.lookup(uuid, isIts && uuid === vm?.biosUUID ? vm.moref : undefined),
    }))
  })
  if (inventories.length === 1) return all
  // A refused Node is bound to no VM, but a clone may still show the last one after it is gone.
  const believed = doubtTwins(all, vm, inventories, settings.servers)
  return oneViewOfEach(believed, boundTo?.vCenter, settings)
}

/** Why a vCenter cannot be asked that is down, or beyond the network. What else is wrong may be our own fault. */
const AWAY: readonly Reason[] = ['Unreachable', 'TimedOut', 'Unavailable']

/** What the vCenter with this `about.instanceUuid` does: see `NodeFacts.vCenterState`. */
export function vCenterState(
  instanceUUID: string,
  inventories: readonly Inventory[],
): ReturnType<NodeFacts['vCenterState']> {
  const known = inventories.filter((each) => each.instanceUUID() === instanceUUID)
  if (known.some((each) => each.failure() === undefined)) return 'answers'
  const its = known.length > 0 ? known : inventories.filter((each) => each.instanceUUID() === '')
  if (its.length === 0) return 'unconfigured'
  return its.every((each) => AWAY.includes(each.failure()?.reason ?? 'NotConnected')) ? 'away' : 'refuses'
}

/**
 * For each vCenter, whether it could be proven there that the bound VM is gone; undefined where that is not known yet. By
 * vCenter and server, however many entries of the configuration name it: one account that may read enough will do. A second
 * server that says it is the same vCenter must be able to as well.
 */
export function provableInEach(
  bound: BoundVM | undefined,
  inventories: readonly Inventory[],
  { servers }: Pick<DecisionConfig, 'servers'>,
): readonly (Proof | undefined)[] {
  if (bound === undefined) return []
  const proofs = new Map<string, (Proof | undefined)[]>()
  for (const inventory of inventories) {
    const instanceUUID = inventory.instanceUUID()
    const proof = inventory.provable(instanceUUID === bound.vCenterInstanceUUID ? (bound.parents ?? []) : [])
    // As long as it has not said who it is, it counts by itself.
    const { vCenter } = inventory
    const key = instanceUUID === '' ? `name ${vCenter}` : `${instanceUUID} ${servers[vCenter]}`
    proofs.set(key, [...(proofs.get(key) ?? []), proof])
  }
  return Array.from(
    proofs.values(),
    (each) =>
      each.find((proof) => proof?.state === 'proven') ?? (each.includes(undefined) ? undefined : each[0]),
  )
}

/**
 * Leaves one view of each VM where the configuration names one vCenter several times, once for each tenant: what two
 * accounts may both read is still one VM. The view of the entry whose datacenters have the VM counts; of several the one
 * that the Node is bound by, then the one that may read more, then the first.
 *
 * Which entry a VM belongs to is not known while another entry of its server, which may be the one, has not answered: until
 * then the VM is not known either. Where that entry has answered and does not know all VMs, those of the first one's own
 * datacenters are.
 *
 * @param boundBy the entry by which the Node was last verified
 */
export function oneViewOfEach(
  lookups: readonly NodeLookup[],
  boundBy: string | undefined,
  settings: Pick<DecisionConfig, 'datacenters' | 'servers'>,
): readonly NodeLookup[] {
  const { datacenters, servers } = settings
  const scope = (vm: VirtualMachine): number => {
    const listed = datacenters[vm.vCenter.name] ?? []
    if (listed.length === 0) return IN
    if (vm.ancestry === undefined) return NOT_KNOWN
    return outOfScope(vm, vm.ancestry, listed) === undefined ? IN : OUT
  }
  const unread = ({ unreadable, ancestry }: VirtualMachine): number =>
    unreadable.length + (ancestry?.unreadable.length ?? 0) + (ancestry?.unreadableAbove === undefined ? 0 : 1)
  const isOther = (vm: VirtualMachine): number => (vm.vCenter.name === boundBy ? 0 : 1)
  const compare = (a: VirtualMachine, b: VirtualMachine): number =>
    scope(a) - scope(b) || isOther(a) - isOther(b) || unread(a) - unread(b)

  const best = new Map<string, VirtualMachine>()
  for (const vm of lookups.flatMap(({ lookup }) => vmsOf(lookup))) {
    const other = best.get(identityOf(vm))
    if (other === undefined || compare(vm, other) < 0) best.set(identityOf(vm), vm)
  }
  const isBest = (vm: VirtualMachine): boolean => best.get(identityOf(vm)) === vm

  /** What other entries of the same server say, which may yet show the VM in a datacenter of their own. */
  const awaited = (one: NodeLookup): readonly Lookup[] =>
    lookups.flatMap((other) =>
      other.vCenter !== one.vCenter &&
      other.uuid === one.uuid &&
      servers[other.vCenter] !== undefined &&
      servers[other.vCenter] === servers[one.vCenter]
        ? [other.lookup]
        : [],
    )

  return lookups.map((one) => {
    const { lookup } = one
    if (lookup.state !== 'answered' || lookup.vms.length === 0) return one
    const vms = lookup.vms.filter(isBest)
    const others = vms.some((vm) => scope(vm) === OUT) ? awaited(one) : []
    const silent = others.find(({ state }) => state !== 'answered')
    if (silent !== undefined) return { ...one, lookup: silent }
    const incomplete = others.map(failureOf).find((failure) => failure !== undefined)
    if (incomplete !== undefined) {
      const own = vms.filter((vm) => scope(vm) !== OUT)
      return { ...one, lookup: { ...lookup, vms: own, incomplete } }
    }
    return vms.length === lookup.vms.length ? one : { ...one, lookup: { ...lookup, vms } }
  })
}

const IN = 0
const NOT_KNOWN = 1
const OUT = 2

/** A moref is unique within one vCenter, whatever the configuration calls that. */
function identityOf({ vCenter: { instanceUUID }, moref }: VirtualMachine): string {
  return `${instanceUUID} ${moref}`
}
