import type { BoundVM, NodeReportStatus } from '../../../../../agent/shared/node-report.ts'
import { type ConditionValue, no, unknown, yes } from '../../../../types/condition-value.ts'
import { ANNOTATION_DELETION, type Node } from '../../../../types/node.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { isUnseen, type NodeMachines } from '../../facts/machines.ts'
import { hasUninitializedTaint } from '../../facts/needs-initialization.ts'
import { mayProceed } from '../../facts/removal.ts'
import { binding, describeBound, describeVM, isBoundTo, mayBeBoundTo } from '../bound-vm.ts'
import { type AbsenceRecord, type Draft, recordAbsence, requeuedAfter, say } from '../draft.ts'
import type { NodeEvent } from '../node-events.ts'
import type { NodeFacts } from '../node-facts.ts'
import { mayReadAll, seenByReference } from './absence-proofs.ts'
import { evidenceOn } from './evidence.ts'
import { latchWhileThere } from './judge-brake.ts'
import { existsThoughNotFound, followMissingVM } from './missing-vm.ts'
import { backInService, judgeOutOfService, mayRunElsewhere } from './out-of-service.ts'
import { presenceOf } from './presence.ts'
import { planProbe, probeDeparture } from './probe-plan.ts'
import { followUnverifiedVM, judgeShutdown, runsUnverified, stoppedVM } from './shutdown-taint.ts'

/**
 * What follows from the state of the machine that a Node is, or was taken for, whatever its report says now. Decides by
 * what the status says, so that it survives any restart.
 */
export function followMachine(draft: Draft, facts: NodeFacts): Draft {
  const { node, machines, interlock } = facts
  if (interlock.state === 'held') return followBesideCPI(draft, interlock.message, facts)
  const followed = machines === undefined ? recordAbsence(draft, {}) : followPresence(draft, machines, facts)
  const possible = judgeDeletionPossible(facts)
  const told = possible === undefined ? followed : say(followed, { DeletionPossible: possible })
  if (machines === undefined) return told
  return runsUnverified({ ...told, taints: backInService(node, told.taints) }, machines, facts)
}

/**
 * What the report says of the VM while a CPI handles Nodes. The CPI deletes and taints by its own rules: what was pending begins
 * anew when it has stopped.
 */
function followBesideCPI(
  draft: Draft,
  interlock: string,
  { machines, lookups, previous }: Pick<NodeFacts, 'machines' | 'lookups' | 'previous'>,
): Draft {
  const kept = isPending(previous) ? say(draft, { DeletionPending: unknown('CPIRuns', interlock) }) : draft
  const presence = machines && presenceOf(machines, lookups)
  if (presence?.kind !== 'seen' || previous.identityLevel === undefined) return kept
  const found = stoppedVM(
    presence.vm,
    'Nodes are left to a CPI, so the Node is not tainted by this controller',
  )
  return found === undefined ? kept : say(kept, { VMFound: found })
}

/**
 * Whether it could be proven that a Node's VM is gone. Reported while the VM still exists: otherwise an account that may not
 * read enough goes unnoticed until the Node should be deleted and is not. Set only when something is wrong, and once more
 * when it is fixed, so that a thousand healthy Nodes cost no write. Once a VM is missing, what was above it is not checked any
 * more; then its own probe shows that the problem is fixed.
 */
function judgeDeletionPossible({
  node,
  previous: { vm, identityLevel, conditions = [] },
  provable,
  evidence,
  settings,
}: Pick<NodeFacts, 'node' | 'previous' | 'provable' | 'evidence' | 'settings'>): ConditionValue | undefined {
  if (vm === undefined || identityLevel === undefined || settings.lifecycle.deletion === 'off')
    return undefined
  for (const proof of provable) {
    if (proof?.state !== 'unproven') continue
    const { vCenter, reason, message } = proof.failure
    return no(
      reason,
      `if its VM vanished, that could not be proven, and the Node would be kept forever: vCenter ${vCenter}: ${message}`,
    )
  }
  const told = conditions.some(({ type, status }) => type === 'DeletionPossible' && status !== 'True')
  const { request, probes = [] } = evidence ?? {}
  const probed = request?.nodeUID === node.uid && request.vm.moref === vm.moref && mayReadAll(probes)
  if (!told || (provable.includes(undefined) && !probed)) return undefined
  return yes('AbsenceProvable', 'the account may read everything that a proof of absence needs')
}

