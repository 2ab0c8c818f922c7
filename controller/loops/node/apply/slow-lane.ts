import type { Clock } from '../../../../agent/shared/clock.ts'
import type { NodeWriter, WriteResult } from '../../../kubernetes/node-writer.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { isHuge } from '../facts/labels-read.ts'

/**
 * Milliseconds after which a write is slow. Where the API server takes as long for every write, no leader can renew its Lease:
 * what is slow beyond that is slow for this Node.
 */
export const SLOW_AFTER = 5_000
/** For how long it is remembered, milliseconds: longer than the longest backoff, not forever where nothing is to be written. */
const SLOW_FOR = 600_000

/** How many Nodes are in the slow lane, by why they are. */
export interface SlowNodes {
  /** A write of them was not answered in time. */
  readonly slow: number
  /** Their size alone. */
  readonly huge: number
}

/** What a Node's writes go to. Whether the one is slow says nothing about the other. */
type Target = 'node' | 'report'

/**
 * The Nodes whose writes are slow, by their names.
 *
 * A Node enters when a write of it or of its report was not answered within {@link SLOW_AFTER}, and leaves when one was quick,
 * or when it was not written for {@link SLOW_FOR}. It is in from the start where the former leader has said so in its report,
 * and always where it is huge: what makes it huge may be made within a second, and again after each quick write.
 */
export function createSlowLane(options: {
  readonly nodes: { get(name: string): Node | undefined; values(): Iterable<Node> }
  readonly reports: { get(name: string): NodeReport | undefined }
  /** Gives a write up after {@link SLOW_AFTER}. */
  readonly brief: NodeWriter
  /** Waits as long as a request may take. */
  readonly patient: NodeWriter
  readonly clock: Clock
}) {
  const { nodes, reports, brief, patient, clock } = options
  const slow = new Map<string, { readonly uid: string; readonly until: ReadonlyMap<Target, number> }>()

  function isSlow({ name, uid }: Node): boolean {
    const known = slow.get(name)
    if (known?.uid === uid && Math.max(...known.until.values()) > clock.monotonic()) return true
    const { conditions } = reports.get(name)?.status ?? {}
    return conditions?.some(({ reason }) => reason === 'NodeWritesSlow') === true
  }

  function note({ name, uid }: Node, target: Target, isSlow: boolean): void {
    const known = slow.get(name)
    const until = new Map(known?.uid === uid ? known.until : [])
    if (isSlow) until.set(target, clock.monotonic() + SLOW_FOR)
    else until.delete(target)
    if (until.size > 0) slow.set(name, { uid, until })
    else slow.delete(name)
  }

  return {
    has(name: string): boolean {
      const one = nodes.get(name)
      return one !== undefined && (isHuge(one) || isSlow(one))
    },
    /** For one reconcile of this Node. One that turns out to be slow has not held up others for long, and is told to be. */
    writer(one: Node): NodeWriter {
      const writer = isSlow(one) ? patient : brief

      async function timed<T>(target: Target, write: Promise<WriteResult<T>>): Promise<WriteResult<T>> {
        const begun = clock.monotonic()
        const result = await write
        // A brief write was not slow if it was answered: what it took besides, it waited for its turn.
        const tookLong = writer === patient && clock.monotonic() - begun >= SLOW_AFTER
        if (tookLong || result.outcome === 'unanswered') note(one, target, true)
        else if (result.outcome === 'written') note(one, target, false)
        return result
      }

      return {
        patchNodeStatus: (...args) => timed('node', writer.patchNodeStatus(...args)),
        patchNode: (...args) => timed('node', writer.patchNode(...args)),
        deleteNode: (...args) => timed('node', writer.deleteNode(...args)),
        createReport: (...args) => timed('report', writer.createReport(...args)),
        patchReportStatus: (...args) => timed('report', writer.patchReportStatus(...args)),
      }
    },
    /** The Node is gone. */
    forget: (name: string) => void slow.delete(name),
    count(): SlowNodes {
      const counts = { slow: 0, huge: 0 }
      for (const one of nodes.values()) {
        if (isSlow(one)) counts.slow++
        else if (isHuge(one)) counts.huge++
      }
      return counts
    },
  }
}
