import { type BoundVM, FACT_SERIAL_UUID, type NodeReportSpec } from '../../../agent/shared/node-report.ts'
import type { MachineUUID } from '../../node/machine-uuid.ts'
import { faultToleranceGroup, isSecondary, type VirtualMachine } from '../../types/virtual-machine.ts'
import { isBoundTo } from '../bound-vm.ts'
import { type ConditionValue, no, unknown, yes } from '../condition-value.ts'
import { describeVM, secondaryOnly } from '../describe-vm.ts'
import { machineState } from '../machine-state.ts'
import type { NodeFacts } from '../node-facts.ts'
import { judgeClaim, proves } from './claim.ts'
import { commonMACs } from './mac.ts'

export type VMSearch =
  | { readonly outcome: 'found'; readonly vm: VirtualMachine; readonly condition: ConditionValue }
  /** A vCenter has not answered yet; an event will come. */
  | { readonly outcome: 'pending' }
  /** A vCenter could not be asked: nothing is concluded. `alone` where only this VM is affected. */
  | { readonly outcome: 'unknown'; readonly condition: ConditionValue; readonly alone: boolean }
  /** No VM is found, which by itself contradicts nothing that was verified before. */
  | { readonly outcome: 'not-found'; readonly condition: ConditionValue }
  /** What was found cannot be this Node's VM, or is not certain to be. */
  | { readonly outcome: 'refused'; readonly condition: ConditionValue }

export interface VMQuery {
  readonly machine: MachineUUID
  readonly spec: NodeReportSpec
  /** The VM that this Node was verified to be before. */
  readonly boundTo: BoundVM | undefined
}

/**
 * The one VM that the report names. The UUID is searched for in all vCenters, including templates and other datacenters. If
 * there are copies (a copied VMX file, a restore, an array clone), further evidence must tell which VM it is.
 */
export function findVM(query: VMQuery, facts: NodeFacts): VMSearch {
  const { machine, spec } = query
  const uuid = machine.uuids.join(' or ')
  if (uuid === '') {
    return {
      outcome: 'not-found',
      condition: machine.witness === 'asserted' ? noSystemUUID() : noSerial(spec),
    }
  }
  const lookups = facts.lookups
    .filter((each) => machine.uuids.includes(each.uuid))
    .map(({ lookup }) => lookup)
  const vms = lookups.flatMap((lookup) => (lookup.state === 'answered' ? lookup.vms : []))
  // One vCenter does not wait for another: a VM that fits the report's MACs stays right if there is a copy elsewhere.
  if (vms.length === 0 || machine.witness === 'asserted') {
    if (lookups.some(({ state }) => state === 'pending')) return { outcome: 'pending' }
    const failed = lookups.find((lookup) => lookup.state === 'unknown')
    if (failed !== undefined) {
      const { failure, alone = false } = failed
      return { outcome: 'unknown', condition: unknown(failure.reason, failure.message), alone }
    }
  }
  const [first] = vms
  if (first === undefined) return { outcome: 'not-found', condition: noVM(uuid, machine, facts) }

  const primaries = vms.filter((each) => !isSecondary(each))
  if (primaries.length === 0 || primaries.some((each) => primaries.some((other) => isOfGroup(each, other)))) {
    const { reason, message } = secondaryOnly(first)
    // A failover takes only a moment and is not worth telling.
    return { outcome: 'unknown', condition: unknown(reason, message), alone: false }
  }
  const vm = primaries.length === 1 ? primaries[0] : tellApart(primaries, query, facts)
  if (vm === undefined) return { outcome: 'refused', condition: ambiguous(uuid, primaries) }
  if (vm.template) {
    return {
      outcome: 'refused',
      condition: no(
        'VMIsTemplate',
        `BIOS UUID ${uuid} belongs to the template ${describeVM(vm)}, which cannot run a node; find the running VM that shares its UUID and give it one of its own`,
      ),
    }
  }
  if (vm.biosUUID === undefined) return { outcome: 'unknown', condition: unreadable(vm), alone: false }
  return {
    outcome: 'found',
    vm,
    condition: yes('VMFound', `BIOS UUID ${vm.biosUUID} is that of ${describeVM(vm)}`),
  }
}

