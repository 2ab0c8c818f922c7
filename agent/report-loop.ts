import { WITHOUT_NONCE } from './claim.ts'
import type { Failure } from './failure.ts'
import type { Logger } from './log.ts'
import type { Reporter, ReportOutcome } from './send-report.ts'
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
  const logOutcome = createOutcomeLog(log)
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
      logOutcome(outcome)
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
  createOutcomeLog(log)(outcome)
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

/** Logs failures: each cause once when it begins and once when it is over. */
function createOutcomeLog(log: Logger): (outcome: ReportOutcome) => void {
  let failing: Failure | undefined
  let attempts = 0
  let unreadable = new Set<string>()
  let claim: string | undefined

  const fail = ({ failure }: Extract<ReportOutcome, { ok: false }>) => {
    attempts++
    if (failing !== undefined && keyOf(failing) === keyOf(failure)) return
    failing = failure
    log.warn({ cause: failure.cause, reason: failure.message, next: failure.next }, 'the report was not sent')
  }
  const succeed = ({ identity, spec, changed }: Extract<ReportOutcome, { ok: true }>) => {
    const node = identity.nodeName
    if (failing !== undefined) log.info({ node, cause: failing.cause, attempts }, 'reports are sent again')
    failing = undefined
    attempts = 0
    const found = new Set<string>()
    for (const { fact, reason, message } of spec.unreadable ?? []) {
      const cause = `${fact}/${reason}`
      found.add(cause)
      if (!unreadable.has(cause))
        log.warn({ node, fact, cause: reason, reason: message }, 'a fact cannot be read')
    }
    for (const cause of unreadable)
      if (!found.has(cause)) log.info({ node, cause }, 'a fact can be read again')
    unreadable = found
    if (claim !== spec.claim.reason) {
      const { reason, message } = spec.claim
      const fields = { node, cause: reason, reason: message }
      if (!spec.claim.written) log.warn(fields, 'the claim is not written')
      else if (reason === WITHOUT_NONCE) log.warn(fields, 'the claim is written without a nonce')
      else if (claim !== undefined) log.info({ node }, 'the claim is written')
    }
    claim = spec.claim.reason
    const fields = {
      node,
      nodeUID: identity.nodeUID,
      machine: spec.machine.serialUUID,
      claim: spec.claim.reason,
    }
    log[changed ? 'info' : 'debug'](fields, 'report sent')
  }
  return (outcome) => (outcome.ok ? succeed(outcome) : fail(outcome))
}

function keyOf({ key, cause }: Failure): string {
  return key ?? cause
}
