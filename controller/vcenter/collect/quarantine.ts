/** Objects of calls that are not answered although vCenter is well: which of them it is, and when it is asked again. */
import { anySignal } from '../../../agent/shared/any-signal.ts'
import { type Backoff, createBackoff } from '../../../agent/shared/backoff.ts'
import type { Clock } from '../../../agent/shared/clock.ts'
import { eachOf, runTogether } from '../../lib/tasks.ts'
import type { Timings } from '../timings.ts'
import { isRefusal, UnansweredError } from '../wire/errors.ts'

/** Into how many parts a call is divided: one bad object of a thousand is found after five that are waited for in vain. */
const PARTS = 4
/** Calls at once. */
const AT_ONCE = 4
/** After so many calls about several objects each, none of them answered, it is vCenter that does not answer. */
const MOST_SILENT = 16
/** Milliseconds; a timer cannot wait forever. */
const LONG = 3_600_000

export interface Quarantine {
  /**
   * Why nothing may be asked of the object with this key; undefined where it may. `alone` once it was asked of this object
   * alone, `error` being what came of it. Otherwise another object may be why.
   */
  held(key: string): { readonly alone: boolean; readonly error: UnansweredError } | undefined
  /**
   * Takes the objects of a call that was not answered. `ask` makes the call for some of them, with a shorter deadline, and may
   * throw as it did.
   */
  hold<T>(held: {
    readonly objects: readonly T[]
    readonly keyOf: (object: T) => string
    readonly error: UnansweredError
    readonly ask: (objects: readonly T[], deadline: number, signal: AbortSignal) => Promise<unknown>
  }): void
  /** Takes a call that cannot be divided, under a key of its own. It is asked again as it was. */
  holdCall(key: string, error: UnansweredError, ask: (signal: AbortSignal) => Promise<unknown>): void
  /** Whether it is still to be found out which objects of some call it is. */
  isSearching(): boolean
  /**
   * Asks beside all other work: for fewer objects at a time where there are several, and again after a growing delay where there
   * is one. Ends with the signal. Throws a VCenterError where vCenter fails, or answers no call about objects at all.
   */
  run(signal: AbortSignal): Promise<void>
}

interface Group {
  readonly keys: readonly string[]
  readonly ask: (signal: AbortSignal) => Promise<unknown>
  readonly divide: (error: UnansweredError) => void
  readonly backoff: Backoff
  alone: boolean
  error: UnansweredError
  /** Monotonic. */
  due: number
}

export function createQuarantine(options: {
  /** Called with the keys of objects that may be asked for again, or are now known to be `alone`. */
  readonly onNews: (keys: readonly string[]) => void
  readonly timings: Timings
  readonly clock: Clock
  readonly random: () => number
}): Quarantine {
  const { onNews, timings, clock, random } = options
  const groups = new Map<string, Group>()
  /** Ends the waits for what is due. */
  let news = new AbortController()
  /** Calls about several objects since the last that was answered. */
  let silent = 0

  function wake(): void {
    const before = news
    news = new AbortController()
    before.abort()
  }

  const hold: Quarantine['hold'] = ({ objects, keyOf, error, ask }) => {
    const add = (some: typeof objects, error: UnansweredError, alone: boolean) => {
      const backoff = createBackoff({ ...timings.unanswered, random })
      const group: Group = {
        keys: some.map(keyOf),
        ask: (signal) => ask(some, timings.callDeadline, signal),
        divide: (error) => divide(some, error),
        backoff,
        alone,
        error,
        due: clock.monotonic() + (alone ? backoff.next() : 0),
      }
      for (const key of group.keys) groups.set(key, group)
    }
    const divide = (some: typeof objects, error: UnansweredError) => {
      const size = Math.ceil(some.length / PARTS)
      for (let i = 0; i < some.length; i += size) add(some.slice(i, i + size), error, false)
    }
    if (objects.length === 1) add(objects, error, true)
    // Some may be held already, by a call that was under way at the same time.
    else
      divide(
        objects.filter((object) => !groups.has(keyOf(object))),
        error,
      )
    wake()
  }

  async function examine(group: Group, signal: AbortSignal): Promise<void> {
    try {
      await group.ask(signal)
    } catch (error) {
      if (error instanceof UnansweredError) return keep(group, error)
      // A fault is an answer.
      if (!isRefusal(error)) throw error
    }
    silent = 0
    for (const key of group.keys) if (groups.get(key) === group) groups.delete(key)
    onNews(group.keys)
  }

  function keep(group: Group, error: UnansweredError): void {
    if (group.keys.length > 1) {
      if (++silent >= MOST_SILENT) throw error
      group.divide(error)
      return
    }
    const wasAlone = group.alone
    group.alone = true
    group.error = error
    group.due = clock.monotonic() + group.backoff.next()
    if (wasAlone) return
    wake()
    onNews(group.keys)
  }

  /** Small groups come first: where many objects are bad, no large one is answered, and that would look as if vCenter answered none. */
  async function examineDue(alone: boolean, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const woken = news.signal
      const now = clock.monotonic()
      const all = [...new Set(groups.values())].filter((group) => group.alone === alone)
      const due = all
        .filter((group) => group.due <= now)
        .sort((a, b) => a.keys.length - b.keys.length)
        .slice(0, AT_ONCE)
      await eachOf(due, (group) => examine(group, signal), { atOnce: AT_ONCE })
      if (due.length > 0) continue
      const next = Math.min(LONG, ...all.map((group) => group.due - now))
      await clock.sleep(next, anySignal([signal, woken]))
    }
  }

  return {
    held: (key) => groups.get(key),
    hold,
    holdCall: (key, error, ask) =>
      hold({ objects: [key], keyOf: String, error, ask: (_, __, signal) => ask(signal) }),
    isSearching: () => [...groups.values()].some(({ alone }) => !alone),
    run: (signal) =>
      runTogether(
        // What is asked of one object may take long, and is nothing that others wait for.
        [(signal) => examineDue(false, signal), (signal) => examineDue(true, signal)],
        signal,
      ),
  }
}