/**
 * Narrows copies down to one VM: by what runs, by vNICs, by claim, and by which VM it was before. The vNICs come before the
 * claim because they are vCenter's word, while the guest of a copy may write any claim. A test that fits none or all of
 * them decides nothing. At `asserted` there is nothing to test, so copies stay ambiguous.
 */
function tellApart(
  vms: readonly VirtualMachine[],
  { machine, spec, boundTo }: VMQuery,
  facts: NodeFacts,
): VirtualMachine | undefined {
  if (machine.witness === 'asserted') return undefined
  const witnesses: readonly ((vm: VirtualMachine) => boolean)[] = [
    (vm) => commonMACs(spec, vm).length > 0,
    (vm) => proves(judgeClaim(vm, spec, facts)),
    (vm) => isBoundTo(boundTo, vm),
  ]
  const running = vms.filter((vm) => !vm.template && machineState(vm) !== 'off')
  let left = running.length > 0 ? running : vms.filter((vm) => !vm.template)
  for (const witness of witnesses) {
    const fitting = left.filter(witness)
    if (fitting.length === 1) return fitting[0]
    if (fitting.length > 0) left = fitting
  }
  return undefined
}

/** Two primaries of one Fault Tolerance group, as seen while vCenter reports a failover one VM after the other. */
function isOfGroup(vm: VirtualMachine, other: VirtualMachine): boolean {
  const { instanceUUID, moref } = other
  if (instanceUUID === undefined || moref === vm.moref) return false
  return faultToleranceGroup(vm)?.instanceUUIDs.includes(instanceUUID) === true
}

function noSystemUUID(): ConditionValue {
  return no(
    'NoSystemUUID',
    "no agent has reported a BIOS UUID, and the Node's status.nodeInfo.systemUUID is not one; run an agent, or check what the kubelet reads from the firmware",
  )
}

/** The agent's own reason goes into the message only: what a stranger wrote must not become a metric's label. */
function noSerial(spec: NodeReportSpec): ConditionValue {
  const cause = spec.unreadable?.find(({ fact }) => fact === FACT_SERIAL_UUID)
  return no(
    'NoSerial',
    cause === undefined
      ? 'the report has no BIOS UUID from product_serial; the agent must run as root on a VMware VM to read it'
      : `the agent could not read the BIOS UUID: ${cause.message} (${cause.reason})`,
  )
}

function noVM(uuid: string, { uuids }: MachineUUID, { lookups }: NodeFacts): ConditionValue {
  const searched = lookups.filter((lookup) => uuids.includes(lookup.uuid))
  const names = [...new Set(searched.map(({ vCenter }) => vCenter))].join(', ')
  return no(
    'NoVMWithUUID',
    `no VM with BIOS UUID ${uuid} is visible in vCenter ${names}; check that the VM exists and that the vCenter account has System.Read on it, or delete the Node if its machine is gone`,
  )
}

/** For a VM whose datastore is away vCenter knows little more than the name: nothing about it can be checked. */
function unreadable(vm: VirtualMachine): ConditionValue {
  return unknown(
    'VMUnreadable',
    `vCenter cannot read the configuration of ${describeVM(vm)}, which is ${vm.connectionState}; bring its host and datastore back`,
  )
}

function ambiguous(uuid: string, vms: readonly VirtualMachine[]): ConditionValue {
  return no(
    'AmbiguousUUID',
    `BIOS UUID ${uuid} belongs to ${vms.length} VMs: ${vms.slice(0, 4).map(describeVM).join(', ')}; give each copy its own UUID (power off, then set uuid.bios)`,
  )
}
