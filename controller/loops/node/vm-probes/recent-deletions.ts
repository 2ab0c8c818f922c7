import type { Deletion } from '../decide/decision.ts'
import type { Span } from '../decide/lifecycle/brake.ts'

/** A Node that was deleted, or is about to be. */
interface Deleted {
  /** Monotonic. */
  readonly at: number
  readonly vanished: Span | undefined
  /** Whether the API server has confirmed it; otherwise its answer is still to come, or was lost. */
  readonly sure: boolean
}

/** The deletions of the last days, which count for the brake and for the rate, and those that the API server has refused. */
export interface RecentDeletions {
  /** The deleted Nodes of a group (see `brakeGroup`) by their UIDs: a copy. */
  of(group: string): Map<string, Deleted>
  /** Whether the Node with this UID is among them, whatever its group. */
  has(nodeUID: string): boolean
  /** To be called before a deletion, so that two at once count as two. A deletion that is retried counts once. */
  deleting(
    deletion: Pick<Deletion, 'group' | 'vanished'>,
    nodeUID: string,
  ): {
    /** The Node was deleted. */
    succeeded(): void
    /** The deletion failed; `refusal` is what the API server said if it refused. */
    failed(name: string, refusal: string | undefined): void
  }
  /** What the API server said if it refused the deletion of this Node in the last few minutes. */
  refusal(name: string): string | undefined
  /** To be called where the Node is no longer to be deleted. */
  forgetRefusal(name: string): void
}

/** How long deletions are remembered, milliseconds: twice the longest `absentFor`. */
const MEMORY = 2 * 168 * 3_600_000
/** How long after a refusal a deletion is not retried, milliseconds. */
const REFUSED = 300_000

export function createRecentDeletions(monotonic: () => number): RecentDeletions {
  /** For each group, its Nodes by their UIDs. */
  const deleted = new Map<string, Map<string, Deleted>>()
  const refusals = new Map<string, { readonly at: number; readonly message: string }>()

  function of(group: string): Map<string, Deleted> {
    return new Map([...(deleted.get(group) ?? [])].filter(([, { at }]) => monotonic() - at < MEMORY))
  }

  return {
    of,
    has: (nodeUID) => [...deleted.values()].some((each) => each.has(nodeUID)),
    deleting({ group, vanished }, nodeUID) {
      const at = monotonic()
      const known = of(group)
      const before = known.get(nodeUID)
      if (!before?.sure) known.set(nodeUID, { at, vanished, sure: false })
      deleted.set(group, known)
      return {
        succeeded() {
          deleted.get(group)?.set(nodeUID, { at, vanished, sure: true })
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
    forgetRefusal(name) {
      refusals.delete(name)
    },
  }
}
