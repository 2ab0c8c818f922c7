import { aborted } from '../../lib/tasks.ts'

/** Runs work that has the same name one after the other, in the order of the calls. */
export type TakeTurns = <T>(name: string, work: () => Promise<T>, signal: AbortSignal) => Promise<T>

/** Logins of one account take turns, so that each heeds what became of the one before. */
export function createTurns(): TakeTurns {
  /** What the next one waits for. It never fails. */
  const last = new Map<string, Promise<unknown>>()
  return async (name, work, signal) => {
    const turn = waitFor(last.get(name), signal).then(work)
    // One that gives up does not let the next one pass the one before.
    const ended = Promise.allSettled([last.get(name), turn]).then(() => {
      if (last.get(name) === ended) last.delete(name)
    })
    last.set(name, ended)
    return await turn
  }
}

async function waitFor(before: Promise<unknown> | undefined, signal: AbortSignal): Promise<void> {
  if (before === undefined) return
  const over = new AbortController()
  await Promise.race([before, aborted(AbortSignal.any([signal, over.signal]))])
  // The signal may live as long as the process, and its listener with it.
  over.abort()
  signal.throwIfAborted()
}
