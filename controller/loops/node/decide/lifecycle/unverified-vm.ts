import { sameMachineUUID } from '../../../../types/uuid.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import type { NodeMachines } from '../../facts/machines.ts'
import { needsInitialization } from '../../facts/needs-initialization.ts'
import { isAgentless, specOf } from '../../facts/previous-status.ts'
import { judgeProviderID } from '../../facts/provider-id.ts'
import type { Draft } from '../draft.ts'
import { isPossible } from '../identity/candidates.ts'
import type { NodeFacts } from '../node-facts.ts'
import { outOfScope } from '../topology/scope.ts'
import { judgeShutdown, withoutShutdownTaint } from './shutdown-taint.ts'

/**
 * Sets the shutdown taint of an initialized Node that was never verified, such as one that a CPI initialized and whose VM was
 * off before this controller first saw it. Only the provider ID points to the VM, and a copy would fit it as well: so the VM
 * must be the only one that fits, and the Node must not be Ready. A Ready Node runs, whatever a VM with its UUID does.
 */
export function followUnverifiedVM(
  draft: Draft,
  vm: VirtualMachine,
  machines: NodeMachines,
  facts: NodeFacts,
): Draft {
  const { node, settings } = facts
  if (machines.bound || node.ready?.status === 'True' || !isOnlyVM(vm, machines, facts)) return draft
  const { shutdownTaint: shutdown } = settings.lifecycle
  const { taints, events } = judgeShutdown(vm, node, { shutdown, outOfService: false })
  return taints === undefined ? draft : { ...draft, taints, events: [...draft.events, ...events] }
}

/** Removes the shutdown taint from a Ready Node that was never verified, whatever the vCenters show. */
export function runsUnverified(draft: Draft, { bound }: NodeMachines, { node, settings }: NodeFacts): Draft {
  const runs = !bound && node.ready?.status === 'True' && settings.lifecycle.shutdownTaint
  return runs ? { ...draft, taints: withoutShutdownTaint(draft.taints) } : draft
}

/** Whether everything about the Node points to this VM alone, and no other Node points to it. */
function isOnlyVM(vm: VirtualMachine, { machines }: NodeMachines, facts: NodeFacts): boolean {
  const { node, report, rivals, lookups, settings } = facts
  const { biosUUID, ancestry } = vm
  if (needsInitialization(node) || judgeProviderID(node.providerID, biosUUID) !== 'ours') return false
  if (biosUUID === undefined || ancestry === undefined || vm.template || rivals.length > 0) return false
  if (machines.some((each) => !sameMachineUUID(each.biosUUID, biosUUID))) return false
  const isAlone = lookups.every(
    ({ lookup }) =>
      lookup.state === 'answered' &&
      lookup.incomplete === undefined &&
      lookup.vms.every((each) => each === vm),
  )
  const spec = specOf(report, node)
  const fits = spec === undefined || isAgentless(spec) || isPossible(vm, spec, facts)
  return (
    isAlone && fits && outOfScope(vm, ancestry, settings.datacenters[vm.vCenter.name] ?? []) === undefined
  )
}
