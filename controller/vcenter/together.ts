/** Runs the tasks of one connection: they begin and end together. */
import type { Clock } from '../clock.ts'

export type Task = (signal: AbortSignal) => Promise<void>

/**
 * Runs all tasks until the signal aborts. The first that fails makes the others stop, and its error is thrown once
 * all have ended.
 */
export async function runTogether(tasks: readonly Task[], signal: AbortSignal): Promise<void> {
  const group = new AbortController()
  const either = AbortSignal.any([signal, group.signal])
  let first: { readonly error: unknown } | undefined
  await Promise.all(
    tasks.map(async (task) => {
      try {
        await task(either)
      } catch (error) {
        // What fails after the end was called is the end.
        if (either.aborted) return
        first = { error }
        group.abort()
      }
    }),
  )
  if (first !== undefined) throw first.error
}

/** Does the work again and again, `interval` milliseconds apart, a tenth more or less so that many do not coincide. */
export function every(interval: number, work: Task, clock: Clock, random: () => number): Task {
  return async (signal) => {
    for (;;) {
      await clock.sleep(interval * (0.9 + 0.2 * random()), signal)
      if (signal.aborted) return
      await work(signal)
    }
  }
}
