import { messageOf } from '../../agent/shared/result.ts'
import type { Task } from './tasks.ts'

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
