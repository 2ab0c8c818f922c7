import type { BoundVM, NodeReportSpec } from '../../../../agent/shared/node-report.ts'
import { type Inventory, vmsOf } from '../../../types/inventory.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { isBoundTo } from '../decide/bound-vm.ts'
import { commonMACs } from '../decide/identity/contradiction.ts'
import type { NodeFacts, NodeLookup } from '../decide/node-facts.ts'

/**
 * Makes lookups `pending` while a VM has to be read again first: vCenter does not push changes of vNICs, but a guest reports a
 * replaced NIC within seconds. Otherwise the report of the right machine would contradict what was read of the VM minutes ago,
 * and end its verification.
 *
 * This applies to the bound VM if the guest has a NIC that is not known there, and to the VMs of a new Node if none of them
 * has a NIC of the guest.
 */
export function awaitReplacedNICs(
  lookups: readonly NodeLookup[],
  spec: NodeReportSpec | undefined,
  { previous: { vm: bound } }: Pick<NodeFacts, 'previous'>,
  inventories: readonly Pick<Inventory, 'vCenter' | 'readSince'>[],
): readonly NodeLookup[] {
  if (spec === undefined || spec.interfaces.length === 0) return lookups
  const doubted = doubtedBy(
    spec,
    lookups.flatMap(({ lookup }) => vmsOf(lookup)),
    bound,
  )
  if (doubted.length === 0) return lookups
  // All of them are asked about, so that one call reads them all.
  const unread = doubted.filter((vm) => {
    const inventory = inventories.find(({ vCenter }) => vCenter === vm.vCenter.name)
    return inventory?.readSince(vm.moref, unknownMACs(spec, vm).join(' ')) === false
  })
  return lookups.map((one) =>
    vmsOf(one.lookup).some((vm) => unread.includes(vm)) ? { ...one, lookup: { state: 'pending' } } : one,
  )
}

function doubtedBy(
  spec: NodeReportSpec,
  vms: readonly VirtualMachine[],
  bound: BoundVM | undefined,
): readonly VirtualMachine[] {
  if (bound !== undefined) return vms.filter((vm) => isBoundTo(bound, vm) && unknownMACs(spec, vm).length > 0)
  return vms.some((vm) => commonMACs(spec, vm).length > 0) ? [] : vms
}

/** The guest's MAC addresses that the VM is not known to have. */
function unknownMACs({ interfaces }: NodeReportSpec, { nics }: VirtualMachine): readonly string[] {
  const known = new Set(nics.map(({ mac }) => mac))
  return [...new Set(interfaces.map(({ mac }) => mac))].filter((mac) => !known.has(mac)).sort()
}
