import type { Deletion, Inquiry } from '../decide/decision.ts'
import type { Fleet, Span } from '../decide/lifecycle/brake.ts'
import { type Answer, type Evidence, isAbout, type Question, weigh } from '../decide/lifecycle/evidence.ts'
import type { LatchedNode } from '../gather/node-index.ts'

export interface InquiriesOptions {
  /** Milliseconds that never go back. */
  readonly monotonic: () => number
}

/**
 * What is being found out about the VMs that are missed or off, one for each Node at most, and what was deleted. In memory
 * alone, for a term of leadership, whatever the configuration.
 */
export interface Inquiries {
  /** Takes what a decision wants to know; undefined where it wants nothing, and what was found out is forgotten. */
  take(name: string, inquiry: Inquiry | undefined): void
  /**
   * To be called when the work begins anew, by another configuration: forgets the Nodes that went while nobody watched.
   * What was answered to the one before counts on, and is no longer fresh: those that are configured now are asked once
   * more before anything follows.
   */
  resume(exists: (name: string) => boolean): void
  /** What is to be asked about a Node; undefined where nobody wants to know it any more. */
  question(name: string): Question | undefined
  /** Weighs an answer to a question. One that nobody wants to know any more is dropped. */
  answer(name: string, question: Question, answer: Answer): void
  /** What was found out, about the VM that the evidence names. */
  evidence(name: string): Evidence | undefined
  /** Since when the VM of this Node is missed, monotonic; undefined where it is not, or that is not known here. */
  absentSince(name: string, nodeUID: string): number | undefined
  /** Those of this group (see `groupOf`) that are missed, without this one, and the Nodes of it that were deleted. */
  fleet(group: string, except: string, latched: Iterable<LatchedNode>): Omit<Fleet, 'bound'>
  /** For how long the VM of this Node is missed, milliseconds: 0 where it is not, for ever where its Node was just deleted. */
  missedFor(name: string): number
  /** Of the Nodes whose VM was in this vCenter, by its name in the configuration. */
  missing(
    vCenter: string,
    latched: Iterable<LatchedNode>,
  ): { readonly missing: number; readonly brakeClosed: boolean }
  /** To be told of a deletion before it is tried, so that two at once count as two; one that is tried again counts once... */
  deleting(deletion: Pick<Deletion, 'group' | 'absentSince'>, nodeUID: string): Attempt
  /** What the API server said in the last minutes, when it would not have the deletion of this Node. */
  refusal(name: string): string | undefined
}

export interface Attempt {
  /** ... when the Node was deleted... */
  succeeded(): void
  /** ... and when it came to nothing, with what the API server said if it refused. */
  failed(name: string, refusal: string | undefined): void
}

interface Deleted {
  readonly at: number
  readonly absentSince: number | undefined
  /** Whether the API server has said so; else no answer has come, or not yet. */
  readonly sure: boolean
}

interface Entry {
  readonly inquiry: Inquiry
  readonly evidence: Evidence | undefined
}

/** Milliseconds for which deletions are remembered: twice the longest time that may be configured. */
const MEMORY = 2 * 168 * 3_600_000
/** For so long after a refusal a deletion is not tried again. */
const REFUSED = 300_000
/** By both clocks. */
const LONG_AGO = { monotonic: -Infinity, now: -Infinity }

