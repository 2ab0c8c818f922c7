import { anySignal } from '../../agent/shared/any-signal.ts'
import type { Clock } from '../../agent/shared/clock.ts'
import { messageOf } from '../../agent/shared/result.ts'
import type { Logger } from './log.ts'

/** What only main.ts has, and passes to everything that waits, needs randomness, or logs. */
export interface Basics {
  readonly clock: Clock
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly logger: Logger
}

/** Something that goes on until its signal aborts. */
export type Task = (signal: AbortSignal) => Promise<void>

/**
 * Runs tasks side by side until the signal aborts or one of them ends by itself; then the others are told to stop and
 * all are awaited.
 *
 * @throws the first failure
 */
export async function runTogether(tasks: readonly Task[], signal: AbortSignal): Promise<void> {
  const stop = new AbortController()
  const abort = (): void => stop.abort()
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  const failures: unknown[] = []
  await Promise.all(
    tasks.map(async (task) => {
      try {
        await task(stop.signal)
      } catch (error) {
        failures.push(error)
      } finally {
        abort()
      }
    }),
  )
  signal.removeEventListener('abort', abort)
  if (failures.length > 0) throw failures[0]
}

/**
 * Does the work for each item, `atOnce` of them side by side. After a failure no further one is begun, and those under way
 * are awaited.
 *
 * @throws the first failure
 */
export async function eachOf<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
  { atOnce }: { readonly atOnce: number },
): Promise<void> {
  const left = items.values()
  const failures: unknown[] = []
  async function worker(): Promise<void> {
    for (const item of left) {
      if (failures.length > 0) return
      try {
        await work(item)
      } catch (error) {
        failures.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, items.length) }, worker))
  if (failures.length > 0) throw failures[0]
}

/** Between two looks whether what goes on has an answer, milliseconds. */
const POLL_INTERVAL = 50

/**
 * Waits until something that goes on by itself is done, or the time is over. While it is `held` by what has a limit of its own,
 * such as a login, the time does not run.
 *
 * @param within milliseconds
 */
export async function waitUntil(
  done: () => boolean,
  { within, held = () => false, clock }: { within: number; held?: () => boolean; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  let left = within
  while (!done() && left > 0 && !signal.aborted) {
    const start = clock.monotonic()
    await clock.sleep(POLL_INTERVAL, signal)
    if (!held()) left -= clock.monotonic() - start
  }
}

/**
 * Lets something run that goes on by itself, until it has an answer or the time is over.
 *
 * @param answer undefined while there is none
 * @param within milliseconds
 * @throws what it throws
 */
export async function firstAnswer<T>(
  run: Task,
  answer: () => T | undefined,
  within: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<T | undefined> {
  const wait: Task = (signal) => waitUntil(() => answer() !== undefined, { within, clock }, signal)
  await runTogether([run, wait], signal)
  return answer()
}

/** Resolves when the signal aborts, at once if it already has. The listener stays as long as the signal does. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/**
 * Waits for something that goes on by itself, until the signal aborts. The signal may live as long as the process: nothing of
 * this wait stays with it.
 *
 * @throws what it throws, or the signal's reason
 */
export async function untilAborted<T>(something: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: canceled, reject } = Promise.withResolvers<never>()
  const cancel = (): void => reject(signal.reason)
  signal.addEventListener('abort', cancel, { once: true })
  if (signal.aborted) cancel()
  try {
    return await Promise.race([something, canceled])
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

/** A signal that aborts `grace` milliseconds after another, for what must still be ended then; the caller ends it. */
export function outlive(grace: number, clock: Clock, signal: AbortSignal) {
  const [last, over] = [new AbortController(), new AbortController()]
  async function wait(): Promise<void> {
    await aborted(anySignal([signal, over.signal]))
    await clock.sleep(grace, over.signal)
    last.abort()
  }
  const waiting = wait()
  return {
    signal: last.signal,
    async end(): Promise<void> {
      over.abort()
      await waiting
    },
  }
}

/** Repeats the work every `interval` milliseconds; with `random`, give or take a tenth, so that several do not coincide. */
export function every(interval: number, work: Task, clock: Clock, random: () => number = () => 0.5): Task {
  return async (signal) => {
    for (;;) {
      await clock.sleep(interval * (0.9 + 0.2 * random()), signal)
      if (signal.aborted) return
      await work(signal)
    }
  }
}

/**
 * Makes a task that looks once at something outside that may change. What was found last stays in force until another look has
 * found something else.
 */
export function follow<T, Found extends T>(
  first: T,
  {
    look,
    same,
    onChange,
    settles = false,
    onFailing,
  }: {
    /** Finds what is there now; `last` is what counts until then. */
    readonly look: (last: T, signal: AbortSignal) => Found | Promise<Found>
    readonly same: (a: T, b: T) => boolean
    /** Takes a change; returns what the next look is compared with. */
    readonly onChange: (found: Found) => T | Promise<T>
    /** Whether a change counts only when two looks in a row have found it, because half of it may be there before the rest. */
    readonly settles?: boolean
    /** Called when something fails, once for each message in a row. Without it, a failure ends the task. */
    readonly onFailing?: (cause: string) => void
  },
): Task {
  let last = first
  let seen: Found | undefined
  let complaint = ''

  async function lookOnce(signal: AbortSignal): Promise<void> {
    const found = await look(last, signal)
    const changed = !same(found, last)
    const counts = changed && (!settles || (seen !== undefined && same(found, seen)))
    seen = changed && !counts ? found : undefined
    if (!counts) return
    last = found
    last = await onChange(found)
  }

  return async (signal) => {
    try {
      await lookOnce(signal)
      complaint = ''
    } catch (error) {
      if (onFailing === undefined) throw error
      if (signal.aborted) return
      const cause = messageOf(error)
      if (cause !== complaint) onFailing(cause)
      complaint = cause
    }
  }
}
