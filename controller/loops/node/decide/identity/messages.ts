/** What is said of the search for a Node's VM. */
import {
  type BoundVM,
  FACT_SERIAL_UUID,
  type IdentityLevel,
  type NodeReportSpec,
} from '../../../../../agent/shared/node-report.ts'
import { type ConditionValue, no, unknown } from '../../../../types/condition-value.ts'
import { ANNOTATION_VM } from '../../../../types/node.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { MachineUUID } from '../../facts/machines.ts'
import { addAgent, isAgentless } from '../../facts/previous-status.ts'
import { describeBound, describeVM } from '../bound-vm.ts'
import type { NodeFacts } from '../node-facts.ts'

export function noSystemUUID(): ConditionValue {
  return no(
    'NoSystemUUID',
    "no agent has reported a BIOS UUID, and the Node's status.nodeInfo.systemUUID is not one; run an agent, or check what the kubelet reads from the firmware",
  )
}

/**
 * The agent's own reason goes into the message only: what a stranger wrote must not become a metric's label.
 *
 * @param required the level that the Node must reach
 */
export function noSerial(
  spec: NodeReportSpec,
  node: NodeFacts['node'],
  required: IdentityLevel,
): ConditionValue {
  if (isAgentless(spec))
    return no(
      'NoReport',
      `no agent reports from this Node, and its identity must be ${required} (identity.require): ${addAgent(node)}`,
    )
  const cause = spec.unreadable?.find(({ fact }) => fact === FACT_SERIAL_UUID)
  return no(
    'NoSerial',
    cause === undefined
      ? 'the report has no BIOS UUID from product_serial; the agent must run as root on a VMware VM to read it'
      : `the agent could not read the BIOS UUID: ${cause.message} (${cause.reason})`,
  )
}

export function noVM({ uuids }: MachineUUID, { lookups }: NodeFacts): ConditionValue {
  const searched = lookups.filter((lookup) => uuids.includes(lookup.uuid))
  const names = [...new Set(searched.map(({ vCenter }) => vCenter))].join(', ')
  return no(
    'NoVMWithUUID',
    `no VM with BIOS UUID ${uuids.join(' or ')} is visible in vCenter ${names}; check that the VM exists and that the vCenter account has System.Read on it, or delete the Node if its machine is gone`,
  )
}

/** For a VM whose datastore is away vCenter knows little more than the name: nothing about it can be checked. */
export function unreadable(vm: VirtualMachine): ConditionValue {
  return unknown(
    'VMUnreadable',
    `vCenter cannot read the configuration of ${describeVM(vm)}, which is ${vm.connectionState}; bring its host and datastore back`,
  )
}

export function isTemplate(vm: VirtualMachine): ConditionValue {
  return no(
    'VMIsTemplate',
    `BIOS UUID ${vm.biosUUID} belongs to the template ${describeVM(vm)}, which cannot run a node; find the running VM that shares its UUID and give it one of its own`,
  )
}

export function ambiguous({ uuids }: MachineUUID, vms: readonly VirtualMachine[]): ConditionValue {
  return no(
    'AmbiguousUUID',
    `BIOS UUID ${uuids.join(' or ')} belongs to ${vms.length} VMs: ${listed(vms)}; remove each copy, or give it a UUID of its own (power off, then set uuid.bios)`,
  )
}

export function claimShownTwice(vms: readonly VirtualMachine[]): ConditionValue {
  return no(
    'AmbiguousUUID',
    `${vms.length} VMs show the claim of this Node: ${listed(vms)}; whoever made the copies may read the configuration of the VM: remove the copies, then restart the agent, which writes a new claim`,
  )
}

function listed(vms: readonly VirtualMachine[]): string {
  return vms.slice(0, 4).map(describeVM).join(', ')
}

/**
 * For a Node whose VM is not found while others have its UUID.
 *
 * @param likely those of them that may be the Node's; a command is given where a person could decide
 */
