import type { BoundVM } from '../../../../../agent/shared/node-report.ts'
import { swapUUID } from '../../../../../agent/shared/uuid.ts'
import { type ConditionValue, no, unknown, yes } from '../../../../types/condition-value.ts'
import { isUnseen } from '../../facts/machines.ts'
import { describeBound } from '../bound-vm.ts'
import type { DeletionFacts } from '../node-facts.ts'
import type { Unmet, UnmetPrecondition } from './absence-proofs.ts'
import { quietTime, waitForRate } from './brake.ts'
import { absenceOf, unmetPreconditions, withoutFleeting } from './deletion-preconditions.ts'
import { unmetProofsOf } from './evidence.ts'
import { awaitsDetaching, leftForVolumes } from './out-of-service.ts'

/** Least time between two probes of a VM, milliseconds, whatever is configured. */
const LEAST = 1_000
/**
 * Time between probes, milliseconds: after a result that proves nothing, while volumes are attached, and while something
 * other than vCenter holds the deletion back. Once that is gone the VM is probed at once; until then a search by UUID
 * would notice if the VM came back.
 */
const PROBE_AGAIN = { unproven: 30_000, volumes: 10_000, held: 600_000 }
/**
 * Time until the next probe where the kubelet may live: while the Node is Ready, and after the first sign of life that came
 * with a proof, which may be from before the VM was destroyed. It has spoken again by then if it lives. The same after a
 * later sign where kube-controller-manager calls the kubelet silent, which it does not do of one that goes on.
 */
const LISTENS = 20_000
/** The first of these doubles with each such result, up to this factor. */
const PATIENCE = 8
/** As a share of `absentFor`: a VM that vanishes now is known to be absent before another that vanished with it is proven gone. */
const MOST_UNPROVEN = 0.8

/** The condition before the first result. `kept` says why the Node is kept whatever the results will be. */
export function notProbedYet(machines: readonly BoundVM[], kept: Unmet | undefined): ConditionValue {
  const { names, are } = describeAll(machines)
  const until = kept === undefined ? ` until it is known that ${are} gone` : `: ${kept.message}`
  return unknown('NotConfirmed', `no search finds ${names}, and the Node is kept${until}`)
}

/** All machines in words. An unseen machine is listed in both byte orders but named only once. */
function describeAll(machines: readonly BoundVM[]): { readonly names: string; readonly are: string } {
  const named = machines.filter(
    (machine, index) =>
      !isUnseen(machine) ||
      !machines.slice(0, index).some((each) => swapUUID(each.biosUUID) === machine.biosUUID),
  )
  const names = named.map(describeBound).join(' and ')
  return { names, are: named.length === 1 ? 'it is' : 'all are' }
}

/**
 * Decides the next step toward the deletion of a Node. The evidence holds all earlier results, so each step follows from
 * the facts alone, whatever happened in between.
 */
export function judgeDeletion(facts: DeletionFacts) {
  const { evidence, monotonic } = facts
  const proofs = unmetProofsOf(evidence)
  const others = unmetPreconditions(facts)
  const deletes = proofs.length === 0 && others.length === 0
  const names = others.map(({ name }) => name)
  const shown = [...proofs, ...inOrder(withoutFleeting(others))]
  const dueIn = evidence.askedAt + probeInterval(facts, names) - monotonic
  // All that is missing is a newer result.
  const detaches =
    proofs.length === 0 && names.every((name) => name === 'VolumesDetached') && awaitsDetaching(facts)
  const stale = proofs.length === 0 && names.every((name) => name === 'ConfirmedJustNow')
  return {
    /** For the condition DeletionPending. */
    condition: judge(facts, proofs, shown),
    /** What does not hold yet, proofs first; empty where the Node is to be deleted. */
    unmet: [...proofs, ...others],
    /** The names of those that the condition lists, in its order. */
    listed: shown.map(({ name }) => name),
    deletes,
    /** Whether to add the out-of-service taint first, so that the Node's volumes are detached. */
    detaches,
    /** Whether the VM is to be probed now. */
    probeDue: !deletes && (stale || dueIn <= 0),
    /** When to decide again if it is not, milliseconds. */
    requeueAfter: Math.min(dueIn, names.includes('OthersCounted') ? LEAST : nextByTime(facts)),
  }
}

/**
 * A brake that has not engaged comes last. If it came first, an Event would say that it holds a Node that will soon be
 * deleted.
 */
