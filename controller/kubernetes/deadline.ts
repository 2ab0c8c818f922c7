import type { Clock } from '../../agent/shared/clock.ts'

export interface Deadline {
  /** Aborts with the outer signal, or with an Error when the time is over. */
  readonly signal: AbortSignal
  /** Counts from now on, and these milliseconds. */
  renew(ms: number): void
  /** Lets go of timer and outer signal. */
  release(): void
}

/**
 * A signal for one request. AbortSignal.any() and AbortSignal.timeout() would nearly do, but leave a trace on the outer
 * signal for each request until the garbage collector comes by, cannot be renewed and know no other clock.
 */
export function createDeadline(clock: Clock, ms: number, outer: AbortSignal): Deadline {
  const controller = new AbortController()
  const timer = new AbortController()
  let allowed = ms
  let renewed = clock.monotonic()

  const abort = () => controller.abort(outer.reason)
  if (outer.aborted) abort()
  else outer.addEventListener('abort', abort, { once: true })

  async function guard(): Promise<void> {
    for (let left = ms; left > 0; left = renewed + allowed - clock.monotonic()) {
      await clock.sleep(left, timer.signal)
      if (timer.signal.aborted) return
    }
    controller.abort(new Error(`nothing came for ${allowed} ms`))
  }
  void guard()

  return {
    signal: controller.signal,
    renew(next) {
      allowed = next
      renewed = clock.monotonic()
    },
    release() {
      timer.abort()
      outer.removeEventListener('abort', abort)
    },
  }
}
