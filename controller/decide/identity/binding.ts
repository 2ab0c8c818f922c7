import type { BoundVM, NodeReportStatus } from '../../../agent/shared/node-report.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { binding, isBoundTo } from '../bound-vm.ts'
import { machineState } from '../machine-state.ts'
import type { NodeFacts } from '../node-facts.ts'
import { showsClaim } from './candidates.ts'
import { judgeClaim, proves } from './claim.ts'
import { type BindingMove, formerVMsBeside } from './moves.ts'

/** All that a status says of which VM a Node is, and was. It is replaced as a whole. */
export type Binding = Pick<
  NodeReportStatus,
  'vm' | 'formerVMs' | 'lastClaim' | 'claimShown' | 'obeyedAnnotation'
>

/** What the status is to say of a Node that is this VM. */
export function bindingTo(
  {
    vm,
    others,
    move,
  }: { readonly vm: VirtualMachine; readonly others: readonly VirtualMachine[]; readonly move?: BindingMove },
  facts: NodeFacts,
): Binding {
  const { previous, node } = facts
  const bound = binding(vm) ?? previous.vm
  const formerVMs = [...formerVMsBeside(vm, facts), ...leftBy(move, previous.vm)]
  const digest = lastClaim(vm, others, facts)
  const named = node.vmAnnotation
  const obeyed = named !== undefined && (named === vm.instanceUUID || named === previous.obeyedAnnotation)
  return {
    ...(bound === undefined ? {} : { vm: bound }),
    ...(formerVMs.length === 0 ? {} : { formerVMs }),
    ...(digest === undefined ? {} : { lastClaim: digest }),
    ...(hasShownClaim(vm, move, facts) ? { claimShown: true } : {}),
    ...(obeyed ? { obeyedAnnotation: named } : {}),
  }
}

function leftBy(move: BindingMove | undefined, before: BoundVM | undefined): readonly BoundVM[] {
  return move?.former === 'kept' && before !== undefined ? [before] : []
}

/**
 * The digest that is noted as the last one that may be the VM's own: none of a report that is first seen while it does not
 * run, or while another VM alone shows its claim. It may have reported and stopped while nobody looked, but most likely the
 * machine runs elsewhere, as after a failover during which a vCenter or the leader was away: that must not need a person.
 */
function lastClaim(
  vm: VirtualMachine,
  others: readonly VirtualMachine[],
  facts: NodeFacts,
): string | undefined {
  const { previous, report } = facts
  if (report?.spec.ok !== true) return previous.lastClaim
  const spec = report.spec.value
  const isOthers = !showsClaim(vm, spec, facts) && others.some((each) => showsClaim(each, spec, facts))
  const stands = isBoundTo(previous.vm, vm) && (machineState(vm) !== 'runs' || isOthers)
  return stands ? previous.lastClaim : (spec.claim.digest ?? previous.lastClaim)
}

function hasShownClaim(vm: VirtualMachine, move: BindingMove | undefined, facts: NodeFacts): boolean {
  const { previous, report } = facts
  const isSame = isBoundTo(previous.vm, vm) || move?.former === 'same'
  if (isSame && previous.claimShown === true) return true
  return report?.spec.ok === true && proves(judgeClaim(vm, report.spec.value, facts))
}
