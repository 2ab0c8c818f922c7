import type { NodeReport } from '../../../types/node.ts'
import type { AgentSign } from '../decide/node-facts.ts'

/**
 * Remembers when each agent last reported, by this process's monotonic clock: an agent's own may be wrong. A report that is new to
 * this process counts from now on, since nobody here knows how old it is.
 */
export function createAgentSigns() {
  const last = new Map<string, { readonly written: string; readonly at: number; readonly isFirst: boolean }>()
  return {
    /** When the agent of this report was last heard; undefined where it does not say when it wrote. */
    of(report: NodeReport | undefined, monotonic: number): AgentSign | undefined {
      if (report?.reportedAt === undefined) return undefined
      const written = `${report.uid} ${report.reportedAt}`
      const before = last.get(report.name)
      const sign =
        before?.written === written ? before : { written, at: monotonic, isFirst: before === undefined }
      last.set(report.name, sign)
      return { silentFor: monotonic - sign.at, isHeard: !sign.isFirst }
    },
    forget: (name: string) => void last.delete(name),
  }
}
