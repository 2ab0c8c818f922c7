import type { NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import { type ConditionValues, mergeConditions } from '../../../types/condition-value.ts'
import type { NodePatch, NodeReport, Taint } from '../../../types/node.ts'
import { needsInitialization, withoutUninitializedTaint } from '../facts/needs-initialization.ts'
import type { Decision } from './decision.ts'
import { conditionEvents, type NodeEvent, untaintedEvents } from './node-events.ts'
import type { NodeFacts } from './node-facts.ts'

/**
 * A decision in the making. It begins as one that changes nothing; each stage takes the one so far and returns the next, and
 * {@link finish} says what the last one comes to.
 */
export interface Draft extends Omit<Decision, 'create' | 'patch' | 'status'> {
  readonly patch: Omit<NodePatch, 'taints'>
  /** All taints that the Node is to have, except that of a Node which waits for a cloud provider. */
  readonly taints: readonly Taint[]
  /** Whether the Node is to lose the taint of a Node which waits for a cloud provider. */
  readonly initializes: boolean
  /** The report's status without its conditions: the previous one, as long as nothing in it is new. */
  readonly status: NodeReportStatus
  /** Conditions that were judged; the others stay as they are. */
  readonly conditions: ConditionValues
  /** Those of them that are worth an Event if they have changed. */
  readonly told: ConditionValues
  /** Of the report that is decided on. */
  readonly generation: number
}

/** A decision that leaves everything as it is until an event comes. */
export function begin(
  { generation }: Pick<NodeReport, 'generation'>,
  { node, previous }: Pick<NodeFacts, 'node' | 'previous'>,
): Draft {
  const { identityLevel: level } = previous
  return {
    generation,
    state: needsInitialization(node) ? 'waiting' : 'initialized',
    ...(level === undefined ? {} : { level }),
    patch: {},
    taints: node.taints,
    initializes: false,
    status: previous,
    conditions: {},
    told: {},
    events: [],
    requeue: false,
  }
}

/**
 * The draft with these conditions, which are worth an Event.
 *
 * @param unmet what DeletionPending lists: it is written with that condition, and goes with it
 */
export function say(draft: Draft, conditions: ConditionValues, unmet?: readonly string[]): Draft {
  const { DeletionPending: pending } = conditions
  const { deletionUnmet: _, ...status } = draft.status
  const lists = unmet !== undefined && pending?.status !== 'False'
  return {
    ...draft,
    ...(pending === undefined ? {} : { status: { ...status, ...(lists ? { deletionUnmet: unmet } : {}) } }),
    conditions: { ...draft.conditions, ...conditions },
    told: { ...draft.told, ...conditions },
  }
}

/** The draft that is decided again after so many milliseconds, or sooner. */
export function requeuedAfter(draft: Draft, ms: number | undefined): Draft {
  return ms === undefined
    ? draft
    : { ...draft, requeueAfter: Math.min(ms, draft.requeueAfter ?? Number.POSITIVE_INFINITY) }
}

/** What the status says of a VM that is missing, for the next leader. */
export type AbsenceRecord = Pick<
  NodeReportStatus,
  'absentSince' | 'brakeEngagedAt' | 'brakeEngagedFor' | 'namedVM'
>

/** The draft whose status says this of a missing VM, and nothing else; an unchanged record is not written again. */
export function recordAbsence(draft: Draft, record: AbsenceRecord): Draft {
  const { absentSince, brakeEngagedAt, brakeEngagedFor, namedVM, ...others } = draft.status
  const stands =
    absentSince === record.absentSince &&
    brakeEngagedAt === record.brakeEngagedAt &&
    brakeEngagedFor === record.brakeEngagedFor &&
    namedVM === record.namedVM
  return stands ? draft : { ...draft, status: { ...others, ...record } }
}

/** All that a status says of which VM a Node is, and was. It is replaced as a whole. */
export type Binding = Pick<NodeReportStatus, 'vm' | 'formerVMs' | 'lastClaim' | 'obeyedAnnotation'>

/** The draft whose status says this. It says of the VM what identity found, and no longer what the machine's state did. */
export function recordIdentity(
  draft: Draft,
  {
    conditions,
    told,
    fields,
    binding,
    events = [],
  }: {
    readonly conditions: ConditionValues
    /** Those of them that are worth an Event if they have changed; undefined where there is nothing to tell. */
    readonly told?: ConditionValues | undefined
    /** The parts of the status other than conditions and the binding. Without a level here the Node loses its level. */
    readonly fields: Partial<NodeReportStatus>
    /** Which VM the Node is, and was; undefined where that stays as it is. */
    readonly binding?: Binding | undefined
    readonly events?: readonly NodeEvent[]
  },
  facts: Pick<NodeFacts, 'node' | 'previous' | 'now'>,
): Draft {
  const { identityLevel: _, provenUntil: __, ...status } = draft.status
  const { vm: ___, formerVMs: ____, lastClaim: _____, obeyedAnnotation: ______, ...unbound } = status
  const { VMFound: _______, ...toldBefore } = draft.told
  return {
    ...draft,
    status: {
      ...(binding === undefined ? status : { ...unbound, ...binding }),
      ...fields,
      observedGeneration: draft.generation,
    },
    conditions: { ...draft.conditions, ...conditions },
    told: { ...told, ...toldBefore },
    events: [...events, ...(told === undefined ? [] : untaintedEvents(facts)), ...draft.events],
  }
}

/**
 * What the draft comes to, with the conditions of other loops: only what differs from what is, and one condition of each
 * type.
 */
export function finish(
  draft: Draft,
  {
    node,
    previous,
    settings,
    now,
    otherConditions,
  }: Pick<NodeFacts, 'node' | 'previous' | 'settings' | 'now' | 'otherConditions'>,
): Decision {
  const {
    patch: changes,
    taints,
    initializes,
    status,
    conditions,
    told,
    generation,
    ...decision
  } = say(draft, otherConditions)
  const patch: NodePatch = {
    ...changes,
    ...(initializes ? { taints: withoutUninitializedTaint(taints) } : {}),
    ...(!initializes && taints !== node.taints ? { taints } : {}),
  }
  // A Node that is deleted is not patched first.
  const patches = decision.deletion === undefined && Object.keys(patch).length > 0
  const says = status !== previous || Object.keys(conditions).length > 0
  // Nobody says it any more.
  const standing = (previous.conditions ?? []).filter(
    ({ type }) => type !== 'ServingCertificate' || settings.certificates.approve,
  )
  return {
    ...decision,
    ...(patches ? { patch } : {}),
    ...(says
      ? {
          status: {
            ...status,
            nodeUID: node.uid,
            conditions: mergeConditions(standing, conditions, { now, generation }),
          },
        }
      : {}),
    events: [...conditionEvents(previous.conditions ?? [], told), ...decision.events],
  }
}
