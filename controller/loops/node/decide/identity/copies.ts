import type { NodeReportSpec } from '../../../../../agent/shared/node-report.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { describeVM, isBoundTo } from '../bound-vm.ts'
import { type ConditionValue, no, yes } from '../condition-value.ts'
import type { NodeFacts } from '../node-facts.ts'
import { judgeClaim, proves } from './claim.ts'
import { commonMACs } from './contradiction.ts'
import { copiesAmong, type FoundVM } from './vm.ts'

/** A Node's VM and others with its UUID, for the metric: `VCENTER/MOREF` each. */
export interface Copies {
  readonly vm: string
  readonly copies: readonly string[]
}

/**
 * Whether other VMs pass for the Node's. Said only where some do, and once more when none does any longer, so that a thousand
 * Nodes cost no write.
 */
export function judgeUniqueness(
  { vm, others }: Pick<FoundVM, 'vm' | 'others'>,
  { spec, facts }: { readonly spec: NodeReportSpec; readonly facts: NodeFacts },
): ConditionValue | undefined {
  const copies = copiesAmong({ others })
  if (copies.length > 0) {
    const shared = copies.slice(0, 4).map((copy) => `${describeVM(copy)} has ${sharedBy(copy, spec, facts)}`)
    const was = copies.some((copy) => facts.previous.formerVMs?.some((each) => isBoundTo(each, copy)))
    const keepsInService =
      machineState(vm) === 'off' && facts.settings.lifecycle.outOfServiceAfter !== undefined
        ? ', except that it is not marked out of service while a copy may be running'
        : ''
    return no(
      'CopyFound',
      `${shared.join(', ')} of ${describeVM(vm)}, which this Node is; that changes nothing for the Node${keepsInService}. ${was ? 'The Node was previously one of these VMs: power that VM off, or remove it' : 'Find out who made the copy, and remove it or give it a UUID of its own (power off, then set uuid.bios)'}`,
    )
  }
  const told = facts.previous.conditions?.some(({ type, status }) => type === 'VMUnique' && status !== 'True')
  const known = facts.lookups.every(
    ({ lookup }) => lookup.state === 'answered' && lookup.incomplete === undefined,
  )
  return told === true && known
    ? yes('NoCopy', `no other VM that may run has the BIOS UUID of ${describeVM(vm)}`)
    : undefined
}

/** For the metric; undefined where there is no copy. */
export function copiesOf(vm: VirtualMachine, copies: readonly VirtualMachine[]): Copies | undefined {
  const name = ({ vCenter, moref }: VirtualMachine): string => `${vCenter.name}/${moref}`
  return copies.length === 0 ? undefined : { vm: name(vm), copies: copies.map(name) }
}

function sharedBy(copy: VirtualMachine, spec: NodeReportSpec, facts: NodeFacts): string {
  const macs = commonMACs(spec, copy).length > 0
  const claim = proves(judgeClaim(copy, spec, facts))
  if (!macs && !claim) return 'the BIOS UUID'
  return `the BIOS UUID and the ${macs && claim ? 'MAC addresses and the claim' : macs ? 'MAC addresses' : 'claim'}`
}
