/** Whether the vCenter answers. Short failures are not shown, because they resolve themselves; `unsteady` tells of those that recur. */
import type { Clock } from '../../agent/shared/clock.ts'
import type { VCenterFailure } from '../types/inventory.ts'
import type { Timings } from './timings.ts'

/** @param onChange called when the shown failure has changed */
export function createConnectionHealth(options: {
  /** Milliseconds from the first failed attempt to reconnect. */
  readonly grace: number
  /** The longest wait before an attempt to reconnect, milliseconds. */
  readonly pause: number
  readonly unsteady: Timings['unsteady']
  readonly clock: Clock
  readonly onChange: () => void
}) {
  const { grace, pause, unsteady, clock, onChange } = options
  let latest: VCenterFailure | undefined
  let shown: VCenterFailure | undefined
  let everAnswered = false
  /** Whether it has answered since the last failure. */
  let answers = false
  /** Failures in a row, each after it had answered, as when all reads succeed and all polls fail. Monotonic. */
  let row: { readonly since: number; readonly last: number; readonly failure: VCenterFailure } | undefined
  let countdown: ReturnType<typeof startCountdown> | undefined

  function show(failure: VCenterFailure | undefined): void {
    if (shown?.reason === failure?.reason && shown?.message === failure?.message) return
    shown = failure
    onChange()
  }

  function count(failure: VCenterFailure): void {
    const last = clock.monotonic()
    const since = row !== undefined && last - row.last <= unsteady.within ? row.since : last
    row = { since, last, failure }
  }

  /** `tried` where reconnecting has failed: until then it is we who wait. */
  function startCountdown(tried: boolean) {
    const stop = new AbortController()
    const done = clock.sleep(tried ? grace : grace + pause, stop.signal).then(() => {
      if (!stop.signal.aborted) show(latest)
    })
    return { stop, done, tried }
  }

  return {
    /** The failure to show; undefined while the vCenter answers or has failed for less than the grace period. */
    failure: () => shown,
    /** Why it does not answer, shown or not. */
    latest: () => latest,
    /** `lasting`: shown without a grace period, as is any failure before the first answer. */
    failed(failure: VCenterFailure, lasting: boolean): void {
      latest = failure
      const tried = !answers
      if (answers) count(failure)
      answers = false
      if (shown !== undefined || lasting || !everAnswered) show(failure)
      else if (countdown?.tried !== true) {
        countdown?.stop.abort()
        countdown = startCountdown(tried)
      }
    },
    recovered(): void {
      everAnswered = true
      answers = true
      latest = undefined
      countdown?.stop.abort()
      countdown = undefined
      show(undefined)
    },
    /** Whether it answers: false before the first answer and while a failure is shown. */
    connected: (): boolean => everAnswered && shown === undefined,
    /** The latest failure where it fails again and again, although it answers in between; see {@link Timings.unsteady}. */
    unsteady(): VCenterFailure | undefined {
      if (row === undefined || row.last - row.since < unsteady.lasting) return undefined
      return clock.monotonic() - row.last <= unsteady.within ? row.failure : undefined
    },
    /** Stops the timer of the grace period. */
    async close(): Promise<void> {
      const ending = countdown
      countdown = undefined
      ending?.stop.abort()
      await ending?.done
    },
  }
}
