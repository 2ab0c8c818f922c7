import { ApiError } from '../../../../agent/shared/api-error.ts'
import type { Clock } from '../../../../agent/shared/clock.ts'
import type { NodeWriter, WriteResult } from '../../../kubernetes/node-writer.ts'
import { withoutNumbers } from '../../../types/trouble.ts'

/** Milliseconds for which every attempt must have failed: an API server or etcd that restarts is back by then. */
const LASTS = 20_000

interface Failure {
  /** Of the first failure since the write last succeeded, monotonic. */
  readonly since: number
  readonly message: string
}

/**
 * Remembers which writes fail, by the Nodes that they are for.
 *
 * Tells a write that fails for good from one that fails once. Where an admission webhook is down, the API server answers every
 * attempt with 500, and so it does for a moment when etcd has a new leader. The first is thrown, as an error that may pass; one
 * that lasts becomes `rejected`, so that it is said on the Node and not in the log alone.
 */
export function createLastingFailures(clock: Pick<Clock, 'monotonic'>) {
  /** By Node, then by write and object. */
  const failing = new Map<string, Map<string, Failure>>()

  /**
   * Notes a failure; returns what to say of it if it lasts. Where only numbers differ, as the ports of broken connections do, that
   * stays as it was: each new text would be written, and each write is followed by the next attempt.
   */
  function lasting(name: string, write: string, said: string): string | undefined {
    const now = clock.monotonic()
    const writes = failing.get(name) ?? new Map<string, Failure>()
    const before = writes.get(write)
    const since = before?.since ?? now
    const message =
      before !== undefined && withoutNumbers(before.message) === withoutNumbers(said) ? before.message : said
    failing.set(name, writes.set(write, { since, message }))
    return now - since >= LASTS ? message : undefined
  }

  async function watched<T>(
    name: string,
    write: string,
    answer: Promise<WriteResult<T>>,
  ): Promise<WriteResult<T>> {
    try {
      const result = await answer
      // The other outcomes do not say whether it would have gone through.
      if (result.outcome !== 'conflict' && result.outcome !== 'unanswered') failing.get(name)?.delete(write)
      return result
    } catch (error) {
      // One that has too much to do refuses nothing, and more writes would be more to do.
      if (!(error instanceof ApiError) || error.status === 429) throw error
      const message = lasting(name, write, error.message)
      if (message === undefined) throw error
      return { outcome: 'rejected', message }
    }
  }

  return {
    /** Wraps a writer, so that a failure that lasts becomes `rejected`. */
    watch: (writer: NodeWriter): NodeWriter => ({
      patchNodeStatus: (name, seen, changes) =>
        watched(name, `addresses of ${seen.uid}`, writer.patchNodeStatus(name, seen, changes)),
      patchNode: (name, seen, changes) =>
        watched(name, `Node ${seen.uid}`, writer.patchNode(name, seen, changes)),
      deleteNode: (name, seen) => watched(name, `deletion of ${seen.uid}`, writer.deleteNode(name, seen)),
      createReport: (node, spec) =>
        watched(node.name, `report for ${node.uid}`, writer.createReport(node, spec)),
      patchReportStatus: (name, seen, status) =>
        watched(name, `status of ${seen.uid}`, writer.patchReportStatus(name, seen, status)),
    }),
    /** To be called when a Node needs no write any more that has failed, or is gone: what fails later fails anew. */
    forget: (name: string) => void failing.delete(name),
  }
}