function followPresence(draft: Draft, nodeMachines: NodeMachines, facts: NodeFacts): Draft {
  const { node, previous } = facts
  const [vm] = nodeMachines.machines
  const presence = presenceOf(nodeMachines, facts.lookups)
  switch (presence.kind) {
    case 'pending':
      return keep(draft, facts)
    case 'unknown': {
      const kept = keep(draft, facts)
      // An unreachable vCenter must not cause a write for each of a thousand healthy Nodes.
      if (node.ready?.status === 'True' || (isUnseen(vm) && stillSpeaks(node))) return kept
      const { reason, message } = presence.failure
      return say(kept, {
        DeletionPending: unknown(
          reason,
          `vCenter cannot be asked whether its VM is gone, so the Node is kept: ${message}`,
        ),
      })
    }
    case 'other': {
      // It may be the Node's by now, as after a move. Where nothing shows it any more, it has to be asked about as well.
      const known = namedAs(presence.vm, previous)
      const isAnother = `${describeBound(vm)} is not found, but ${describeVM(presence.vm)} has its BIOS UUID, so the Node is kept; give a copy its own UUID, or delete the Node if its machine is gone`
      const kept = keepWithoutLatch(draft, known, facts)
      return followDeparture(
        say(kept, { DeletionPending: unknown('UUIDOfAnotherVM', isAnother) }),
        nodeMachines,
        facts,
      )
    }
    case 'named': {
      // Most likely it is bound in a moment, and that is written anyway.
      const known = isUnseen(vm) && isStarting(node) ? undefined : namedAs(presence.vm, previous)
      const there = followUnverifiedVM(
        isThere(draft, presence.vm, known, facts),
        presence.vm,
        nodeMachines,
        facts,
      )
      return followDeparture(there, nodeMachines, facts)
    }
    case 'seen':
      // Taints of a VM that is off stay as they are while the identity is contradicted: this may not be the Node's VM.
      return previous.identityLevel === undefined
        ? isThere(draft, presence.vm, renamedAs(presence.vm, vm, previous), facts)
        : followSeenVM(draft, presence.vm, vm, facts)
    case 'missing': {
      if (!isUnseen(vm) || !stillSpeaks(node)) return followMissingVM(draft, nodeMachines, facts)
      const speaks = no('NodeReady', 'its kubelet reports again, so its machine runs; the Node is kept')
      const kept = recordAbsence(draft, named(previous.namedVM))
      return isPending(previous) ? say(kept, { DeletionPending: speaks }) : kept
    }
  }
}

function named(vm: BoundVM | undefined): AbsenceRecord {
  return vm === undefined ? {} : { namedVM: vm }
}

/**
 * What is found out about a bound VM that no vCenter shows, while others that the Node may be are shown. Nothing can be as
 * long as its own vCenter does not answer, or the VM is being looked up or read again.
 */
function followDeparture(draft: Draft, machines: NodeMachines, facts: NodeFacts): Draft {
  const [bound] = machines.machines
  const own = facts.vCenterState(bound.vCenterInstanceUUID)
  if (!machines.bound || (own !== 'answers' && own !== 'unconfigured')) return draft
  if (facts.lookups.some(({ uuid, lookup }) => uuid === bound.biosUUID && lookup.state === 'pending'))
    return draft
  const [seen] = seenByReference(bound, evidenceOn(machines, facts)?.probes ?? [])
  const told = seen === undefined ? draft : say(draft, { VMFound: existsThoughNotFound(bound, seen) })
  const { probePlan, requeueAfter } = probeDeparture(machines, facts)
  return requeuedAfter({ ...told, probePlan }, requeueAfter)
}

/** Whether a Node, none of whose machines was ever shown, is not asked about: its machine runs or starts. */
function stillSpeaks(node: Pick<Node, 'ready' | 'taints'>): boolean {
  return node.ready?.status === 'True' || isStarting(node)
}

/** Whether a Node that was never initialized has not fallen silent: it is not Ready before it has a network. */
function isStarting(node: Pick<Node, 'ready' | 'taints'>): boolean {
  return hasUninitializedTaint(node) && node.ready?.status !== 'Unknown'
}

/** What the status says of a VM that is missing stays as it is. */
function keep(draft: Draft, { previous, settings }: NodeFacts): Draft {
  if (settings.lifecycle.deletion === 'on') return draft
  // A brake that engaged while deletion was on must not hold Nodes once it is on again.
  const { absentSince, namedVM } = previous
  return recordAbsence(draft, { ...(absentSince === undefined ? {} : { absentSince }), ...named(namedVM) })
}