function inOrder(unmet: readonly UnmetPrecondition[]): readonly UnmetPrecondition[] {
  const isLast = ({ reason }: Unmet): boolean => reason === 'BrakeUndecided'
  return [...unmet.filter((each) => !isLast(each)), ...unmet.filter(isLast)]
}

function judge(
  { evidence }: DeletionFacts,
  proofs: readonly Unmet[],
  unmet: readonly UnmetPrecondition[],
): ConditionValue {
  const [first] = unmet
  const { names, are } = describeAll([evidence.request.vm, ...evidence.request.others])
  const gone = are === 'it is' ? `${names} is gone` : `${names} are gone`
  if (first === undefined) {
    const times = evidence.absent?.times ?? 0
    return yes('VMGone', `${gone}, as ${times} answers in a row have proven; the Node is deleted`)
  }
  const exists = proofs.filter(({ reason }) => reason === 'VMExists')
  if (exists.length > 0) return no('VMExists', `the Node is kept: ${listed(exists)}`)
  const list = listed(unmet)
  return proofs.length > 0
    ? unknown(first.reason, `it is unknown whether ${gone}, so the Node is kept: ${list}`)
    : yes(first.reason, `${gone}, and the Node is kept for now: ${list}`)
}

/** A vCenter that fails leaves several proofs missing for the same reason: it is told once. */
function listed(unmet: readonly Unmet[]): string {
  return [...new Set(unmet.map(({ message }) => message))].join('; ')
}

/** Milliseconds between probes that confirm an absence for this long. */
export function intervalFor(
  duration: number,
  { confirmations }: Pick<DeletionFacts['settings']['lifecycle'], 'confirmations'>,
): number {
  return Math.max(LEAST, duration / Math.max(1, confirmations - 1))
}

/**
 * Milliseconds between two probes.
 *
 * @param unmet names of the preconditions that do not hold
 */
export function probeInterval(
  { node, evidence, settings: { lifecycle } }: Pick<DeletionFacts, 'node' | 'evidence' | 'settings'>,
  unmet: readonly string[],
): number {
  const absence = absenceOf(evidence.request, lifecycle)
  const between = (duration: number) => intervalFor(duration, lifecycle)
  const interval = between(lifecycle.absentFor)
  const ready = node.ready?.status === 'True'
  const doubtful =
    evidence.spokenAt === undefined
      ? ready || evidence.beats
      : evidence.beats && node.ready?.status === 'Unknown'
  if (evidence.absent !== undefined && doubtful) return Math.min(interval, LISTENS)
  if (evidence.absent === undefined) {
    const again = Math.min(interval, PROBE_AGAIN.unproven) * Math.min(PATIENCE, 2 ** (evidence.unproven - 1))
    return Math.min(again, MOST_UNPROVEN * lifecycle.absentFor)
  }
  if (unmet.some((name) => COUNTED.has(name))) {
    // However many probes came before, one is due when the proof has lasted for long enough.
    const left = evidence.absent.since + absence - evidence.askedAt
    if (left <= 0) return interval
    // Many machines that no vCenter has shown would keep other Nodes from being probed.
    const isSilent = evidence.absent.times > 1 && evidence.spokenAt === undefined && !evidence.beats
    const isPatient = isSilent && unmet.every((name) => BY_TIME.has(name))
    return Math.min(isPatient ? between(absence) : interval, left)
  }
  if (unmet.includes('VolumesDetached')) return PROBE_AGAIN.volumes
  return Math.min(PROBE_AGAIN.held, quietTime(lifecycle))
}

/** Preconditions that more results may fulfill. */
const COUNTED: ReadonlySet<string> = new Set(['Confirmed', 'NoLifeSign', 'KubeletSilent'])
/** Preconditions that hold once the absence has been proven for long enough, unless the machine gives a sign of life. */
const BY_TIME: ReadonlySet<string> = new Set(['Confirmed', 'ConfirmedJustNow'])

/** Milliseconds until the passing of time alone may change what is missing. */
function nextByTime(facts: DeletionFacts): number {
  const {
    fleet,
    leadingFor,
    settings: { lifecycle },
  } = facts
  const waits = [lifecycle.leaderAge - leadingFor, waitForRate(fleet, lifecycle), leftForVolumes(facts)]
  return Math.min(Number.POSITIVE_INFINITY, ...waits.filter((ms) => ms > 0))
}
