import { failureOf, type VCenterFailure } from '../../../../types/inventory.ts'
import { isSecondary, machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { isUnseen, type NodeMachines } from '../../facts/machines.ts'
import { isBoundTo, mayBeBoundTo, secondaryOnly } from '../bound-vm.ts'
import { machinesAmong } from '../identity/fitting-vms.ts'
import type { NodeLookup } from '../node-facts.ts'

/** What the inventories show of a Node's machines. */
export type Presence =
  /** The machine that the Node was verified to be. */
  | { readonly kind: 'seen'; readonly vm: VirtualMachine }
  /** Another machine that the Node points to, or its own under a new reference, which identity has to judge first. */
  | { readonly kind: 'named'; readonly vm: VirtualMachine }
  /** Not answered yet; the inventory will call back. */
  | { readonly kind: 'pending' }
  /** A vCenter could not be asked: nothing is concluded. */
  | { readonly kind: 'unknown'; readonly failure: VCenterFailure }
  /** Another VM has the BIOS UUID of one of them: a copy, or the same VM elsewhere. Identity decides that first. */
  | { readonly kind: 'other'; readonly vm: VirtualMachine }
  /** No vCenter shows any of them. They may be gone: a probe is to find out. */
  | { readonly kind: 'missing' }

export function presenceOf({ machines, bound }: NodeMachines, lookups: readonly NodeLookup[]): Presence {
  const uuids = new Set(machines.map(({ biosUUID }) => biosUUID))
  const ours = lookups.filter(({ uuid }) => uuids.has(uuid))
  const found = ours.flatMap(({ uuid, lookup }) =>
    lookup.state === 'answered' ? lookup.vms.map((vm) => ({ uuid, vm })) : [],
  )
  const [first] = machines
  const its = bound ? found.map(({ vm }) => vm).filter((vm) => isBoundTo(first, vm)) : []
  // In a Fault Tolerance group only the primary says whether the machine runs. During a failover there may be two.
  const primaries = its.filter((each) => !isSecondary(each))
  const itself = primaries.find((each) => machineState(each) !== 'off') ?? primaries[0]
  if (itself !== undefined) return { kind: 'seen', vm: itself }

  const rest = found.filter(({ vm }) => !its.includes(vm))
  const machinesHere = machinesAmong(rest.map(({ vm }) => vm))
  const isMachine = ({ vm }: { readonly vm: VirtualMachine }) => machinesHere.includes(vm)
  // The machine, rather than an entry that it has left behind.
  const likelyFirst = [...rest.filter(isMachine), ...rest]
  const named =
    likelyFirst.find(({ vm }) => machines.some((each) => mayBeBoundTo(each, vm))) ??
    // A VM found by the UUID of a machine that was never seen is that machine.
    likelyFirst.find(({ uuid }) => machines.some((each) => isUnseen(each) && each.biosUUID === uuid))
  if (named !== undefined) return { kind: 'named', vm: named.vm }
  const [secondary] = its
  const [other] = rest
  if (other !== undefined && secondary === undefined) return { kind: 'other', vm: other.vm }

  const asked = new Set(ours.map(({ uuid }) => uuid))
  if (asked.size < uuids.size || ours.some(({ lookup }) => lookup.state === 'pending'))
    return { kind: 'pending' }
  if (secondary !== undefined) return { kind: 'unknown', failure: withoutPrimary(secondary) }
  for (const { lookup } of ours) {
    const failure = failureOf(lookup)
    if (failure !== undefined) return { kind: 'unknown', failure }
  }
  return { kind: 'missing' }
}

/** During a failover, or when the primary is gone: the secondary becomes the primary, so nothing is missing. */
function withoutPrimary(secondary: VirtualMachine): VCenterFailure {
  const { reason, message } = secondaryOnly(secondary)
  return { vCenter: secondary.vCenter.name, reason, message }
}