export function heldBy(
  bound: BoundVM,
  { others, likely }: Readonly<Record<'others' | 'likely', readonly VirtualMachine[]>>,
  { claim }: Pick<NodeReportSpec, 'claim'>,
  facts: Pick<NodeFacts, 'node' | 'vCenterState'>,
): ConditionValue {
  const removed = facts.vCenterState(bound.vCenterInstanceUUID) === 'unconfigured'
  const shown = likely.length > 0 ? likely : others
  const have = shown.length === 1 ? 'has its BIOS UUID' : 'have its BIOS UUID'
  const byItself =
    claim.digest !== undefined || (likely.length === 1 && likely[0]?.instanceUUID === bound.instanceUUID)
  const until = removed
    ? `; vCenter ${bound.vCenter} (instance UUID ${bound.vCenterInstanceUUID}), which had the missing VM, is no longer configured, so nobody can prove that VM gone, and the Node stays bound to it until exactly one VM shows the claim of the Node's agent`
    : "; the Node stays bound to the missing VM until that VM is proven gone and the Node's agent reports again"
  // Until then none of the others is taken for the same VM under another reference.
  const inItsPlace = others.find(
    (vm) => vm.instanceUUID === bound.instanceUUID && vm.vCenter.instanceUUID === bound.vCenterInstanceUUID,
  )
  const first =
    inItsPlace === undefined || likely.includes(inItsPlace)
      ? ''
      : `; for that, remove ${describeVM(inItsPlace)}, which has its instance UUID`
  const without = byItself
    ? ''
    : '. The agent writes no claim with a nonce, by which its VM would be known: install one of this release, and let it write guestinfo'
  return no(
    'UUIDOfAnotherVM',
    `${describeBound(bound)}, which this Node was verified to be, is not found, and ${listed(shown)} ${have}${until}${first}${without}${orName(likely, { bound, removed }, facts.node)}`,
  )
}

/** What a person could write who knows which of these VMs a Node is now. */
function orName(
  likely: readonly VirtualMachine[],
  { bound, removed }: { readonly bound: BoundVM; readonly removed: boolean },
  { name }: NodeFacts['node'],
): string {
  // The instance UUID of a VM that may still exist names that VM itself.
  const uuids = likely.flatMap(({ instanceUUID: uuid }) =>
    uuid === undefined || (uuid === bound.instanceUUID && !removed) ? [] : [uuid],
  )
  const [uuid] = uuids
  if (uuid === undefined) return ''
  return likely.length === 1
    ? `. Only if you know that the Node is that VM now: kubectl annotate node ${name} ${ANNOTATION_VM}=${uuid}`
    : `. Only if you know which of them the Node is now: kubectl annotate node ${name} ${ANNOTATION_VM}=INSTANCE-UUID`
}

/** For a Node whose agent reports the UUID of another machine than before, while that may be one of several. */
export function rebuiltAsOneOf(
  bound: BoundVM,
  vm: VirtualMachine,
  { name }: NodeFacts['node'],
): ConditionValue {
  return no(
    'UUIDOfAnotherVM',
    `the agent reports the BIOS UUID of ${describeVM(vm)}, and this Node was verified to be ${describeBound(bound)}; it is bound to the other VM once every vCenter has answered and that VM is the only one that fits, or that VM alone shows the claim of the agent: remove its copies, or give them UUIDs of their own. Only if you know that the Node is that VM now: kubectl annotate node ${name} ${ANNOTATION_VM}=${vm.instanceUUID ?? 'INSTANCE-UUID'}`,
  )
}

export function claimDecides(vm: VirtualMachine, twin: VirtualMachine): ConditionValue {
  return unknown(
    'AmbiguousUUID',
    `${describeVM(vm)} and ${describeVM(twin)}, which is ${twin.powerState}, have the same BIOS UUID and MAC addresses, and neither shows the claim yet; that takes seconds to minutes, otherwise give the copy its own UUID`,
  )
}

/** For a VM that fits while others may fit as well. `alone`: vCenter answered, but could not read those. */
export function fitsWithoutClaim(
  vm: VirtualMachine,
  { reason, message }: Pick<ConditionValue, 'reason' | 'message'>,
  alone: boolean,
): ConditionValue {
  const way = alone
    ? ''
    : '; with a claim of its agent, or identity.requireAllVCenters: false, the Node need not wait'
  return unknown(
    reason,
    `${describeVM(vm)} fits, but shows no claim of this Node, and there may be another such VM: ${message}${way}`,
  )
}
