import { MAX_FORMER_VMS } from '../../../../../agent/shared/node-report.ts'
import { printable } from '../../../../../agent/shared/printable.ts'
import { type ConditionValue, MAX_MESSAGE } from '../../../../types/condition-value.ts'
import { failureOf, vmsOf } from '../../../../types/inventory.ts'
import { ANNOTATION_VM } from '../../../../types/node.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { describeVM } from '../bound-vm.ts'
import type { NodeFacts } from '../node-facts.ts'
import { fittingOf, isPossible, type MachineWord } from './fitting-vms.ts'
import { hasRoomBeside } from './moves.ts'

/** The condition, with why the word of a person is not obeyed that names a VM for this Node; as it is where it is obeyed. */
export function withUnobeyed(
  condition: ConditionValue,
  word: MachineWord,
  facts: NodeFacts,
  becomes?: VirtualMachine,
): ConditionValue {
  const { node, previous } = facts
  const { vmAnnotation: named } = node
  const obeyed = [undefined, previous.obeyedAnnotation, previous.vm?.instanceUUID, becomes?.instanceUUID]
  if (named === undefined || obeyed.includes(named)) return condition
  const why = whyNot(named, word, facts)
  if (why === undefined) return condition
  const text = `${condition.message}; the annotation ${ANNOTATION_VM}=${printable(named, 64)} is not applied${why}`
  return { ...condition, message: printable(text, MAX_MESSAGE) }
}

/** Undefined where nothing is known to be in its way: it is obeyed in a moment. */
function whyNot(named: string, word: MachineWord, facts: NodeFacts): string | undefined {
  const { node, lookups } = facts
  const answers = lookups.filter(({ uuid }) => word.machine.uuids.includes(uuid)).map(({ lookup }) => lookup)
  const silent = answers.find((lookup) => lookup.state === 'pending' || failureOf(lookup) !== undefined)
  const all = answers.flatMap(vmsOf)
  const [vm, ...others] = all.filter(({ instanceUUID }) => instanceUUID === named)
  if (silent !== undefined) return ' until every vCenter has answered'
  if (vm === undefined)
    return `: no VM with the BIOS UUID of this Node has that instance UUID; use the instance UUID of one of them, in lower case, or remove the annotation: kubectl annotate node ${node.name} ${ANNOTATION_VM}-`
  if (others.length > 0)
    return `: ${others.length + 1} VMs with the BIOS UUID of this Node have that instance UUID; remove all but one`
  if (machineState(vm) !== 'runs') return ` until ${describeVM(vm)} runs, on a host that answers`
  const fits = fittingOf(all, word, facts)
  if (!isPossible(vm, word.spec, facts) || (fits !== 'pending' && !fits.includes(vm)))
    return `: ${describeVM(vm)} does not fit by its MAC addresses, the Node's provider ID or its datacenter, or is a template`
  return hasRoomBeside(vm, facts)
    ? undefined
    : `: this Node was ${MAX_FORMER_VMS} other VMs before, of which none is proven gone; kubectl delete node ${node.name}, then restart the kubelet there`
}
