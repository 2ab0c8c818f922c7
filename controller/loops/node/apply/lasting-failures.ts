import { ApiError } from '../../../../agent/shared/api-error.ts'
import type { Clock } from '../../../../agent/shared/clock.ts'
import type { NodeWriter, WriteResult } from '../../../kubernetes/node-writer.ts'

/** Milliseconds for which every attempt must have failed: an API server or etcd that restarts is back by then. */
const LASTS = 20_000
/** Milliseconds without another attempt after which a failure is forgotten: longer than the longest backoff. */
const FORGOTTEN_AFTER = 600_000

/**
 * Tells a write that fails for good from one that fails once. Where an admission webhook is down, the API server answers every
 * attempt with 500, and so it does for a moment when etcd has a new leader. The first is thrown, as an error that may pass; one
 * that lasts becomes `rejected`, so that it is said on the Node and not in the log alone.
 */
export function createLastingFailures(clock: Pick<Clock, 'monotonic'>): (writer: NodeWriter) => NodeWriter {
  /**
   * By write and object, the first and the last failure since it last succeeded, monotonic, and what was said of it; the longest
   * ago comes first.
   */
  const failing = new Map<
    string,
    { readonly since: number; readonly last: number; readonly message: string }
  >()

  /**
   * Notes a failure; returns what to say of it if it lasts. Where only numbers differ, as the ports of broken connections do, that
   * stays as it was: each new text would be written, and each write is followed by the next attempt.
   */
  function lasting(key: string, said: string): string | undefined {
    const now = clock.monotonic()
    for (const [other, { last }] of failing) {
      if (now - last <= FORGOTTEN_AFTER) break
      failing.delete(other)
    }
    const before = failing.get(key)
    const since = before?.since ?? now
    const message =
      before !== undefined && withoutNumbers(before.message) === withoutNumbers(said) ? before.message : said
    failing.delete(key)
    failing.set(key, { since, last: now, message })
    return now - since >= LASTS ? message : undefined
  }

  async function watched<T>(key: string, write: Promise<WriteResult<T>>): Promise<WriteResult<T>> {
    try {
      const result = await write
      // The other outcomes do not say whether it would have gone through.
      if (result.outcome !== 'conflict' && result.outcome !== 'unanswered') failing.delete(key)
      return result
    } catch (error) {
      // One that has too much to do refuses nothing, and more writes would be more to do.
      if (!(error instanceof ApiError) || error.status === 429) throw error
      const message = lasting(key, error.message)
      if (message === undefined) throw error
      return { outcome: 'rejected', message }
    }
  }

  return (writer) => ({
    patchNodeStatus: (name, seen, changes) =>
      watched(`addresses of ${seen.uid}`, writer.patchNodeStatus(name, seen, changes)),
    patchNode: (name, seen, changes) => watched(`Node ${seen.uid}`, writer.patchNode(name, seen, changes)),
    deleteNode: (name, seen) => watched(`deletion of ${seen.uid}`, writer.deleteNode(name, seen)),
    createReport: (node, spec) => watched(`report for ${node.uid}`, writer.createReport(node, spec)),
    patchReportStatus: (name, seen, status) =>
      watched(`status of ${seen.uid}`, writer.patchReportStatus(name, seen, status)),
  })
}

function withoutNumbers(text: string): string {
  return text.replaceAll(/\d+/g, '0')
}
