import type { Logger } from './log.ts'
import { createOutcomeLog } from './outcome-log.ts'
import type { Reporter, ReportOutcome } from './reporter.ts'
import { createBackoff } from './shared/backoff.ts'
import type { Clock } from './shared/clock.ts'

export interface ReportLoopOptions {
  readonly reporter: Reporter
  readonly clock: Omit<Clock, 'now'>
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly log: Logger
  /** Milliseconds between two full reports, at least; up to an eighth more is added at random. */
  readonly refresh: number
  /** Milliseconds between two looks at the machine. */
  readonly look: number
  /** Returns memory to the system before a pause. */
  readonly trim: () => void
}

/** Waits between attempts, milliseconds; the first are short, for a machine that boots faster than it registers. */
const BACKOFF = { base: 1000, max: 30_000 }
/** Waits between attempts to write a claim, milliseconds: each may cost a process that hangs. */
const CLAIM_BACKOFF = { base: 5000, max: 120_000 }
/** Time between two trims while idle, milliseconds: looks slowly leave garbage. */
const TRIM_EVERY = 300_000
/** The longest wait that is granted to a server, milliseconds. */
const MAX_RETRY_AFTER = 300_000

/**
 * Reports at start, when the machine has changed, and at each refresh, until the signal aborts. Never gives up. Retries in
 * between to write a claim that could not be written.
 */
export async function run(options: ReportLoopOptions, signal: AbortSignal): Promise<void> {
  const { reporter, clock, log, random } = options
  const backoff = createBackoff({ ...BACKOFF, random })
  const claim = createClaimTimer(options)
  const outcomes = createOutcomeLog(log)
  let refreshAt = clock.monotonic()
  let behind = true
  let trimmedAt = clock.monotonic()
  while (!signal.aborted) {
    const due = clock.monotonic() >= refreshAt
    if (due) {
      reporter.forget()
      refreshAt = clock.monotonic() + options.refresh * (1 + random() / 8)
    } else if (claim.due()) await reporter.retryClaim()
    let wait = options.look
    let trim = clock.monotonic() - trimmedAt >= TRIM_EVERY
    if (due || behind || reporter.changed()) {
      const outcome = await reporter.report()
      if (signal.aborted) return
      outcomes.take(outcome)
      behind = !outcome.ok
      if (outcome.ok) backoff.reset()
      else wait = waitAfter(outcome, backoff.next())
      trim = true
    }
    claim.settle()
    if (trim) {
      options.trim()
      trimmedAt = clock.monotonic()
    }
    // A pause that the server asks for is kept in full.
    const next = behind ? wait : Math.min(wait, refreshAt - clock.monotonic(), claim.wait())
    await clock.sleep(Math.max(0, next), signal)
  }
}

/** Reports once; whether the report was sent. */
export async function runOnce({
  reporter,
  log,
}: Pick<ReportLoopOptions, 'reporter' | 'log'>): Promise<boolean> {
  const outcome = await reporter.report()
  createOutcomeLog(log).take(outcome)
  return outcome.ok
}

/** When to retry the claim; never while none is pending. */
function createClaimTimer({ reporter, clock, random }: ReportLoopOptions) {
  const backoff = createBackoff({ ...CLAIM_BACKOFF, random })
  let at = Number.POSITIVE_INFINITY
  return {
    due: () => clock.monotonic() >= at,
    wait: () => at - clock.monotonic(),
    /** To be called after each iteration. */
    settle() {
      if (!reporter.claimPending()) {
        backoff.reset()
        at = Number.POSITIVE_INFINITY
      } else if (at === Number.POSITIVE_INFINITY || clock.monotonic() >= at)
        at = clock.monotonic() + backoff.next()
    },
  }
}

function waitAfter(outcome: Extract<ReportOutcome, { ok: false }>, wait: number): number {
  const asked = outcome.failure.retryAfter ?? 0
  return Math.max(wait, Math.min(asked, MAX_RETRY_AFTER))
}
