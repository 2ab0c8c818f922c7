import type { BoundVM, NodeReportStatus } from '../../../agent/contract.ts'
import { ANNOTATION_DELETION, type Node, type Taint } from '../../facts/node.ts'
import type { VirtualMachine } from '../../facts/virtual-machine.ts'
import type { Announcement } from '../announce.ts'
import type { Deletion, Inquiry } from '../decision.ts'
import { describeBound, describeVM } from '../describe-vm.ts'
import type { NodeFacts } from '../facts.ts'
import { machineState } from '../machine-state.ts'
import type { Standing } from '../status.ts'
import { no, timestamp, unknown, type Verdict } from '../verdict.ts'
import { brakeHolds } from './brake.ts'
import { judgeDeletion, notAskedYet } from './deletion.ts'
import { type Evidence, isAbout, lifeSignOf, type Question } from './evidence.ts'
import { type AbsenceStatus, type Brake, judgeBrake } from './judge-brake.ts'
import { judgeOutOfService, OUT_OF_SERVICE } from './out-of-service.ts'
import { mayProceed } from './preconditions.ts'
import { presenceOf } from './presence.ts'
import { registeredAs, seenIn } from './proofs.ts'
import { judgeShutdown } from './shutdown.ts'
import { existsUnseen } from './unsearchable.ts'

/** What follows from the state of the VM that a Node is verified to be, whatever its report says. */
export interface Lifecycle {
  /** In the place of what the search by UUID came to. */
  readonly vmFound?: Verdict
  /** Undefined where there is nothing to say of a deletion. */
  readonly deletionPending?: Verdict
  /** What is to stand in the status as long as the VM is missed. */
  readonly absence?: AbsenceStatus
  readonly taints?: readonly Taint[]
  readonly deletion?: Deletion
  /** Whether what is to be done cannot be undone. */
  readonly fenced: boolean
  /** Whether the person's leave to delete has had its day. */
  readonly takesLeaveBack: boolean
  /** The binding as it is to stand, where the VM was registered again. */
  readonly rebound?: BoundVM
  readonly inquiry?: Inquiry
  /** Whether the VM is to be searched for, too: one search costs less than all the questions. */
  readonly searches: boolean
  readonly again?: number
  readonly announcements: readonly Announcement[]
}

const NOTHING: Lifecycle = {
  fenced: false,
  takesLeaveBack: false,
  searches: false,
  announcements: [],
}
/** A look at a missed VM's Node at least so often, milliseconds. */
const LOOK = 60_000

/** Judges by the binding in the report's status alone, which was written before and survives any restart. */
export function judgeLifecycle(standing: Standing, facts: NodeFacts): Lifecycle {
  const { vm, identityLevel } = standing.status
  if (vm === undefined || identityLevel === undefined) return NOTHING
  const presence = presenceOf(vm, facts.lookups)
  switch (presence.kind) {
    case 'pending':
      return keepsAbsence(standing, facts)
    case 'unknown': {
      // A thousand healthy Nodes cost no write because a vCenter is away.
      if (facts.node.ready?.status === 'True') return keepsAbsence(standing, facts)
      const { reason, message } = presence.failure
      return {
        ...keepsAbsence(standing, facts),
        deletionPending: unknown(
          reason,
          `whether its VM is gone cannot be asked, and the Node is kept: ${message}`,
        ),
      }
    }
    case 'other':
      return { ...keepsAbsence(standing, facts), deletionPending: ofAnother(vm, presence.vm) }
    case 'seen':
      return seen(presence.vm, vm, standing.status, facts)
    case 'missed':
      return missed(vm, standing.status, facts)
  }
}

function keepsAbsence(
  { status: { absentSince, brakeClosedAt, brakeClosedFor } }: Standing,
  { settings }: NodeFacts,
): Lifecycle {
  return {
    ...NOTHING,
    absence: {
      ...(absentSince === undefined ? {} : { absentSince }),
      // Whoever deletes nothing leaves nothing behind that would hold Nodes later.
      ...(brakeClosedAt === undefined || settings.lifecycle.deletion !== 'on'
        ? {}
        : { brakeClosedAt, ...(brakeClosedFor === undefined ? {} : { brakeClosedFor }) }),
    },
  }
}

function ofAnother(bound: BoundVM, vm: VirtualMachine): Verdict {
  return unknown(
    'UUIDOfAnotherVM',
    `${describeBound(bound)} is not found, and ${describeVM(vm)} has its BIOS UUID, so the Node is kept; give a copy a UUID of its own, or delete the Node if its machine is gone`,
  )
}

function seen(vm: VirtualMachine, bound: BoundVM, before: NodeReportStatus, facts: NodeFacts): Lifecycle {
  const { node, settings } = facts
  const pending = before.conditions?.find(({ type }) => type === 'DeletionPending')
  const wasMissed = pending !== undefined && pending.status !== 'False'
  // One that is suspended goes on writing when it wakes: there is nothing to ask about it.
  const outOfService =
    machineState(vm) === 'off' && vm.powerState === 'poweredOff'
      ? judgeOutOfService({ ...facts, evidence: evidenceOn(bound, facts), settings: settings.lifecycle })
      : undefined
  const { verdict, taints, announcements } = judgeShutdown(vm, node, outOfService?.taint === true)
  return {
    ...NOTHING,
    ...(verdict === undefined ? {} : { vmFound: verdict }),
    ...(wasMissed ? { deletionPending: no('VMExists', `${describeVM(vm)} is there; the Node is kept`) } : {}),
    ...(taints === undefined ? {} : { taints }),
    fenced: outOfService?.taint === true,
    takesLeaveBack: mayProceed(node),
    ...(outOfService === undefined ? {} : { inquiry: inquiryOf(bound, facts, { ask: outOfService.ask }) }),
    ...(outOfService?.again === undefined ? {} : { again: outOfService.again }),
    announcements: [...announcements, ...(mayProceed(node) ? [leaveTakenBack(vm)] : [])],
  }
}

