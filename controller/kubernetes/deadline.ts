import type { Clock } from '../../agent/shared/clock.ts'

export interface Deadline {
  /** Aborts with the outer signal, or with a {@link NoAnswerError} when the time is over. */
  readonly signal: AbortSignal
  /** Restarts the deadline: it ends this many milliseconds from now. */
  renew(ms: number): void
  /** Releases the timer and the outer signal. */
  release(): void
}

/** What a deadline aborts with. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError'
  /** How long nothing came, milliseconds. */
  readonly ms: number

  constructor(ms: number) {
    super(`nothing came for ${ms} ms`)
    this.ms = ms
  }
}

/** Without a reason, abort() would make an error with a stack for each request. */
const RELEASED = 'released'

/**
 * A signal for one request. AbortSignal.any() and AbortSignal.timeout() would almost do, but they leave something on the
 * outer signal for each request until garbage collection, cannot be renewed, and use no other clock.
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
    controller.abort(new NoAnswerError(allowed))
  }
  void guard()

  return {
    signal: controller.signal,
    renew(next) {
      allowed = next
      renewed = clock.monotonic()
    },
    release() {
      timer.abort(RELEASED)
      outer.removeEventListener('abort', abort)
    },
  }
}
