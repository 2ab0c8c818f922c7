import { WITHOUT_NONCE } from './claim.ts'
import type { Failure } from './failure.ts'
import type { Logger } from './log.ts'
import type { ReportOutcome } from './reporter.ts'

/** Logs failures: each cause once when it begins and once when it is over. */
export interface OutcomeLog {
  take(outcome: ReportOutcome): void
}

export function createOutcomeLog(log: Logger): OutcomeLog {
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
  return { take: (outcome) => (outcome.ok ? succeed(outcome) : fail(outcome)) }
}

function keyOf({ key, cause }: Failure): string {
  return key ?? cause
}