/** A person who has just given it would otherwise see it vanish. */
function leaveTakenBack(vm: VirtualMachine): Announcement {
  return {
    type: 'Normal',
    reason: 'LeaveTakenBack',
    message: `${describeVM(vm)} is there, so the annotation ${ANNOTATION_DELETION}=proceed is taken away; give it once the VM is missed`,
  }
}

function missed(bound: BoundVM, before: NodeReportStatus, facts: NodeFacts): Lifecycle {
  const { node, settings, leadingFor, uptime, now } = facts
  const evidence = evidenceOn(bound, facts)
  const there = evidence === undefined ? undefined : seenIn(bound, evidence.probes)
  const fleet = facts.fleet(bound.vCenterInstanceUUID)
  const brake = judgeBrake({ bound, before, evidence, there: there !== undefined, fleet, facts })
  const absence = there === undefined ? { absence: brake.absence } : {}
  if (evidence === undefined) {
    return {
      ...NOTHING,
      absence: brake.status,
      deletionPending: notAskedYet(bound),
      inquiry: inquiryOf(bound, facts, { ask: true, ...absence }),
      again: LOOK,
      announcements: brakeNews(node, bound, brake.closes, notAskedYet(bound)),
    }
  }
  const judgement = judgeDeletion({
    node,
    vm: bound,
    evidence,
    lifeSign: lifeSignOf(node, facts.report),
    reportedUUID: reportedUUID(facts),
    fleet,
    braked: brake.absence.held,
    leadingFor,
    uptime,
    now,
    refused: facts.deletionRefused,
    settings: settings.lifecycle,
  })
  return {
    ...NOTHING,
    absence: brake.status,
    ...(there === undefined ? {} : { vmFound: existsUnseen(bound, there) }),
    ...reboundTo(bound, evidence),
    deletionPending: judgement.verdict,
    ...(judgement.deletes ? { deletion: deletionOf(bound, brake, judgement.verdict) } : {}),
    ...(judgement.detaches
      ? { taints: [...node.taints, { ...OUT_OF_SERVICE, timeAdded: timestamp(now) }] }
      : {}),
    fenced: judgement.deletes || judgement.detaches,
    // From now on it counts among the deleted. As both, two that go would look like four, and close the brake.
    inquiry: inquiryOf(bound, facts, { ask: judgement.ask, ...(judgement.deletes ? {} : absence) }),
    searches: there !== undefined || (evidence.absent !== undefined && !judgement.ask),
    again: Math.min(LOOK, brake.again ?? LOOK, judgement.ask ? LOOK : judgement.again),
    announcements: [
      ...brakeNews(node, bound, brake.closes, judgement.verdict),
      ...(judgement.detaches ? [detaching(bound)] : []),
    ],
  }
}

/** That it closes is told in any case; the condition may have something else to say first. */
function brakeNews(node: Node, bound: BoundVM, closes: boolean, verdict: Verdict): readonly Announcement[] {
  if (!closes || verdict.reason === 'BrakeClosed') return []
  return [{ type: 'Warning', ...brakeHolds(node, bound) }]
}

function detaching(bound: BoundVM): Announcement {
  return {
    type: 'Warning',
    reason: 'OutOfService',
    message: `${describeBound(bound)} is gone; the taint ${OUT_OF_SERVICE.key}:${OUT_OF_SERVICE.effect} lets the Node's volumes go to other nodes, then it is deleted`,
  }
}

/** What is known of a VM must not be lost when it can no longer be searched for, as in a storage outage. */
function reboundTo(bound: BoundVM, { probes }: Evidence): Pick<Lifecycle, 'rebound'> {
  const moref = registeredAs(bound, probes)
  return moref === undefined ? {} : { rebound: { ...bound, moref } }
}

function reportedUUID({ node, report }: NodeFacts): string | undefined {
  const spec = report?.spec.ok === true ? report.spec.spec : undefined
  return spec?.nodeUID === node.uid ? spec.machine.serialUUID : undefined
}

function evidenceOn(vm: BoundVM, { node, evidence }: NodeFacts): Evidence | undefined {
  return evidence !== undefined && isAbout(evidence.question, { nodeUID: node.uid, vm })
    ? evidence
    : undefined
}

function deletionOf(
  { vCenter, vCenterInstanceUUID }: BoundVM,
  { absence }: Brake,
  { message }: Verdict,
): Deletion {
  return {
    vCenter,
    vCenterInstanceUUID,
    absentSince: absence.counts ? absence.since : undefined,
    announcement: { type: 'Normal', reason: 'NodeDeleted', message },
  }
}

function inquiryOf(
  vm: BoundVM,
  { node, report, settings }: NodeFacts,
  how: Pick<Inquiry, 'ask' | 'absence'>,
): Inquiry {
  const question: Question = {
    nodeUID: node.uid,
    vm,
    lifeSign: lifeSignOf(node, report),
    volumes: how.absence !== undefined && settings.lifecycle.waitForVolumes !== undefined,
  }
  return { question, ...how }
}
