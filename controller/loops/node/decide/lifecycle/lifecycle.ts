import type { BoundVM, NodeReportStatus } from '../../../../../agent/shared/node-report.ts'
import { ANNOTATION_DELETION, type Node } from '../../../../types/node.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import { isUnseen, type NodeMachines } from '../../facts/machines.ts'
import { hasUninitializedTaint } from '../../facts/needs-initialization.ts'
import { mayProceed } from '../../facts/removal.ts'
import { binding, isBoundTo, mayBeBoundTo } from '../bound-vm.ts'
import { type ConditionValue, no, unknown } from '../condition-value.ts'
import { describeBound, describeVM } from '../describe-vm.ts'
import { least } from '../least.ts'
import { machineState } from '../machine-state.ts'
import type { NodeEvent } from '../node-events.ts'
import type { NodeFacts } from '../node-facts.ts'
import { seenByReference } from './absence-proofs.ts'
import { judgeDeletionPossible } from './deletion-possible.ts'
import { evidenceOn } from './evidence.ts'
import { latchWhileThere } from './judge-disruption-limit.ts'
import { keptVM, type LifecycleResult, NOTHING, untouched } from './lifecycle-result.ts'
import { existsThoughNotFound, judgeMissingVM } from './missing-vm.ts'
import { backInService, judgeOutOfService } from './out-of-service.ts'
import { presenceOf } from './presence.ts'
import { planProbe, probeDeparture } from './probe-plan.ts'
import { judgeShutdown } from './shutdown-taint.ts'

/**
 * What follows from the state of the machine that a Node is, or was taken for, whatever its report says now. Decides by
 * what the status says, so that it survives any restart.
 */
export function judgeLifecycle(facts: NodeFacts): LifecycleResult {
  if (facts.interlock.state === 'held') return leftToCPI(facts.previous, facts.interlock.message)
  const deletionPossible = judgeDeletionPossible(facts)
  return {
    ...judgeMachine(facts),
    ...(deletionPossible === undefined ? {} : { deletionPossible }),
  }
}

/** A CPI deletes and taints Nodes by its own rules; what was pending begins anew when it has stopped. */
function leftToCPI(previous: NodeReportStatus, message: string): LifecycleResult {
  const kept = untouched(previous)
  return isPending(previous) ? { ...kept, deletionPending: unknown('CPIRuns', message) } : kept
}

function judgeMachine(facts: NodeFacts): LifecycleResult {
  const { node, machines } = facts
  if (machines === undefined) return NOTHING
  const result = judgePresence(machines, facts)
  // Last, since what came before puts all taints of the Node into its result.
  return { ...result, ...backInService(node, result.taints ?? node.taints) }
}

function judgePresence(nodeMachines: NodeMachines, facts: NodeFacts): LifecycleResult {
  const { node, previous } = facts
  const [vm] = nodeMachines.machines
  const presence = presenceOf(nodeMachines, facts.lookups)
  switch (presence.kind) {
    case 'pending':
      return keeps(facts)
    case 'unknown': {
      // An unreachable vCenter must not cause a write for each of a thousand healthy Nodes.
      if (node.ready?.status === 'True' || (isUnseen(vm) && stillSpeaks(node))) return keeps(facts)
      const { reason, message } = presence.failure
      return {
        ...keeps(facts),
        deletionPending: unknown(
          reason,
          `vCenter cannot be asked whether its VM is gone, so the Node is kept: ${message}`,
        ),
      }
    }
    case 'other': {
      // It may be the Node's by now, as after a move. Where nothing shows it any more, it has to be asked about as well.
      const known = namedAs(presence.vm, previous)
      const kept = { ...keepsNoLatch(facts), ...known, deletionPending: ofAnother(vm, presence.vm) }
      const departure = departureOf(nodeMachines, facts)
      const requeueAfter = least(kept.requeueAfter, departure.requeueAfter)
      return { ...kept, ...departure, ...(requeueAfter === undefined ? {} : { requeueAfter }) }
    }
    case 'named':
      return {
        ...isThere(presence.vm, facts),
        // Most likely it is bound in a moment, and that is written anyway.
        ...(isUnseen(vm) && isStarting(node) ? {} : namedAs(presence.vm, previous)),
        ...departureOf(nodeMachines, facts),
      }
    case 'seen':
      // Taints of a VM that is off stay as they are while the identity is contradicted: this may not be the Node's VM.
      return previous.identityLevel === undefined
        ? { ...isThere(presence.vm, facts), ...renamedAs(presence.vm, vm, previous) }
        : seen(presence.vm, vm, facts)
    case 'missing':
      return isUnseen(vm) && stillSpeaks(node)
        ? {
            ...NOTHING,
            ...keptVM(previous),
            ...(isPending(previous) ? { deletionPending: speaks() } : {}),
          }
        : judgeMissingVM(nodeMachines, facts)
  }
}

/**
 * What is found out about a bound VM that no vCenter shows, while others that the Node may be are shown. Nothing can be as
 * long as its own vCenter does not answer.
 */
function departureOf(
  machines: NodeMachines,
  facts: NodeFacts,
): Pick<LifecycleResult, 'probePlan' | 'requeueAfter' | 'vmFound'> {
  const [bound] = machines.machines
  if (!machines.bound || facts.vCenterState(bound.vCenterInstanceUUID) !== 'answers') return {}
  const [seen] = seenByReference(bound, evidenceOn(machines, facts)?.probes ?? [])
  const vmFound = seen === undefined ? {} : { vmFound: existsThoughNotFound(bound, seen) }
  return { ...vmFound, ...probeDeparture(machines, facts) }
}