export function createInquiries({ monotonic }: InquiriesOptions): Inquiries {
  const entries = new Map<string, Entry>()
  /** For each group, since when few of it are missed. */
  const few = new Map<string, number>()
  /** For each group, its Nodes by their UIDs. */
  const deleted = new Map<string, Map<string, Deleted>>()
  const refusals = new Map<string, { readonly at: number; readonly message: string }>()

  function recent(group: string): Map<string, Deleted> {
    return new Map([...(deleted.get(group) ?? [])].filter(([, { at }]) => monotonic() - at < MEMORY))
  }

  return {
    take(name, inquiry) {
      if (inquiry === undefined) {
        entries.delete(name)
        refusals.delete(name)
        return
      }
      const before = entries.get(name)
      const same = before !== undefined && isAbout(before.inquiry.question, inquiry.question)
      entries.set(name, { inquiry, evidence: same ? before.evidence : undefined })
      const { absence } = inquiry
      if (absence?.few === false) few.delete(absence.group)
      else if (absence !== undefined && !few.has(absence.group)) few.set(absence.group, monotonic())
    },
    resume(exists) {
      for (const [name, { inquiry, evidence }] of entries) {
        if (exists(name)) {
          if (evidence !== undefined)
            entries.set(name, { inquiry, evidence: { ...evidence, answeredAt: LONG_AGO } })
          continue
        }
        entries.delete(name)
        refusals.delete(name)
      }
    },
    question: (name) => entries.get(name)?.inquiry.question,
    answer(name, question, answer) {
      const entry = entries.get(name)
      if (entry === undefined || !isAbout(entry.inquiry.question, question)) return
      entries.set(name, { ...entry, evidence: weigh(entry.evidence, question, answer) })
    },
    evidence: (name) => entries.get(name)?.evidence,
    absentSince(name, nodeUID) {
      const { question, absence } = entries.get(name)?.inquiry ?? {}
      return question?.nodeUID === nodeUID ? absence?.since : undefined
    },
    fleet(group, except, latched) {
      const absentSince: Span[] = []
      const pendingSince: Span[] = []
      const closedFor = new Set<string>()
      const gone = recent(group)
      for (const [name, { inquiry }] of entries) {
        const { nodeUID } = inquiry.question
        const { absence } = inquiry
        const itself = name === except
        // One that is deleted may be looked at until the watch knows; else it is there, and its deletion came to nothing.
        if (!itself && (absence === undefined || gone.get(nodeUID)?.sure)) continue
        gone.delete(nodeUID)
        if (itself || absence === undefined || absence.group !== group) continue
        if (absence.counts) absentSince.push(absence)
        if (absence.pending) pendingSince.push(absence)
        if (absence.latched) closedFor.add(name)
      }
      // Those that nobody asks about now, since their vCenter is away, are held still.
      for (const each of latched) if (each.name !== except && each.group === group) closedFor.add(each.name)
      return {
        absentSince,
        pendingSince,
        latched: closedFor.size,
        deleted: [...gone.values()].map(({ at, absentSince }) => ({ ago: monotonic() - at, absentSince })),
        fewFor: monotonic() - (few.get(group) ?? monotonic()),
      }
    },
    missedFor(name) {
      const inquiry = entries.get(name)?.inquiry
      if (inquiry === undefined) return 0
      const { nodeUID } = inquiry.question
      if ([...deleted.values()].some((each) => each.has(nodeUID))) return Number.POSITIVE_INFINITY
      return inquiry.absence === undefined ? 0 : monotonic() - inquiry.absence.since
    },
    missing(vCenter, latched) {
      const absences = [...entries.values()].flatMap(({ inquiry: { absence, question } }) =>
        absence !== undefined && question.vm.vCenter === vCenter ? [absence] : [],
      )
      return {
        missing: absences.length,
        brakeClosed:
          absences.some(({ held }) => held) || [...latched].some((node) => node.vCenter === vCenter),
      }
    },
    deleting({ group, absentSince }, nodeUID) {
      const at = monotonic()
      const known = recent(group)
      const before = known.get(nodeUID)
      if (!before?.sure) known.set(nodeUID, { at, absentSince, sure: false })
      deleted.set(group, known)
      return {
        succeeded() {
          deleted.get(group)?.set(nodeUID, { at, absentSince, sure: true })
        },
        failed(name, refusal) {
          if (before === undefined) deleted.get(group)?.delete(nodeUID)
          if (refusal !== undefined) refusals.set(name, { at, message: refusal })
        },
      }
    },
    refusal(name) {
      const refusal = refusals.get(name)
      return refusal !== undefined && monotonic() - refusal.at < REFUSED ? refusal.message : undefined
    },
  }
}
