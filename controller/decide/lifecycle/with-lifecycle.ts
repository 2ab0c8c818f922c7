import type { NodeReportStatus } from '../../../agent/contract.ts'
import { ANNOTATION_DELETION } from '../../types/node.ts'
import { type ConditionValue, type ConditionValues, mergeConditions } from '../condition.ts'
import type { Decision, ProbePlan } from '../decision.ts'
import { conditionEvents, deletionEvents } from '../events.ts'
import type { NodePatch } from '../node-patch.ts'
import type { PreviousReport } from '../status.ts'
import { TAINT_UNINITIALIZED } from '../well-known.ts'
import type { Lifecycle } from './outcome.ts'

/** What follows from the state of the VM, and whether its absence could be proven at all. */
export interface Consequences extends Lifecycle {
  /** Undefined where there is nothing to say of it. */
  readonly deletionPossible: ConditionValue | undefined
}

/** A decision on a Node's identity, with what follows from the state of its VM. */
export function withLifecycle(
  decision: Decision,
  lifecycle: Consequences,
  previous: PreviousReport,
  now: number,
): Decision {
  // What was verified has just been contradicted: what follows from that is for the next look.
  const contradicted = decision.level === undefined && previous.status.identityLevel !== undefined
  if (contradicted || isRebound(decision, previous)) return decision
  const { deletionPending, probePlan, fenced, deletion } = lifecycle
  const before = previous.status.conditions ?? []
  const conditions = unsaid(decision, lifecycle)
  const status = statusOf(decision, lifecycle, previous, conditions, now)
  const { patch: _, requeueAfter: __, status: ___, ...rest } = decision
  const patch = deletion === undefined ? patchOf(decision, lifecycle) : undefined
  const requeueAfter = least(decision.requeueAfter, lifecycle.requeueAfter)
  return {
    ...rest,
    ...(patch === undefined ? {} : { patch }),
    ...(status === undefined ? {} : { status }),
    events: [
      ...decision.events,
      ...conditionEvents(before, conditions),
      ...(deletionPending === undefined ? [] : deletionEvents(before, deletionPending)),
      ...lifecycle.events,
    ],
    // Whoever looks again by the clock needs no backoff.
    retry: decision.retry && lifecycle.requeueAfter === undefined,
    ...(requeueAfter === undefined ? {} : { requeueAfter }),
    ...(probePlan === undefined ? {} : { probePlan }),
    ...(probePlan === undefined || lifecycle.searches ? {} : { recheck: withoutProbed(decision, probePlan) }),
    ...(fenced ? { fenced } : {}),
    ...(deletion === undefined ? {} : { deletion }),
  }
}

/** A VM that is being probed does not also need a search. */
function withoutProbed({ recheck = [] }: Decision, { request }: ProbePlan): readonly string[] {
  return recheck.filter((uuid) => uuid !== request.vm.biosUUID)
}

/** It was just found to be another VM, as after a move to another vCenter: what became of the one before does not matter. */
function isRebound({ status }: Decision, previous: PreviousReport): boolean {
  const now = status?.vm
  const before = previous.status.vm
  return (
    now !== undefined &&
    (now.moref !== before?.moref || now.vCenterInstanceUUID !== before.vCenterInstanceUUID)
  )
}

/** The conditions that are not in the decision's status yet: where there is one, VMFound is in it. */
function unsaid({ status }: Decision, { vmFound, deletionPossible }: Consequences): ConditionValues {
  return {
    ...(status !== undefined || vmFound === undefined ? {} : { VMFound: vmFound }),
    ...(deletionPossible === undefined ? {} : { DeletionPossible: deletionPossible }),
  }
}

function statusOf(
  decision: Decision,
  { deletionPending, absence = {}, rebound, namedVM }: Lifecycle,
  previous: PreviousReport,
  conditions: ConditionValues,
  now: number,
): NodeReportStatus | undefined {
  const said = {
    ...conditions,
    ...(deletionPending === undefined ? {} : { DeletionPending: deletionPending }),
  }
  const {
    absentSince,
    brakeClosedAt,
    brakeClosedFor,
    namedVM: named,
    ...base
  } = decision.status ?? previous.status
  const stands =
    absentSince === absence.absentSince &&
    brakeClosedAt === absence.brakeClosedAt &&
    brakeClosedFor === absence.brakeClosedFor &&
    // One that is as it was is not written.
    named === undefined &&
    namedVM === undefined
  if (Object.keys(said).length === 0 && stands && rebound === undefined) return decision.status
  return {
    ...base,
    ...absence,
    ...(rebound === undefined ? {} : { vm: rebound }),
    ...(namedVM === undefined ? {} : { namedVM }),
    // Of one that nothing was found out about yet, this is the first.
    nodeUID: previous.nodeUID,
    conditions: mergeConditions(base.conditions ?? [], said, { now, generation: previous.generation }),
  }
}

function patchOf(decision: Decision, { taints, takesLeaveBack }: Lifecycle): NodePatch | undefined {
  const initializes = decision.patch?.taints !== undefined
  const patch: NodePatch = {
    ...decision.patch,
    ...(taints === undefined
      ? {}
      : { taints: initializes ? taints.filter(({ key }) => key !== TAINT_UNINITIALIZED) : taints }),
    ...(takesLeaveBack ? { annotations: { [ANNOTATION_DELETION]: null } } : {}),
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}

function least(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b
  return Math.min(a, b)
}
