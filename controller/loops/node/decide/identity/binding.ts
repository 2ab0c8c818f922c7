import type { BoundVM, NodeReportStatus } from '../../../../../agent/shared/node-report.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import { binding, isBoundTo } from '../bound-vm.ts'
import type { NodeFacts } from '../node-facts.ts'
import { judgeClaim, proves } from './claim.ts'
import { type BindingMove, formerVMsBeside } from './moves.ts'

/** All that a status says of which VM a Node is, and was. It is replaced as a whole. */
export type Binding = Pick<NodeReportStatus, 'vm' | 'formerVMs' | 'lastClaim' | 'obeyedAnnotation'>

/** What the status is to say of a Node that is this VM. */
export function bindingTo(
  { vm, move }: { readonly vm: VirtualMachine; readonly move?: BindingMove },
  facts: NodeFacts,
): Binding {
  const { previous, node } = facts
  const bound = binding(vm) ?? previous.vm
  const formerVMs = [...formerVMsBeside(vm, facts), ...leftBy(move, previous.vm)]
  const digest = lastClaim(vm, move, facts)
  const named = node.vmAnnotation
  const obeyed = named !== undefined && (named === vm.instanceUUID || named === previous.obeyedAnnotation)
  return {
    ...(bound === undefined ? {} : { vm: bound }),
    ...(formerVMs.length === 0 ? {} : { formerVMs }),
    ...(digest === undefined ? {} : { lastClaim: digest }),
    ...(obeyed ? { obeyedAnnotation: named } : {}),
  }
}

function leftBy(move: BindingMove | undefined, before: BoundVM | undefined): readonly BoundVM[] {
  return move?.former === 'kept' && before !== undefined ? [before] : []
}

/**
 * The digest of the last claim that the VM itself has shown. One that may not be read counts as shown: others may read it. A
 * report whose claim another VM shows is not this one's, though this one seems to run: what is known of it may be old.
 */
function lastClaim(
  vm: VirtualMachine,
  move: BindingMove | undefined,
  { previous, report }: NodeFacts,
): string | undefined {
  if (report?.spec.ok === true) {
    const { value: spec } = report.spec
    const isShown =
      proves(judgeClaim(vm, spec, { nodeByUID: () => undefined })) || vm.unreadable.includes('claim')
    if (isShown && spec.claim.digest !== undefined) return spec.claim.digest
  }
  return isBoundTo(previous.vm, vm) || move?.former === 'same' ? previous.lastClaim : undefined
}
