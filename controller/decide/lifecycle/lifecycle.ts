import type { BoundVM, NodeReportStatus } from '../../../agent/contract.ts'
import type { SeenVM } from '../../facts/existence.ts'
import { ANNOTATION_DELETION, type Node, type Taint } from '../../facts/node.ts'
import type { VirtualMachine } from '../../facts/virtual-machine.ts'
import type { Announcement } from '../announce.ts'
import { isBoundTo } from '../binding.ts'
import type { Deletion, Inquiry } from '../decision.ts'
import { describeBound, describeVM } from '../describe-vm.ts'
import type { NodeFacts } from '../facts.ts'
import { machineState } from '../machine-state.ts'
import { binding, type Standing } from '../status.ts'
import { hasUninitializedTaint } from '../uninitialized.ts'
import { no, timestamp, unknown, type Verdict } from '../verdict.ts'
import { brakeHolds, quietTime } from './brake.ts'
import { judgeDeletion, notAskedYet } from './deletion.ts'
import { type Evidence, isAbout, lifeSignOf, probedOf, type Question } from './evidence.ts'
import { type AbsenceStatus, type Brake, judgeBrake } from './judge-brake.ts'
import { judgeOutOfService, OUT_OF_SERVICE } from './out-of-service.ts'
import { mayProceed } from './preconditions.ts'
import { presenceOf } from './presence.ts'
import { registeredAs, seenIn } from './proofs.ts'
import { judgeShutdown } from './shutdown.ts'
import { isUnseen, type Subject, subjectOf } from './subject.ts'
import { existsUnseen } from './unsearchable.ts'

/** What follows from the state of the machine that a Node is, or was taken for, whatever its report says. */
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
  /** The other VM that must be gone too, as it is to stand. */
  readonly namedVM?: BoundVM
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
  const { node } = facts
  const subject = subjectOf(node, facts.report)
  if (subject === undefined) return NOTHING
  const [vm] = subject.machines
  // One that waits for a cloud provider was never anybody's before.
  if (isUnseen(vm) && hasUninitializedTaint(node)) return NOTHING
  const presence = presenceOf(subject, facts.lookups)
  switch (presence.kind) {
    case 'pending':
      return keeps(standing, facts)
    case 'unknown': {
      // A thousand healthy Nodes cost no write because a vCenter is away.
      if (node.ready?.status === 'True') return keeps(standing, facts)
      const { reason, message } = presence.failure
      return {
        ...keeps(standing, facts),
        deletionPending: unknown(
          reason,
          `whether its VM is gone cannot be asked, and the Node is kept: ${message}`,
        ),
      }
    }
    case 'other':
      return { ...keepsNoLatch(standing, facts), deletionPending: ofAnother(vm, presence.vm) }
    case 'named':
      return { ...isThere(presence.vm, standing, node), ...namedAs(presence.vm, standing.status) }
    case 'seen':
      // What is contradicted is neither tainted nor untainted: whether it is this VM is the very question.
      return standing.status.identityLevel === undefined
        ? { ...isThere(presence.vm, standing, node), ...keptVM(standing.status) }
        : seen(presence.vm, vm, standing, facts)
    case 'missed':
      // Nobody ever saw it: as long as its kubelet calls it ready, there is nothing to find out.
      return isUnseen(vm) && node.ready?.status === 'True'
        ? {
            ...NOTHING,
            ...keptVM(standing.status),
            ...(isPending(standing) ? { deletionPending: ready() } : {}),
          }
        : missed(subject, standing.status, facts)
  }
}

function keeps({ status }: Standing, { settings }: NodeFacts): Lifecycle {
  const { absentSince, brakeClosedAt, brakeClosedFor } = status
  return {
    ...NOTHING,
    ...keptVM(status),
    absence: {
      ...(absentSince === undefined ? {} : { absentSince }),
      // Whoever deletes nothing leaves nothing behind that would hold Nodes later.
      ...(brakeClosedAt === undefined || settings.lifecycle.deletion !== 'on'
        ? {}
        : { brakeClosedAt, ...(brakeClosedFor === undefined ? {} : { brakeClosedFor }) }),
    },
  }
}

/**
 * A VM that came back under another instance UUID looks like a copy for ever. It is not missed, and after the time in which
 * the brake opens by itself it holds nobody else.
 */
function keepsNoLatch(standing: Standing, facts: NodeFacts): Lifecycle {
  const kept = keeps(standing, facts)
  const { brakeClosedAt } = kept.absence ?? {}
  if (brakeClosedAt === undefined) return kept
  const left = Date.parse(brakeClosedAt) + quietTime(facts.settings.lifecycle) - facts.now
  return left > 0 ? { ...kept, again: left } : { ...kept, absence: {} }
}

function keptVM({ namedVM }: NodeReportStatus): Pick<Lifecycle, 'namedVM'> {
  return namedVM === undefined ? {} : { namedVM }
}

/**
 * What the machine is known by when no search finds it any more. A copy with the UUID of one that is known does not take
 * its place, nor does one whose parents cannot be told yet.
 */
function namedAs(vm: VirtualMachine, { namedVM }: NodeReportStatus): Pick<Lifecycle, 'namedVM'> {
  const copy = namedVM?.biosUUID === vm.biosUUID && !isBoundTo(namedVM, vm)
  const known = copy || vm.ancestry === undefined ? undefined : binding(vm)
  const stands = known ?? namedVM
  return stands === undefined ? {} : { namedVM: stands }
}

