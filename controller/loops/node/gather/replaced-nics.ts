import type { BoundVM, NodeReportSpec } from '../../../../agent/shared/node-report.ts'
import { type Inventory, vmsOf } from '../../../types/inventory.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { isBoundTo } from '../decide/bound-vm.ts'
import { commonMACs } from '../decide/identity/contradiction.ts'
import type { NodeFacts, NodeLookup } from '../decide/node-facts.ts'

/**
 * The lookups, `pending` where a VM is to be read once more before anything is judged: vCenter pushes no vNICs, and a guest
 * reports a NIC within seconds that was replaced. Without this a report of the right machine would contradict a VM as it was
 * minutes ago, and end what was verified.
 *
 * That goes for the bound VM if the guest has a NIC that it did not have, and for a new Node's if they have none in common.
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
  // Each one is asked about, so that all are read by one call.
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

/** The MAC addresses that the guest has and the VM has not, as far as is known. */
function unknownMACs({ interfaces }: NodeReportSpec, { nics }: VirtualMachine): readonly string[] {
  const known = new Set(nics.map(({ mac }) => mac))
  return [...new Set(interfaces.map(({ mac }) => mac))].filter((mac) => !known.has(mac)).sort()
}
