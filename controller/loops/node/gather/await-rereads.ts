import {
  type BoundVM,
  claimDigest,
  type NodeReportSpec,
  parseClaim,
} from '../../../../agent/shared/node-report.ts'
import { type Inventory, vmsOf } from '../../../types/inventory.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { isBoundTo } from '../decide/bound-vm.ts'
import { commonMACs } from '../decide/identity/contradiction.ts'
import type { NodeFacts, NodeLookup } from '../decide/node-facts.ts'

/**
 * Makes lookups `pending` while a VM has to be read again first, because what was read of it minutes ago would end what was
 * verified:
 * - vCenter does not push changes of vNICs, but a guest reports a replaced NIC within seconds. This applies to the bound VM if
 *   the guest has a NIC that is not known there, and to the VMs of a new Node if none of them has a NIC of the guest.
 * - Another VM shows the claim of the report and this one does not: it may show it too, and vCenter may not have pushed that,
 *   while somebody has copied it. It is the bound VM, one that the machine was moved to, or one of several of a new Node. The VM
 *   that shows the claim waits too, in whichever vCenter: alone it would be taken for the Node's.
 *
 * Where vCenter refuses to read it, nothing is known, and that is said: whoever may take the right to read a VM away would
 * otherwise keep a Node waiting without a word.
 */
export function awaitRereads(
  lookups: readonly NodeLookup[],
  spec: NodeReportSpec | undefined,
  {
    node,
    previous: { vm: bound },
  }: Pick<NodeFacts, 'previous'> & { readonly node: { readonly name: string } },
  inventories: readonly Pick<Inventory, 'vCenter' | 'readSince'>[],
): readonly NodeLookup[] {
  if (spec === undefined) return lookups
  const vms = lookups.flatMap(({ lookup }) => vmsOf(lookup))
  const doubts = vms.flatMap((vm) => {
    const doubt = doubtOf(vm, spec, bound, vms)
    return doubt === '' ? [] : [{ vm, doubt }]
  })
  if (doubts.length === 0) return lookups
  // All of them are asked about, so that one call reads them all.
  const rereads = new Map(
    doubts.map(({ vm, doubt }) => {
      const inventory = inventories.find(({ vCenter }) => vCenter === vm.vCenter.name)
      return [vm, inventory?.readSince(vm.moref, doubt, node.name)] as const
    }),
  )
  const { digest } = spec.claim
  const isAwaited = [...rereads.values()].includes(false)
  return lookups.map((one): NodeLookup => {
    const found = vmsOf(one.lookup)
    const its = found.map((vm) => rereads.get(vm))
    const decides = isAwaited && digest !== undefined && found.some((vm) => shows(vm, digest))
    if (its.includes(false) || decides) return { ...one, lookup: { state: 'pending' } }
    const failure = its.find((each) => typeof each === 'object')
    return failure === undefined ? one : { ...one, lookup: { state: 'unknown', failure, alone: true } }
  })
}

/** What the report says that is not known of a VM which may be the Node's; empty where there is nothing. */
function doubtOf(
  vm: VirtualMachine,
  spec: NodeReportSpec,
  bound: BoundVM | undefined,
  vms: readonly VirtualMachine[],
): string {
  const { digest } = spec.claim
  // Most machines have one VM, of which nothing need be computed.
  const isCopied =
    vms.length > 1 && digest !== undefined && !shows(vm, digest) && vms.some((each) => shows(each, digest))
  const doubts = [...doubtedMACs(vm, spec, bound, vms), ...(isCopied ? [digest] : [])]
  if (doubts.length === 0 || vm.connectionState === 'connected') return doubts.join(' ')
  // Of a VM on a host that does not answer, vCenter says what it knew before: it is read once more when it answers.
  return [...doubts, vm.connectionState].join(' ')
}

function doubtedMACs(
  vm: VirtualMachine,
  spec: NodeReportSpec,
  bound: BoundVM | undefined,
  vms: readonly VirtualMachine[],
): readonly string[] {
  const isInDoubt =
    bound === undefined ? vms.every((each) => commonMACs(spec, each).length === 0) : isBoundTo(bound, vm)
  return isInDoubt ? unknownMACs(spec, vm) : []
}

function shows({ claim }: VirtualMachine, digest: string): boolean {
  const parsed = claim === undefined ? undefined : parseClaim(claim)
  return parsed !== undefined && claimDigest(parsed) === digest
}

/** The guest's MAC addresses that the VM is not known to have. */
function unknownMACs({ interfaces }: NodeReportSpec, { nics }: VirtualMachine): readonly string[] {
  const known = new Set(nics.map(({ mac }) => mac))
  return [...new Set(interfaces.map(({ mac }) => mac))].filter((mac) => !known.has(mac)).sort()
}
