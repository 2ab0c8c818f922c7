import { type Backoff, createBackoff } from '../backoff.ts'
import type { Clock } from '../clock.ts'

/** What processing a key came to. */
export type Outcome =
  /** Nothing to do until somebody adds the key again. */
  | 'done'
  /** To be looked at again after a while that grows. */
  | 'retry'

export interface QueueOptions {
  /** Handles one key; never runs twice at once for the same key. A throw counts as `retry`. */
  readonly process: (key: string) => Promise<Outcome>
  readonly onError: (key: string, error: unknown) => void
  /** Keys handled at once. */
  readonly concurrency: number
  /** Ceiling of the first wait before a retry and of all later ones, milliseconds. */
  readonly backoff: { readonly base: number; readonly max: number }
  readonly clock: Clock
  readonly random: () => number
}

/** A queue of keys, each in it at most once, with a backoff of its own per key. */
export interface Queue {
  add(key: string): void
  /** Forgets a key's backoff, for one that is no more. */
  forget(key: string): void
  /** Keys that wait for a free hand. */
  depth(): number
  /** Works until the signal aborts, then waits for what is under way. */
  run(signal: AbortSignal): Promise<void>
}

/**
 * A key that is added while it is being processed is processed once more afterwards, so no change is missed; one that
 * is added while it waits for a retry is taken at once.
 */
export function createQueue(options: QueueOptions): Queue {
  const ready = new Set<string>()
  const active = new Map<string, Promise<void>>()
  const again = new Set<string>()
  const backoffs = new Map<string, Backoff>()
  const retries = new Map<string, AbortController>()
  let wake: () => void = () => undefined
  let stop: AbortSignal | undefined

  function add(key: string): void {
    retries.get(key)?.abort()
    if (active.has(key)) again.add(key)
    else ready.add(key)
    wake()
  }

  function retryLater(key: string): void {
    if (stop === undefined || stop.aborted) return
    const { clock, random } = options
    const backoff = backoffs.get(key) ?? createBackoff({ ...options.backoff, random })
    backoffs.set(key, backoff)
    const cancel = new AbortController()
    retries.set(key, cancel)
    const signal = AbortSignal.any([cancel.signal, stop])
    void clock.sleep(backoff.next(), signal).then(() => {
      if (retries.get(key) === cancel) retries.delete(key)
      if (!signal.aborted) add(key)
    })
  }

  async function work(key: string): Promise<void> {
    let outcome: Outcome
    try {
      outcome = await options.process(key)
    } catch (error) {
      options.onError(key, error)
      outcome = 'retry'
    }
    active.delete(key)
    if (outcome === 'done') backoffs.delete(key)
    if (again.delete(key)) ready.add(key)
    else if (outcome === 'retry') retryLater(key)
    wake()
  }

  return {
    add,
    forget(key) {
      retries.get(key)?.abort()
      ready.delete(key)
      backoffs.delete(key)
    },
    depth: () => ready.size,
    async run(signal) {
      stop = signal
      const onAbort = (): void => wake()
      signal.addEventListener('abort', onAbort)
      while (!signal.aborted) {
        for (const key of ready) {
          if (active.size >= options.concurrency) break
          ready.delete(key)
          active.set(key, work(key))
        }
        await new Promise<void>((resolve) => {
          wake = resolve
          if (signal.aborted || (ready.size > 0 && active.size < options.concurrency)) resolve()
        })
      }
      signal.removeEventListener('abort', onAbort)
      await Promise.all(active.values())
    },
  }
}
