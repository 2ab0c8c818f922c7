import type { VCenterFailure } from '../../types/vcenter-failure.ts'
import { isSecondary, type VirtualMachine } from '../../types/virtual-machine.ts'
import { isBoundTo } from '../binding.ts'
import { secondaryOnly } from '../describe-vm.ts'
import { machineState } from '../machine-state.ts'
import type { NodeFacts } from '../node-facts.ts'
import { isUnseen, type Subject } from './subject.ts'

/** What the inventories show of the machines that a Node may be. */
export type Presence =
  /** The one that the Node was verified to be. */
  | { readonly kind: 'seen'; readonly vm: VirtualMachine }
  /** Another to which it points. */
  | { readonly kind: 'named'; readonly vm: VirtualMachine }
  /** Not answered yet; the inventory will call back. */
  | { readonly kind: 'pending' }
  /** A vCenter could not be asked: nothing is concluded. */
  | { readonly kind: 'unknown'; readonly failure: VCenterFailure }
  /** Another VM has the BIOS UUID of one of them: a copy, or the same elsewhere; identity has the first word on that. */
  | { readonly kind: 'other'; readonly vm: VirtualMachine }
  /** All vCenters have answered without any. They may be gone; that is to be found out. */
  | { readonly kind: 'missed' }

export function presenceOf({ machines, bound }: Subject, lookups: NodeFacts['lookups']): Presence {
  const uuids = new Set(machines.map(({ biosUUID }) => biosUUID))
  const ours = lookups.filter(({ uuid }) => uuids.has(uuid))
  const found = ours.flatMap(({ uuid, lookup }) =>
    lookup.state === 'answered' ? lookup.vms.map((vm) => ({ uuid, vm })) : [],
  )
  const [first] = machines
  const its = bound ? found.map(({ vm }) => vm).filter((vm) => isBoundTo(first, vm)) : []
  // Of a Fault Tolerance group, the primary alone says whether the machine runs; while roles change there may be two.
  const primaries = its.filter((each) => !isSecondary(each))
  const itself = primaries.find((each) => machineState(each) !== 'off') ?? primaries[0]
  if (itself !== undefined) return { kind: 'seen', vm: itself }

  const rest = found.filter(({ vm }) => !its.includes(vm))
  const named =
    rest.find(({ vm }) => machines.some((each) => isBoundTo(each, vm))) ??
    // Who is found by the UUID of a machine that was never seen is that machine.
    rest.find(({ uuid }) => machines.some((each) => isUnseen(each) && each.biosUUID === uuid))
  if (named !== undefined) return { kind: 'named', vm: named.vm }
  const [secondary] = its
  const [other] = rest
  if (other !== undefined && secondary === undefined) return { kind: 'other', vm: other.vm }

  const asked = new Set(ours.map(({ uuid }) => uuid))
  if (asked.size < uuids.size || ours.some(({ lookup }) => lookup.state === 'pending'))
    return { kind: 'pending' }
  if (secondary !== undefined) return { kind: 'unknown', failure: withoutPrimary(secondary) }
  for (const { lookup } of ours) {
    if (lookup.state === 'unknown') return { kind: 'unknown', failure: lookup.failure }
  }
  return { kind: 'missed' }
}

/** The primary is about to be another one, or is gone: then the secondary becomes it, and nothing is missed. */
function withoutPrimary(secondary: VirtualMachine): VCenterFailure {
  const { reason, message } = secondaryOnly(secondary)
  return { vCenter: secondary.vCenter.name, reason, message }
}
