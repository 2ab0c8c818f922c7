/** What is said of other VMs that pass for a Node's. They change nothing for it. */
import type { NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import { type ConditionValue, no, yes } from '../../../../types/condition-value.ts'
import { ANNOTATION_VM } from '../../../../types/node.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { describeVM, isBoundTo } from '../bound-vm.ts'
import type { Decision } from '../decision.ts'
import type { NodeFacts } from '../node-facts.ts'
import { provesClaim } from './claim.ts'
import type { FoundVM } from './find-vm.ts'
import { commonMACs, isDeadEntry, machinesAmong } from './fitting-vms.ts'

/**
 * Whether other VMs pass for the Node's. Said only where some do, and once more when none does any longer, so that a thousand
 * Nodes cost no write.
 */
export function judgeUniqueness(
  { vm, others }: Pick<FoundVM, 'vm' | 'others'>,
  { spec, facts }: { readonly spec: NodeReportSpec; readonly facts: NodeFacts },
): {
  readonly condition: ConditionValue | undefined
  /** For the metric. */
  readonly copies: Decision['copies']
} {
  // Others with the same UUID are common, and not worth a word: replicas of another site, templates, old entries.
  const copies = machinesAmong([vm, ...others]).filter(
    (each) => each !== vm && each.powerState === 'poweredOn',
  )
  const name = ({ vCenter, moref }: VirtualMachine): string => `${vCenter.name}/${moref}`
  return copies.length > 0
    ? {
        condition: copyFound(vm, copies, spec, facts),
        copies: { vm: name(vm), copies: copies.map(name) },
      }
    : { condition: noCopyAnyLonger(vm, facts), copies: undefined }
}

function copyFound(
  vm: VirtualMachine,
  copies: readonly VirtualMachine[],
  spec: NodeReportSpec,
  facts: NodeFacts,
): ConditionValue {
  const shared = copies.slice(0, 4).map((copy) => `${describeVM(copy)} has ${sharedBy(copy, spec, facts)}`)
  const was = copies.some((copy) => facts.previous.formerVMs?.some((each) => isBoundTo(each, copy)))
  const keepsInService =
    machineState(vm) === 'off' && facts.settings.lifecycle.outOfServiceAfter !== undefined
      ? ', except that it is not marked out of service while a copy may be running'
      : ''
  return no(
    'CopyFound',
    `${shared.join(', ')} of ${describeVM(vm)}, which this Node is; that changes nothing for the Node${keepsInService}. ${whatToDo(vm, was)}`,
  )
}

function whatToDo(vm: VirtualMachine, wasCopy: boolean): string {
  if (isDeadEntry(vm))
    return `No host has ${describeVM(vm)} any more (${vm.connectionState}): if its machine runs as one of the others, set the annotation ${ANNOTATION_VM} to the instance UUID of that one; if not, remove that one, or give it a UUID of its own`
  return wasCopy
    ? 'The Node was previously one of these VMs: power that VM off, or remove it'
    : 'Find out who made the copy, and remove it or give it a UUID of its own (power off, then set uuid.bios)'
}

function noCopyAnyLonger(vm: VirtualMachine, { previous, lookups }: NodeFacts): ConditionValue | undefined {
  const told = previous.conditions?.some(({ type, status }) => type === 'VMUnique' && status !== 'True')
  const known = lookups.every(({ lookup }) => lookup.state === 'answered' && lookup.incomplete === undefined)
  return told === true && known
    ? yes('NoCopy', `no other VM that may run has the BIOS UUID of ${describeVM(vm)}`)
    : undefined
}

function sharedBy(copy: VirtualMachine, spec: NodeReportSpec, facts: NodeFacts): string {
  const macs = commonMACs(spec, copy).length > 0
  const claim = provesClaim(copy, spec, facts)
  if (!macs && !claim) return 'the BIOS UUID'
  return `the BIOS UUID and the ${macs && claim ? 'MAC addresses and the claim' : macs ? 'MAC addresses' : 'claim'}`
}
