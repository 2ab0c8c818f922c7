import type { Node, NodeReport } from '../../../types/node.ts'
import type { AgentContact } from '../decide/node-facts.ts'
import { silentAfter, specOf } from '../facts/previous-status.ts'

/**
 * Remembers when each agent last reported, by this process's monotonic clock: an agent's own may be wrong. A report that is new to
 * this process counts from now on, since nobody here knows how old it is. When a Node becomes Ready, silence counts from then on:
 * its machine was off, and its agent starts after its kubelet.
 */
export function createAgentContacts() {
  const last = new Map<
    string,
    {
      /** Which report it is. */
      readonly written: string
      /** Whether its Node was Ready. */
      readonly isReady: boolean
      /** From when silence counts, monotonic. */
      readonly at: number
      readonly isHeard: boolean
      /** When it counts as silent, monotonic. */
      readonly silentAt: number
    }
  >()
  let looked = Number.NEGATIVE_INFINITY
  return {
    /** The Nodes whose agents have come to count as silent since this was last asked: a timer for each would be much for many. */
    *fallenSilent(monotonic: number): Iterable<string> {
      const since = looked
      looked = monotonic
      for (const [name, { silentAt }] of last) if (silentAt > since && silentAt <= monotonic) yield name
    },
    /** When the agent of this report was last heard; undefined where it does not say when it wrote. */
    of(
      report: NodeReport | undefined,
      node: Pick<Node, 'ready' | 'uid'>,
      monotonic: number,
    ): AgentContact | undefined {
      if (report?.reportedAt === undefined) return undefined
      const written = `${report.uid} ${report.reportedAt}`
      const isReady = node.ready?.status === 'True'
      const before = last.get(report.name)
      const isNew = before?.written !== written
      const becomesReady = isReady && before?.isReady === false
      const at = before === undefined || isNew || becomesReady ? monotonic : before.at
      const isHeard = before !== undefined && (isNew || (before.isHeard && !becomesReady))
      const silentAt = at + silentAfter(specOf(report, node) ?? {})
      last.set(report.name, { written, isReady, at, isHeard, silentAt })
      return { silentFor: monotonic - at, isHeard }
    },
    forget: (name: string) => void last.delete(name),
  }
}