/** Whether a Node, none of whose machines was ever shown, is not asked about: its machine runs or starts. */
function stillSpeaks(node: Pick<Node, 'ready' | 'taints'>): boolean {
  return node.ready?.status === 'True' || isStarting(node)
}

/** Whether a Node that was never initialized has not fallen silent: it is not Ready before it has a network. */
function isStarting(node: Pick<Node, 'ready' | 'taints'>): boolean {
  return hasUninitializedTaint(node) && node.ready?.status !== 'Unknown'
}

function keeps({ previous, settings }: NodeFacts): LifecycleResult {
  const kept = untouched(previous)
  if (settings.lifecycle.deletion === 'on') return kept
  // A brake that engaged while deletion was on must not hold Nodes once it is on again.
  const { absentSince } = previous
  return { ...kept, absenceStatus: absentSince === undefined ? {} : { absentSince } }
}

/** A VM that came back with another instance UUID will always look like a copy. */
function keepsNoLatch(facts: NodeFacts): LifecycleResult {
  const kept = keeps(facts)
  const { status, requeueAfter } = latchWhileThere(kept.absenceStatus ?? {}, facts)
  return { ...kept, absenceStatus: status, ...(requeueAfter === undefined ? {} : { requeueAfter }) }
}

/**
 * Records the VM, so that it is known when no search finds it any more. A copy with the same UUID does not replace the
 * recorded VM, nor does a VM whose parents are not known yet.
 */
function namedAs(
  vm: VirtualMachine,
  { namedVM, formerVMs = [] }: NodeReportStatus,
): Pick<LifecycleResult, 'namedVM'> {
  if (formerVMs.some((each) => isBoundTo(each, vm))) return namedVM === undefined ? {} : { namedVM }
  const copy = namedVM?.biosUUID === vm.biosUUID && !mayBeBoundTo(namedVM, vm)
  const known = copy || vm.ancestry === undefined ? undefined : binding(vm)
  const stands = known ?? namedVM
  return stands === undefined ? {} : { namedVM: stands }
}

/**
 * Records a VM whose BIOS UUID has changed since it was bound. From the next boot on, its Node's identity is contradicted,
 * and once the VM is gone nothing else would show that the new UUID was its own.
 */
function renamedAs(
  vm: VirtualMachine,
  bound: BoundVM,
  status: NodeReportStatus,
): Pick<LifecycleResult, 'namedVM'> {
  const asBound = vm.biosUUID === undefined || vm.biosUUID === bound.biosUUID
  const another = status.namedVM !== undefined && !isBoundTo(status.namedVM, vm)
  return asBound || another ? keptVM(status) : namedAs(vm, status)
}

function isPending({ conditions }: NodeReportStatus): boolean {
  const pending = conditions?.find(({ type }) => type === 'DeletionPending')
  return pending !== undefined && pending.status !== 'False'
}

function speaks(): ConditionValue {
  return no('NodeReady', 'its kubelet reports again, so its machine runs; the Node is kept')
}

/** What becomes of a pending deletion when the machine is back. */
function isThere(vm: VirtualMachine, { previous, node }: NodeFacts): LifecycleResult {
  return {
    ...NOTHING,
    ...(isPending(previous)
      ? { deletionPending: no('VMExists', `${describeVM(vm)} is there; the Node is kept`) }
      : {}),
    removesAnnotation: mayProceed(node),
    events: mayProceed(node) ? [annotationRemoved(vm)] : [],
  }
}

function ofAnother(bound: BoundVM, vm: VirtualMachine): ConditionValue {
  return unknown(
    'UUIDOfAnotherVM',
    `${describeBound(bound)} is not found, but ${describeVM(vm)} has its BIOS UUID, so the Node is kept; give a copy its own UUID, or delete the Node if its machine is gone`,
  )
}

function seen(vm: VirtualMachine, bound: BoundVM, facts: NodeFacts): LifecycleResult {
  const { node, settings } = facts
  const itself: NodeMachines = { machines: [bound], bound: true }
  const there = isThere(vm, facts)
  // A suspended VM goes on writing when it resumes, so its Node is never out of service and needs no probe.
  const outOfService =
    machineState(vm) === 'off' && vm.powerState === 'poweredOff'
      ? judgeOutOfService({ ...facts, evidence: evidenceOn(itself, facts), settings: settings.lifecycle })
      : undefined
  const { condition, taints, events } = judgeShutdown(vm, node, {
    shutdown: settings.lifecycle.shutdownTaint,
    outOfService: outOfService?.taint === true,
  })
  return {
    ...there,
    ...(condition === undefined ? {} : { vmFound: condition }),
    ...(taints === undefined ? {} : { taints }),
    confirmLease: outOfService?.taint === true,
    ...(outOfService === undefined
      ? {}
      : { probePlan: planProbe(itself, facts, { due: outOfService.probeDue }) }),
    ...(outOfService?.requeueAfter === undefined ? {} : { requeueAfter: outOfService.requeueAfter }),
    events: [...events, ...there.events],
  }
}

/** Tells the person who set the annotation why it is gone. */
function annotationRemoved(vm: VirtualMachine): NodeEvent {
  return {
    type: 'Normal',
    reason: 'ProceedAnnotationRemoved',
    message: `${describeVM(vm)} is there, so the annotation ${ANNOTATION_DELETION}=proceed was removed; set it again once the VM is missing`,
  }
}