/** A VM that came back with another instance UUID will always look like a copy. */
function keepWithoutLatch(draft: Draft, known: BoundVM | undefined, facts: NodeFacts): Draft {
  const { absentSince, brakeEngagedAt, brakeEngagedFor } = keep(draft, facts).status
  const { status, requeueAfter } = latchWhileThere(
    {
      ...(absentSince === undefined ? {} : { absentSince }),
      ...(brakeEngagedAt === undefined ? {} : { brakeEngagedAt }),
      ...(brakeEngagedFor === undefined ? {} : { brakeEngagedFor }),
    },
    facts,
  )
  return requeuedAfter(recordAbsence(draft, { ...status, ...named(known) }), requeueAfter)
}

/**
 * The VM to record, so that it is known when no search finds it any more. A copy with the same UUID does not replace the
 * recorded VM, nor does a VM whose parents are not known yet.
 */
function namedAs(vm: VirtualMachine, { namedVM, formerVMs = [] }: NodeReportStatus): BoundVM | undefined {
  if (formerVMs.some((each) => isBoundTo(each, vm))) return namedVM
  const copy = namedVM?.biosUUID === vm.biosUUID && !mayBeBoundTo(namedVM, vm)
  return (copy || vm.ancestry === undefined ? undefined : binding(vm)) ?? namedVM
}

/**
 * Records a VM whose BIOS UUID has changed since it was bound. From the next boot on, its Node's identity is contradicted,
 * and once the VM is gone nothing else would show that the new UUID was its own.
 */
function renamedAs(vm: VirtualMachine, bound: BoundVM, status: NodeReportStatus): BoundVM | undefined {
  const asBound = vm.biosUUID === undefined || vm.biosUUID === bound.biosUUID
  const another = status.namedVM !== undefined && !isBoundTo(status.namedVM, vm)
  return asBound || another ? status.namedVM : namedAs(vm, status)
}

function isPending({ conditions }: NodeReportStatus): boolean {
  const pending = conditions?.find(({ type }) => type === 'DeletionPending')
  return pending !== undefined && pending.status !== 'False'
}

/** What becomes of a pending deletion when the machine is back. */
function isThere(
  draft: Draft,
  vm: VirtualMachine,
  known: BoundVM | undefined,
  { previous, node }: NodeFacts,
): Draft {
  const there = recordAbsence(draft, named(known))
  const told = isPending(previous)
    ? say(there, { DeletionPending: no('VMExists', `${describeVM(vm)} is there; the Node is kept`) })
    : there
  if (!mayProceed(node)) return told
  return {
    ...told,
    patch: { ...told.patch, annotations: { [ANNOTATION_DELETION]: null } },
    events: [...told.events, annotationRemoved(vm)],
  }
}

function followSeenVM(draft: Draft, vm: VirtualMachine, bound: BoundVM, facts: NodeFacts): Draft {
  const { node, settings } = facts
  const itself: NodeMachines = { machines: [bound], bound: true }
  // A suspended VM goes on writing when it resumes, so its Node is never out of service and needs no probe.
  const outOfService =
    machineState(vm) === 'off' && vm.powerState === 'poweredOff' && !mayRunElsewhere(bound, facts)
      ? judgeOutOfService({ ...facts, evidence: evidenceOn(itself, facts) })
      : undefined
  const { condition, taints, events } = judgeShutdown(vm, node, {
    shutdown: settings.lifecycle.shutdownTaint,
    outOfService: outOfService?.taint === true,
  })
  const told = condition === undefined ? draft : say(draft, { VMFound: condition })
  const tainted: Draft = {
    ...told,
    ...(taints === undefined ? {} : { taints }),
    ...(outOfService?.taint === true ? { confirmLease: true } : {}),
    ...(outOfService === undefined
      ? {}
      : { probePlan: planProbe(itself, facts, { due: outOfService.probeDue }) }),
    events: [...told.events, ...events],
  }
  return requeuedAfter(isThere(tainted, vm, undefined, facts), outOfService?.requeueAfter)
}

/** Tells the person who set the annotation why it is gone. */
function annotationRemoved(vm: VirtualMachine): NodeEvent {
  return {
    type: 'Normal',
    reason: 'ProceedAnnotationRemoved',
    message: `${describeVM(vm)} is there, so the annotation ${ANNOTATION_DELETION}=proceed was removed; set it again once the VM is missing`,
  }
}