function isPending({ status: { conditions } }: Standing): boolean {
  const pending = conditions?.find(({ type }) => type === 'DeletionPending')
  return pending !== undefined && pending.status !== 'False'
}

function ready(): Verdict {
  return no('NodeReady', 'the Node is Ready again, so its machine runs; the Node is kept')
}

/** What there is to say of a deletion when the machine is back. */
function isThere(vm: VirtualMachine, standing: Standing, node: Node): Lifecycle {
  return {
    ...NOTHING,
    ...(isPending(standing)
      ? { deletionPending: no('VMExists', `${describeVM(vm)} is there; the Node is kept`) }
      : {}),
    takesLeaveBack: mayProceed(node),
    announcements: mayProceed(node) ? [leaveTakenBack(vm)] : [],
  }
}

function ofAnother(bound: BoundVM, vm: VirtualMachine): Verdict {
  return unknown(
    'UUIDOfAnotherVM',
    `${describeBound(bound)} is not found, and ${describeVM(vm)} has its BIOS UUID, so the Node is kept; give a copy a UUID of its own, or delete the Node if its machine is gone`,
  )
}

function seen(vm: VirtualMachine, bound: BoundVM, standing: Standing, facts: NodeFacts): Lifecycle {
  const { node, settings } = facts
  const itself: Subject = { machines: [bound], bound: true }
  const there = isThere(vm, standing, node)
  // One that is suspended goes on writing when it wakes: there is nothing to ask about it.
  const outOfService =
    machineState(vm) === 'off' && vm.powerState === 'poweredOff'
      ? judgeOutOfService({ ...facts, evidence: evidenceOn(itself, facts), settings: settings.lifecycle })
      : undefined
  const { verdict, taints, announcements } = judgeShutdown(vm, node, outOfService?.taint === true)
  return {
    ...there,
    ...(verdict === undefined ? {} : { vmFound: verdict }),
    ...(taints === undefined ? {} : { taints }),
    fenced: outOfService?.taint === true,
    ...(outOfService === undefined ? {} : { inquiry: inquiryOf(itself, facts, { ask: outOfService.ask }) }),
    ...(outOfService?.again === undefined ? {} : { again: outOfService.again }),
    announcements: [...announcements, ...there.announcements],
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

function missed(subject: Subject, before: NodeReportStatus, facts: NodeFacts): Lifecycle {
  const { node, settings, leadingFor, uptime, now } = facts
  const [bound] = subject.machines
  const evidence = evidenceOn(subject, facts)
  const there = evidence === undefined ? undefined : firstSeen(evidence)
  const fleet = facts.fleet(bound.vCenterInstanceUUID)
  const brake = judgeBrake({ bound, before, evidence, there: there !== undefined, fleet, facts })
  const absence = there === undefined ? { absence: brake.absence } : {}
  const kept = { ...keptVM(before), absence: brake.status }
  if (evidence === undefined) {
    const verdict = notAskedYet(subject.machines)
    return {
      ...NOTHING,
      ...kept,
      deletionPending: verdict,
      inquiry: inquiryOf(subject, facts, { ask: true, ...absence }),
      again: LOOK,
      announcements: brakeNews(node, bound, brake.closes, verdict),
    }
  }
  const judgement = judgeDeletion({
    node,
    vm: bound,
    bound: subject.bound,
    evidence,
    lifeSign: lifeSignOf(node, facts.report),
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
    ...kept,
    ...(there !== undefined && there.machine === evidence.question.vm
      ? { vmFound: existsUnseen(bound, there.vm) }
      : {}),
    ...reboundTo(bound, evidence),
    deletionPending: judgement.verdict,
    ...(judgement.deletes ? { deletion: deletionOf(bound, brake, judgement.verdict) } : {}),
    ...(judgement.detaches
      ? { taints: [...node.taints, { ...OUT_OF_SERVICE, timeAdded: timestamp(now) }] }
      : {}),
    fenced: judgement.deletes || judgement.detaches,
    // From now on it counts among the deleted. As both, two that go would look like four, and close the brake.
    inquiry: inquiryOf(subject, facts, { ask: judgement.ask, ...(judgement.deletes ? {} : absence) }),
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

/** The first of the machines that any vCenter has, though no search by its UUID finds it. */
function firstSeen(evidence: Evidence): { readonly machine: BoundVM; readonly vm: SeenVM } | undefined {
  for (const { vm: machine, probes } of probedOf(evidence)) {
    const vm = seenIn(machine, probes)
    if (vm !== undefined) return { machine, vm }
  }
  return undefined
}

function evidenceOn(
  { machines: [vm, ...others] }: Subject,
  { node, evidence }: NodeFacts,
): Evidence | undefined {
  return evidence !== undefined && isAbout(evidence.question, { nodeUID: node.uid, vm, others })
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
  { machines: [vm, ...others] }: Subject,
  { node, report, settings }: NodeFacts,
  how: Pick<Inquiry, 'ask' | 'absence'>,
): Inquiry {
  const question: Question = {
    nodeUID: node.uid,
    vm,
    others,
    lifeSign: lifeSignOf(node, report),
    volumes: how.absence !== undefined && settings.lifecycle.waitForVolumes !== undefined,
  }
  return { question, ...how }
}
