/** Which of the VMs under a Node's UUID may be its machine. */
import type { BoundVM, NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { MachineUUID } from '../../facts/machines.ts'
import { isBoundTo, isOfGroup } from '../bound-vm.ts'
import type { NodeFacts } from '../node-facts.ts'
import { outOfScope } from '../topology/scope.ts'
import { judgeClaim, proves } from './claim.ts'
import { commonMACs, contradictionOf } from './contradiction.ts'

/** What a Node's agent, or its kubelet, says of its machine. */
export interface MachineWord {
  readonly machine: MachineUUID
  readonly spec: NodeReportSpec
}

/**
 * The VMs that may be the Node's. A template, a dead entry and a VM outside the configured datacenters are none, unless
 * there is no other. Of the rest, those that have the vNICs which the guest sees, if any has: that is vCenter's word, while
 * the guest of a copy may write any claim. `pending` where the datacenter of one is not known yet.
 */
export function fittingOf(
  vms: readonly VirtualMachine[],
  { machine, spec }: MachineWord,
  facts: NodeFacts,
): readonly VirtualMachine[] | 'pending' {
  if (vms.length > 1 && vms.some((vm) => vm.ancestry === undefined && isScoped(vm, facts))) return 'pending'
  const living = vms.filter((vm) => !vm.template && !isDeadEntry(vm) && isInScope(vm, facts))
  const left = withoutOldEntries(
    living.length > 0 ? living : vms.filter((vm) => !vm.template && isInScope(vm, facts)),
  )
  if (machine.witness === 'asserted') return left
  const withMACs = left.filter((vm) => commonMACs(spec, vm).length > 0)
  return withMACs.length > 0 ? withMACs : left
}

/**
 * Drops stale entries of a VM that runs under another reference: of several with one instance UUID in one vCenter, the one on
 * a host that answers is the VM. An entry with an instance UUID of its own stays: it may be the machine, and the other a copy.
 */
function withoutOldEntries(vms: readonly VirtualMachine[]): readonly VirtualMachine[] {
  const runs = vms.filter((vm) => machineState(vm) === 'runs')
  const isOld = (vm: VirtualMachine): boolean =>
    machineState(vm) === 'unknown' &&
    vm.instanceUUID !== undefined &&
    runs.some(
      (other) =>
        other.instanceUUID === vm.instanceUUID && other.vCenter.instanceUUID === vm.vCenter.instanceUUID,
    )
  return vms.filter((vm) => !isOld(vm))
}

/** Whether nothing in the report or on the Node speaks against this VM. */
export function isPossible(vm: VirtualMachine, spec: NodeReportSpec, facts: NodeFacts): boolean {
  return contradictionOf({ spec, vm, macs: commonMACs(spec, vm) }, facts) === undefined
}

/**
 * Whether the machine of this VM runs now and shows the claim of the report. What a VM that is off shows, it wrote before.
 */
export function showsClaim(
  vm: VirtualMachine,
  spec: NodeReportSpec,
  facts: Pick<NodeFacts, 'nodeByUID'>,
): boolean {
  return machineState(vm) !== 'off' && proves(judgeClaim(vm, spec, facts))
}

/**
 * Whether a VM with the UUID of a Node that runs is its machine rather than somebody's copy: it is the VM that the Node was
 * verified to be, or shows its claim. Where the agent writes none, it has the instance UUID, which a move keeps. For a
 * Node that was never verified, the UUID is all that is known, unless a VM was seen for it.
 */
export function isMachineOf(
  { bound, spec }: { readonly bound: BoundVM | undefined; readonly spec: NodeReportSpec | undefined },
  vm: VirtualMachine,
): boolean {
  if (isBoundTo(bound, vm)) return true
  if (spec?.claim.digest !== undefined) return showsClaim(vm, spec, { nodeByUID: () => undefined })
  return bound === undefined || (bound.instanceUUID !== '' && bound.instanceUUID === vm.instanceUUID)
}

/**
 * Whether a VM passes for a machine that runs. Others with the same UUID are common, and not worth a word: replicas of
 * another site, templates, old entries.
 */
export function passesForRunning({ template, powerState, ...vm }: VirtualMachine): boolean {
  return !template && powerState === 'poweredOn' && !isDeadEntry(vm)
}

/** Whether no host has the VM that this entry was of. */
export function isDeadEntry({ connectionState }: Pick<VirtualMachine, 'connectionState'>): boolean {
  return connectionState === 'orphaned' || connectionState === 'invalid'
}

/** Whether no VM of a Fault Tolerance group is its primary, or two are, as while vCenter reports one after the other. */
export function isFailingOver(primaries: readonly VirtualMachine[]): boolean {
  return primaries.length === 0 || primaries.some((each) => primaries.some((other) => isOfGroup(each, other)))
}

function isScoped({ vCenter }: VirtualMachine, { settings }: NodeFacts): boolean {
  return (settings.datacenters[vCenter.name] ?? []).length > 0
}

function isInScope(vm: VirtualMachine, { settings }: NodeFacts): boolean {
  const { ancestry } = vm
  if (ancestry === undefined) return true
  return outOfScope(vm, ancestry, settings.datacenters[vm.vCenter.name] ?? []) === undefined
}
