/**
 * Twins: two servers of the configuration whose vCenters say that they are one (`about.instanceUuid`). One may be a cloned
 * appliance, whose inventory stands still or lives a life of its own; or one vCenter has two DNS names. From here the two
 * cannot be told apart, so what counts is what both say. Entries that name one server, as of several tenants, are no twins.
 */
import type { BoundVM } from '../../../../agent/shared/node-report.ts'
import { printable } from '../../../../agent/shared/printable.ts'
import type { DecisionConfig } from '../../../config/config.ts'
import type { Inventory, Lookup, VCenterFailure } from '../../../types/inventory.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import type { NodeLookup } from '../decide/node-facts.ts'

/** Names in the configuration, for each identity that several servers give. */
export function twinsOf(
  inventories: readonly Pick<Inventory, 'vCenter' | 'instanceUUID'>[],
  servers: DecisionConfig['servers'],
): readonly (readonly string[])[] {
  const known = inventories.filter((each) => each.instanceUUID() !== '')
  return [...Map.groupBy(known, (each) => each.instanceUUID()).values()]
    .filter((group) => new Set(group.map(({ vCenter }) => servers[vCenter])).size > 1)
    .map((group) => group.map(({ vCenter }) => vCenter))
}

/**
 * Takes the word of a twin for unknown where the other one does not answer, shows a VM in another power state or with other network
 * cards, or does not show a VM that is said to be off, or the one that the Node was last verified by, through it. Where they agree
 * on the VM that the Node was verified to be, only the others are left out: whoever makes copies must not have its state doubted.
 * Another VM that only one of them shows as running is left: that moves nothing, and with two DNS names an account may not read it
 * by the other.
 *
 * @param boundTo the VM that the Node was last verified to be, also where it is refused now
 */
export function doubtTwins(
  lookups: readonly NodeLookup[],
  boundTo: BoundVM | undefined,
  inventories: readonly Pick<Inventory, 'vCenter' | 'instanceUUID'>[],
  servers: DecisionConfig['servers'],
): readonly NodeLookup[] {
  const identities = new Map(inventories.map((each) => [each.vCenter, each.instanceUUID()]))
  const mayBe = (vCenter: string, uuid: string): boolean => {
    const own = identities.get(vCenter) ?? ''
    // The one that a Node is bound by may have to come first before it says who it is.
    return own === '' ? vCenter === boundTo?.vCenter && uuid === boundTo.vCenterInstanceUUID : own === uuid
  }
  const areTwins = (one: string, other: string): boolean => {
    if (servers[one] === undefined || servers[other] === undefined || servers[one] === servers[other])
      return false
    const uuid = identities.get(one) ?? ''
    return uuid !== '' && mayBe(other, uuid)
  }

  return lookups.map((one) => {
    const { lookup, uuid, vCenter } = one
    if (lookup.state !== 'answered' || lookup.vms.length === 0) return one
    for (const other of lookups) {
      if (other.uuid !== uuid || !areTwins(vCenter, other.vCenter)) continue
      const doubted = doubtedBy(lookup, { one, other }, boundTo)
      if (doubted !== undefined) return { ...one, lookup: doubted }
    }
    return one
  })
}

/** What stands in the place of an answer that its twin does not confirm; undefined where it may stand. */
function doubtedBy(
  answer: Extract<Lookup, { state: 'answered' }>,
  { one, other }: Readonly<Record<'one' | 'other', NodeLookup>>,
  boundTo: BoundVM | undefined,
): Lookup | undefined {
  const { lookup } = other
  if (lookup.state === 'pending') return lookup
  if (lookup.state === 'unknown')
    return {
      state: 'unknown',
      failure: doubt(one, other, `${other.vCenter} does not answer: ${lookup.failure.message}`),
    }
  const sameAs = (vm: VirtualMachine) => lookup.vms.find(({ moref }) => moref === vm.moref)
  const agreed = answer.vms.filter((vm) => {
    const same = sameAs(vm)
    if (same !== undefined) return same.powerState === vm.powerState && hasSameCards(same, vm)
    // What a clone shows of it is no newer than what the other one has shown before.
    const isLost = isItself(boundTo, vm) && boundTo?.vCenter === other.vCenter
    return vm.powerState === 'poweredOn' && !isLost
  })
  const differs = answer.vms.find((vm) => !agreed.includes(vm))
  if (differs === undefined) return undefined
  const name = `VM "${printable(differs.name, 80)}"`
  const same = sameAs(differs)
  const what = same?.powerState === differs.powerState ? 'network cards' : 'power state'
  const failure = doubt(
    one,
    other,
    same === undefined
      ? `${other.vCenter} does not show ${name}`
      : `they do not agree on the ${what} of ${name}`,
  )
  return agreed.some((vm) => isItself(boundTo, vm))
    ? { ...answer, vms: agreed, incomplete: failure }
    : { state: 'unknown', failure, alone: true }
}

function hasSameCards(one: VirtualMachine, other: VirtualMachine): boolean {
  const cards = ({ nics }: VirtualMachine) =>
    nics
      .map(({ mac }) => mac)
      .sort()
      .join()
  return cards(one) === cards(other)
}

function isItself(bound: BoundVM | undefined, { vCenter, moref }: VirtualMachine): boolean {
  return bound?.vCenterInstanceUUID === vCenter.instanceUUID && bound.moref === moref
}

function doubt({ vCenter }: NodeLookup, other: NodeLookup, why: string): VCenterFailure {
  return {
    vCenter,
    reason: 'VCenterNotUnique',
    message: `vCenters ${vCenter} and ${other.vCenter} report the same instance UUID, but ${why}; VM data that only one of them reports is ignored: remove the clone from the configuration, or use one server name for both if they are the same vCenter`,
  }
}
