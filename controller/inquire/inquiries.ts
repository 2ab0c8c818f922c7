import type { Inquiry } from '../decide/decision.ts'
import type { Fleet } from '../decide/lifecycle/brake.ts'
import { type Answer, type Evidence, isAbout, type Question, weigh } from '../decide/lifecycle/evidence.ts'

export interface InquiriesOptions {
  /** Called for a Node of which something is to be asked; it answers by {@link Inquiries.answer}. */
  readonly ask: (name: string) => void
  /** Milliseconds that never go back. */
  readonly uptime: () => number
}

/** What is being found out about the VMs that are missed or off, one for each Node at most. In memory alone. */
export interface Inquiries {
  /** Takes what a decision wants to know; undefined where it wants nothing, and what was found out is forgotten. */
  take(name: string, inquiry: Inquiry | undefined): void
  /** What is to be asked about a Node; undefined where nobody wants to know it any more. */
  question(name: string): Question | undefined
  /** Weighs an answer to a question. One that nobody wants to know any more is dropped. */
  answer(name: string, question: Question, answer: Answer): void
  /** What was found out, about the VM that the evidence names. */
  evidence(name: string): Evidence | undefined
  /** Those of this vCenter that are missed, without this one, and when Nodes of it were deleted. */
  fleet(vCenterInstanceUUID: string, except: string): Omit<Fleet, 'bound'>
  /** Whether the VM of this Node is missed, or its Node was just deleted for that. */
  isMissed(name: string): boolean
  /** Of the Nodes whose VM was in this vCenter, by its name in the configuration. */
  missing(vCenter: string): { readonly missing: number; readonly brakeClosed: boolean }
  /** To be told of a deletion before it is tried, so that two at once count as two; one that is tried again counts once... */
  deleting(vCenterInstanceUUID: string, nodeUID: string): Attempt
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

export function createInquiries({ ask, uptime }: InquiriesOptions): Inquiries {
  const entries = new Map<string, Entry>()
  /** For each vCenter, its Nodes by their UIDs. */
  const deleted = new Map<string, Map<string, Deleted>>()
  const refusals = new Map<string, { readonly at: number; readonly message: string }>()

  function recent(vCenter: string): Map<string, Deleted> {
    return new Map([...(deleted.get(vCenter) ?? [])].filter(([, { at }]) => uptime() - at < MEMORY))
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
      if (inquiry.ask) ask(name)
    },
    question: (name) => entries.get(name)?.inquiry.question,
    answer(name, question, answer) {
      const entry = entries.get(name)
      if (entry === undefined || !isAbout(entry.inquiry.question, question)) return
      entries.set(name, { ...entry, evidence: weigh(entry.evidence, question, answer) })
    },
    evidence: (name) => entries.get(name)?.evidence,
    fleet(vCenter, except) {
      let missed = 0
      let braked = 0
      const gone = recent(vCenter)
      for (const [name, { inquiry }] of entries) {
        const { nodeUID, vm } = inquiry.question
        const itself = name === except
        // One that is deleted may be looked at until the watch knows; else it is there, and its deletion came to nothing.
        if (!itself && (!inquiry.missed || gone.get(nodeUID)?.sure)) continue
        gone.delete(nodeUID)
        if (itself || vm.vCenterInstanceUUID !== vCenter) continue
        missed++
        if (inquiry.braked) braked++
      }
      return { missed, braked, deletedAgo: [...gone.values()].map(({ at }) => uptime() - at) }
    },
    isMissed(name) {
      const inquiry = entries.get(name)?.inquiry
      if (inquiry === undefined) return false
      const { vm, nodeUID } = inquiry.question
      return inquiry.missed || deleted.get(vm.vCenterInstanceUUID)?.has(nodeUID) === true
    },
    missing(vCenter) {
      const ours = [...entries.values()]
        .map(({ inquiry }) => inquiry)
        .filter(({ missed, question }) => missed && question.vm.vCenter === vCenter)
      return { missing: ours.length, brakeClosed: ours.some(({ braked }) => braked) }
    },
    deleting(vCenter, nodeUID) {
      const at = uptime()
      const known = recent(vCenter)
      const before = known.get(nodeUID)
      if (!before?.sure) known.set(nodeUID, { at, sure: false })
      deleted.set(vCenter, known)
      return {
        succeeded() {
          deleted.get(vCenter)?.set(nodeUID, { at, sure: true })
        },
        failed(name, refusal) {
          if (before === undefined) deleted.get(vCenter)?.delete(nodeUID)
          if (refusal !== undefined) refusals.set(name, { at, message: refusal })
        },
      }
    },
    refusal(name) {
      const refusal = refusals.get(name)
      return refusal !== undefined && uptime() - refusal.at < REFUSED ? refusal.message : undefined
    },
  }
}
