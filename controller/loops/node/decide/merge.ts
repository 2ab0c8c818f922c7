import type { NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import { ANNOTATION_DELETION, type NodeReport } from '../../../types/node.ts'
import { withoutUninitializedTaint } from '../facts/needs-initialization.ts'
import { type ConditionValues, mergeConditions } from './condition-value.ts'
import type { Decision, IdentityDecision, ProbePlan } from './decision.ts'
import { least } from './least.ts'
import { type LifecycleResult, untouched } from './lifecycle/lifecycle-result.ts'
import { decisionEvents } from './node-events.ts'
import type { NodeFacts } from './node-facts.ts'
import type { NodePatch } from './node-patch.ts'

/** Merges what follows from a Node's identity with what follows from the state of its machine. */
export function merge(
  identity: IdentityDecision,
  machine: LifecycleResult,
  report: Pick<NodeReport, 'generation'>,
  facts: Pick<NodeFacts, 'node' | 'previous' | 'now'>,
): Decision {
  const { previous } = facts
  const lifecycle = stillApplies(identity, previous) ? machine : untouched(previous)
  const { deletionPending, deletionUnmet, probePlan, deletion } = lifecycle
  const conditions = unsaid(identity, lifecycle)
  const status = statusOf(identity, lifecycle, conditions, report, facts)
  const { patch: _, requeueAfter: __, status: ___, ...rest } = identity
  const patch = deletion === undefined ? patchOf(identity, lifecycle) : undefined
  const requeueAfter = least(identity.requeueAfter, lifecycle.requeueAfter)
  return {
    ...rest,
    ...(patch === undefined ? {} : { patch }),
    ...(status === undefined ? {} : { status }),
    events: decisionEvents(
      { conditions: identity.status?.told, events: identity.events },
      { conditions, deletionPending, events: lifecycle.events },
      facts,
    ),
    // A Node that is requeued after a fixed time needs no backoff.
    requeue: identity.requeue && lifecycle.requeueAfter === undefined,
    ...(requeueAfter === undefined ? {} : { requeueAfter }),
    ...(probePlan === undefined ? {} : { probePlan }),
    ...(deletionUnmet === undefined ? {} : { deletionUnmet }),
    ...(probePlan === undefined ? {} : { recheck: recheckOf(identity, lifecycle, probePlan) }),
    ...(lifecycle.confirmLease ? { confirmLease: true } : {}),
    ...(deletion === undefined ? {} : { deletion }),
  }
}

/**
 * False where the identity was just contradicted: what follows from that is for the next reconcile. False too where the
 * Node was just found to be another VM, as after a move to another vCenter: its former VM no longer matters.
 */
function stillApplies({ level, status }: IdentityDecision, previous: NodeReportStatus): boolean {
  if (level === undefined && previous.identityLevel !== undefined) return false
  const vm = status?.binding?.vm ?? previous.vm
  const before = previous.vm
  return vm?.moref === before?.moref && vm?.vCenterInstanceUUID === before?.vCenterInstanceUUID
}

/** A VM that is being probed does not also need a search, unless the lifecycle says so. */
function recheckOf(
  { recheck = [] }: IdentityDecision,
  lifecycle: LifecycleResult,
  { request }: ProbePlan,
): readonly string[] {
  const unprobed = recheck.filter((uuid) => uuid !== request.vm.biosUUID)
  return [...new Set([...unprobed, ...lifecycle.recheck])]
}

/** The lifecycle's conditions that identity has not set. Where identity set any, VMFound is among them. */
function unsaid(
  { status }: IdentityDecision,
  { vmFound, deletionPossible }: LifecycleResult,
): ConditionValues {
  return {
    ...(status !== undefined || vmFound === undefined ? {} : { VMFound: vmFound }),
    ...(deletionPossible === undefined ? {} : { DeletionPossible: deletionPossible }),
  }
}

/** The wanted status of the report; undefined where there is nothing to say. */
function statusOf(
  { status: judged }: IdentityDecision,
  { deletionPending, absenceStatus = {}, namedVM }: LifecycleResult,
  conditions: ConditionValues,
  { generation }: Pick<NodeReport, 'generation'>,
  { node, previous, now }: Pick<NodeFacts, 'node' | 'previous' | 'now'>,
): NodeReportStatus | undefined {
  const said: ConditionValues = {
    ...judged?.conditions,
    ...conditions,
    ...(deletionPending === undefined ? {} : { DeletionPending: deletionPending }),
  }
  const { absentSince, brakeEngagedAt, brakeEngagedFor, namedVM: named, ...kept } = previous
  const stands =
    absentSince === absenceStatus.absentSince &&
    brakeEngagedAt === absenceStatus.brakeEngagedAt &&
    brakeEngagedFor === absenceStatus.brakeEngagedFor &&
    // An unchanged record is not written again.
    named === undefined &&
    namedVM === undefined
  if (judged === undefined && Object.keys(said).length === 0 && stands) return undefined
  return {
    ...(judged === undefined ? kept : judgedAnew(kept, judged, generation)),
    ...absenceStatus,
    ...(namedVM === undefined ? {} : { namedVM }),
    nodeUID: node.uid,
    conditions: mergeConditions(previous.conditions ?? [], said, { now, generation }),
  }
}

/** The status after identity was decided anew: it keeps no level or expiry of before, nor a binding where there is another. */
function judgedAnew(
  { identityLevel: _, provenUntil: __, ...kept }: NodeReportStatus,
  { fields, binding }: NonNullable<IdentityDecision['status']>,
  observedGeneration: number,
): NodeReportStatus {
  if (binding === undefined) return { ...kept, ...fields, observedGeneration }
  const { vm: ___, formerVMs: ____, lastClaim: _____, obeyedAnnotation: ______, ...others } = kept
  return { ...others, ...fields, ...binding, observedGeneration }
}

function patchOf(
  { patch: before }: IdentityDecision,
  { taints, removesAnnotation }: LifecycleResult,
): NodePatch | undefined {
  const initializes = before?.taints !== undefined
  const patch: NodePatch = {
    ...before,
    ...(taints === undefined ? {} : { taints: initializes ? withoutUninitializedTaint(taints) : taints }),
    ...(removesAnnotation ? { annotations: { [ANNOTATION_DELETION]: null } } : {}),
  }
  return Object.keys(patch).length === 0 ? undefined : patch
}
