import type { Clock } from '../../../../agent/shared/clock.ts'
import type { NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import { aborted } from '../../../lib/tasks.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import type { NodeEvent } from '../decide/node-events.ts'

/** A status that was decided and is not on record yet. */
export interface PendingStatus {
  /** No more of it: thousands may wait, and the Node as it was when its status was decided is no longer needed. */
  readonly node: Pick<Node, 'name' | 'uid'>
  /** As the API server has it: the version to be written over. */
  readonly report: NodeReport
  readonly status: NodeReportStatus
  /** To be recorded when the status stands. */
  readonly events: readonly NodeEvent[]
}

/** Statuses wait until no new one was put off for so long, milliseconds: then no Node loses its taint any more. */
const QUIET = 100
/**
 * Where new ones keep coming, the oldest waits for so long: until a binding is on record, nobody else knows which VM the Node
 * was. Then one is written at a time, so that the Nodes that still have their taint wait little longer. Where thousands wait,
 * one at a time is too slow for all of them, and made the last Node a quarter later: so the time grows with the number that
 * wait.
 */
const PATIENCE = { least: 15_000, each: 20 }
/**
 * Where so many wait, they wait for a longer quiet time: Nodes that report at once lose their taints in bursts, as vCenter
 * answers for their VMs. Then a status that changes counts as well as a new one, since an approved certificate changes it and
 * it would have to be written again; but for no longer than `changing` after the last new one.
 */
const MANY = { from: 50, quiet: 1_000, changing: 5_000 }
const CONCURRENCY = 8
/** Why a pause ends: without a reason, each would make an error with a stack. */
const CHANGED = 'changed'
/** How long the last statuses may take at the end, milliseconds: the next leader waits for the Lease meanwhile. */
const LAST_WRITES = 2_000

/**
 * Statuses that wait to be written, by the names of their Nodes, in the order in which they were decided. Where many Nodes
 * are initialized at once, they lose their taint before the statuses are written: a status costs the API server as much as
 * both patches of a Node, and nobody waits for it. A status that is lost with the process can be decided again as long as the
 * VM exists. At the end, those that wait are still written for {@link LAST_WRITES}: once a VM is gone, nothing else records
 * which one it was.
 */
export function createStatusQueue(options: {
  /** Writes one. Not called twice at once for the same Node. */
  readonly write: (name: string, pending: PendingStatus, signal: AbortSignal) => Promise<void>
  /** A write threw: the status no longer waits. Not called for what an abort ends. */
  readonly onError: (name: string, error: unknown, pending: PendingStatus) => void
  readonly clock: Clock
}) {
  const { write, onError, clock } = options
  const waiting = new Map<string, { readonly pending: PendingStatus; readonly since: number }>()
  const active = new Map<string, Promise<void>>()
  let lastNew = -Infinity
  let lastPut = -Infinity
  let ending = false
  let wake: () => void = () => undefined

  /** Milliseconds until one that waits since then may be written; infinite where another must be written first. */
  function left(since: number): number {
    if (active.size >= CONCURRENCY) return Number.POSITIVE_INFINITY
    if (ending) return 0
    const patience = Math.max(PATIENCE.least, PATIENCE.each * waiting.size)
    const quiet = waiting.size < MANY.from ? lastNew + QUIET : quietOfMany()
    return (active.size === 0 ? Math.min(quiet, since + patience) : quiet) - clock.monotonic()
  }

  function quietOfMany(): number {
    return Math.max(lastNew + MANY.quiet, Math.min(lastPut + MANY.quiet, lastNew + MANY.changing))
  }

  /** Resolves after so many milliseconds, or once something has changed. */
  async function pause(ms: number): Promise<void> {
    const changed = new AbortController()
    wake = () => changed.abort(CHANGED)
    await (Number.isFinite(ms) ? clock.sleep(ms, changed.signal) : aborted(changed.signal))
  }

  function next():
    | { readonly name: string; readonly pending: PendingStatus; readonly since: number }
    | undefined {
    for (const [name, entry] of waiting) if (!active.has(name)) return { name, ...entry }
    return undefined
  }

  async function work(name: string, pending: PendingStatus, signal: AbortSignal): Promise<void> {
    try {
      await write(name, pending, signal)
    } catch (error) {
      if (!ending) onError(name, error, pending)
    }
    active.delete(name)
    // Another may have taken its place meanwhile.
    if (waiting.get(name)?.pending === pending) waiting.delete(name)
    wake()
  }

  return {
    /** One that takes the place of another for the same Node keeps its turn. */
    put(name: string, pending: PendingStatus): void {
      const since = waiting.get(name)?.since
      lastPut = clock.monotonic()
      if (since === undefined) lastNew = lastPut
      waiting.set(name, { pending, since: since ?? lastPut })
      // The others wait behind one that is waited for already.
      if (next()?.name === name) wake()
    },
    delete(name: string): void {
      waiting.delete(name)
    },
    /** Resolves when none is being written for this Node, with the one that waits then. */
    async settled(name: string): Promise<PendingStatus | undefined> {
      for (let writing = active.get(name); writing !== undefined; writing = active.get(name)) await writing
      return waiting.get(name)?.pending
    },
    /**
     * Writes until the signal aborts. Then what waits is written at once; what is not written two seconds later is cut off
     * and dropped. Not to be called twice.
     */
    async run(signal: AbortSignal): Promise<void> {
      const cutOff = new AbortController()
      const done = new AbortController()
      const end = aborted(signal).then(async () => {
        ending = true
        wake()
        await clock.sleep(LAST_WRITES, done.signal)
        cutOff.abort()
        wake()
      })
      while (!cutOff.signal.aborted && !(signal.aborted && waiting.size === 0)) {
        const oldest = next()
        const wait = oldest === undefined ? Number.POSITIVE_INFINITY : left(oldest.since)
        if (oldest === undefined || wait > 0) await pause(wait)
        else active.set(oldest.name, work(oldest.name, oldest.pending, cutOff.signal))
      }
      done.abort()
      await Promise.all([...active.values(), end])
    },
  }
}
