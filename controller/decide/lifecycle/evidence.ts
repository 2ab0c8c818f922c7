import type { BoundVM } from '../../../agent/contract.ts'
import type { Probe } from '../../facts/existence.ts'
import type { Node, NodeReport } from '../../facts/node.ts'
import { isOffForGood, type Missing, missingProofs } from './proofs.ts'

/** What is to be found out about the VM of one Node, and what was known of the Node when it was asked. */
export interface Question {
  readonly nodeUID: string
  readonly vm: BoundVM
  /** Other machines to which the Node points: see `Subject`. */
  readonly others: readonly BoundVM[]
  readonly lifeSign: string
  /** Whether to count the VolumeAttachments too. */
  readonly volumes: boolean
}

/** The last answers about one machine, one for each vCenter. */
export interface Probed {
  readonly vm: BoundVM
  readonly probes: readonly Probe[]
}

/** Answers that agreed, one after the other. Times are monotonic, milliseconds: a clock that is set changes nothing. */
export interface Run {
  readonly since: number
  readonly last: number
  readonly times: number
}

/** What is known of a VM that is missed or off. Kept in memory alone: a new leader finds it out anew. */
export interface Evidence {
  readonly question: Question
  /** The last answers about the VM, one for each vCenter. */
  readonly probes: readonly Probe[]
  /** The same about the others. */
  readonly others: readonly Probed[]
  readonly askedAt: number
  /** When the last of the answers came, by the monotonic clock and by the one on the wall. */
  readonly answeredAt: { readonly monotonic: number; readonly now: number }
  /** See {@link Answer.inhabited}. */
  readonly inhabited: ReadonlySet<string>
  /** Of the kubelet's Lease; undefined where it could not be read. */
  readonly heartbeat: string | undefined
  /** Whether it has beaten between this answer and the one before. */
  readonly beats: boolean
  /** Whether the machine has given a sign of life since it was first asked for. */
  readonly spoken: boolean
  /** How many answers in a row have proven nothing. */
  readonly unproven: number
  /** VolumeAttachments of the Node; undefined where they were not asked for, or not answered. */
  readonly attachments: number | undefined
  /** Complete proofs of absence in a row. */
  readonly absent: Run | undefined
  /** Answers in a row by which the VM is off, and nothing is about to start it. */
  readonly off: Run | undefined
}

export interface Answer {
  readonly probes: readonly Probe[]
  readonly others: readonly Probed[]
  /**
   * vCenters (`about.instanceUuid`) that must have a VM to show: another Node is bound to one there, which is not missed.
   * This stands in the reports, and so survives whatever happens to vCenter and controller.
   */
  readonly inhabited: ReadonlySet<string>
  readonly attachments: number | undefined
  readonly heartbeat: string | undefined
  /** When it was asked, monotonic: the answers are as old as the question. */
  readonly askedAt: number
  readonly answeredAt: Evidence['answeredAt']
}

/**
 * Adds an answer to what was known. A row is broken by whatever else than the same again: an answer that proves less,
 * another VM or Node, a new session (a vCenter that was away may have begun with half of its inventory), and a sign of life.
 */
export function weigh(before: Evidence | undefined, question: Question, answer: Answer): Evidence {
  const { heartbeat, askedAt: at } = answer
  const subject = before !== undefined && isAbout(before.question, question) ? before : undefined
  const beats = subject?.heartbeat !== undefined && subject.heartbeat !== heartbeat
  const continues = before !== undefined && sameCourse(before, question, answer)
  const row = (run: Run | undefined): Run =>
    continues && run !== undefined
      ? { since: run.since, last: at, times: run.times + 1 }
      : { since: at, last: at, times: 1 }
  const proven = missingOf({ ...answer, question }).length === 0 && heartbeat !== undefined
  return {
    ...answer,
    question,
    beats,
    spoken: subject !== undefined && (subject.spoken || beats || hasReported(subject.question, question)),
    unproven: proven ? 0 : (subject?.unproven ?? 0) + 1,
    absent: proven ? row(before?.absent) : undefined,
    off: isOffForGood(question.vm, answer.probes) ? row(before?.off) : undefined,
  }
}

/** An answer this old, milliseconds, says what was, not what is. */
const FRESH = 10_000

/** By both clocks: one stands still in a machine that is suspended, the other may be set. */
export function isFresh(
  { answeredAt }: Pick<Evidence, 'answeredAt'>,
  { monotonic, now }: { readonly monotonic: number; readonly now: number },
): boolean {
  return monotonic - answeredAt.monotonic <= FRESH && Math.abs(now - answeredAt.now) <= FRESH
}

/** What is missing of the proof that all machines are gone to which a Node points; empty where it is whole. */
export function missingOf(
  evidence: Pick<Answer, 'probes' | 'others' | 'inhabited'> & { readonly question: Pick<Question, 'vm'> },
): readonly Missing[] {
  const { inhabited } = evidence
  return probedOf(evidence).flatMap(({ vm, probes }) => missingProofs(vm, { probes, inhabited }))
}

/** All machines that were asked about, and what was answered. */
export function probedOf({
  question,
  probes,
  others,
}: Pick<Answer, 'probes' | 'others'> & { readonly question: Pick<Question, 'vm'> }): readonly Probed[] {
  return [{ vm: question.vm, probes }, ...others]
}

type About = Pick<Question, 'nodeUID' | 'vm' | 'others'>

/** Whether two questions are about the same machines of the same Node. */
export function isAbout(a: About, b: About): boolean {
  const [ours, theirs] = [a, b].map(({ vm, others }) => [vm, ...others])
  return (
    a.nodeUID === b.nodeUID &&
    ours?.length === theirs?.length &&
    ours?.every((vm, index) => isSameMachine(vm, theirs?.[index])) === true
  )
}

/** One that was never seen has no reference; one that has may be given another UUID. */
function isSameMachine(a: BoundVM, b: BoundVM | undefined): boolean {
  if (a.moref !== b?.moref || a.vCenterInstanceUUID !== b.vCenterInstanceUUID) return false
  return a.moref !== '' || a.biosUUID === b.biosUUID
}

function hasReported(before: Question, now: Question): boolean {
  return before.lifeSign !== now.lifeSign
}

function sameCourse(before: Evidence, question: Question, answer: Answer): boolean {
  return (
    isAbout(before.question, question) &&
    !hasReported(before.question, question) &&
    before.heartbeat === answer.heartbeat &&
    sessions(before) === sessions({ ...answer, question })
  )
}

function sessions(evidence: Parameters<typeof probedOf>[0]): string {
  const probes = probedOf(evidence).flatMap((each) => each.probes)
  return [...new Set(probes.map(({ vCenter, session }) => `${vCenter}=${session}`))].join(' ')
}

/**
 * Another text after each sign of life of a machine: its agent's report, and its kubelet's heartbeat. (A Ready condition
 * that is False is a living kubelet's word; Unknown is the node lifecycle controller's, which leaves the heartbeat.)
 */
export function lifeSignOf(node: Pick<Node, 'ready'>, report: NodeReport | undefined): string {
  return `${report?.reportedAt ?? '-'} ${report?.generation ?? '-'} ${node.ready?.lastHeartbeatTime ?? '-'}`
}
