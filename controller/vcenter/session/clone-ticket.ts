/**
 * Asks a session manager for a clone ticket. That is a service beside vCenter, which keeps a session there and shares it
 * with many clusters (the CPI's docs/book/vc_shared_sessions.md; its package vclib, v1.36.0): GET with a bearer token, and
 * as answer `{"token": "cst-..."}`, the ticket, good for one SessionManager.CloneSession.
 *
 * Its URL comes from a Secret, unchecked: messages name its host alone.
 */
import type { Clock } from '../../../agent/shared/clock.ts'
import type { Trust } from '../../config/config.ts'
import { Secret } from '../../config/secret.ts'
import { type HTTPAnswer, type openConnection, readText } from '../wire/connection.ts'
import { DeadlineError, SessionManagerError, VCenterError } from '../wire/errors.ts'

/** Gets a ticket. `url` is that of `VCenterConfig.sessionManager`, `token` what it asks for. */
export type RequestTicket = (url: string, token: Secret, signal: AbortSignal) => Promise<Secret>

/** Bytes; an answer has some hundred. */
const MAX_BYTES = 64 << 10
/** What can be a ticket. vCenter's are of a hundred characters or so. */
const TICKET = /^[\x21-\x7e]{1,4096}$/

/**
 * Requests tickets, one connection for each. Follows no redirect: the token is for the configured host alone.
 *
 * The function throws a VCenterError: `InvalidLogin` where the token is refused, else a {@link SessionManagerError}, and the
 * signal's reason when the signal aborts.
 */
export function createTicketRequests(options: {
  /** How the vCenter is trusted: the CA files that are given for it count for its session manager, too. */
  readonly trust: Trust
  readonly userAgent: string
  /** Milliseconds for one request, connection and body included. */
  readonly deadline: number
  readonly clock: Clock
  readonly openConnection: typeof openConnection
}): RequestTicket {
  const { trust, userAgent, deadline, clock, openConnection } = options
  const pem = trust.kind === 'ca' ? trust.pem : undefined
  return async (text, token, signal) => {
    const url = new URL(text)
    const connection = openConnection({
      server: url.hostname.replace(/^\[(.*)\]$/, '$1'),
      port: Number(url.port || 443),
      trust: { kind: 'system and CA', pem },
      userAgent,
      clock,
    })
    const headers = { authorization: `Bearer ${token.reveal()}`, accept: 'application/json' }
    const path = `${url.pathname}${url.search}`
    try {
      const request = { method: 'GET', path, headers, deadline, signal } as const
      return await connection.request(request, readTicket)
    } catch (error) {
      if (!(error instanceof VCenterError) || error.reason === 'InvalidLogin') throw error
      throw failed(connection.server, error, deadline)
    } finally {
      await connection.close()
    }
  }
}

async function readTicket({ status, body }: HTTPAnswer): Promise<Secret> {
  if (status === 401) throw new VCenterError('InvalidLogin', 'HTTP status 401')
  if (status !== 200) throw unusable(`with HTTP status ${status}; ${adviceFor(status)}`)
  const text = await readText(body, MAX_BYTES, () =>
    unusable(`with more than ${MAX_BYTES >> 10} kB; ${CHECK_URL}`),
  )
  const ticket = ticketIn(text)
  if (ticket === undefined) throw unusable(`without a ticket, {"token": "..."} is expected; ${CHECK_URL}`)
  return new Secret(ticket)
}

/** Not valibot, nor the error of the parser: both would quote what may be a ticket. */
function ticketIn(text: string): string | undefined {
  try {
    const document: unknown = JSON.parse(text)
    const token = document instanceof Object && 'token' in document ? document.token : undefined
    return typeof token === 'string' && TICKET.test(token) ? token : undefined
  } catch {
    return undefined
  }
}

const CHECK_URL = 'check its URL'

function adviceFor(status: number): string {
  if (status >= 300 && status < 400) return 'redirects are not followed: configure the URL that it leads to'
  // The CPI's own example answers so when it gets no ticket from vCenter.
  if (status === 403)
    return 'check the token, and the log of the session manager for whether vCenter gives it tickets'
  return status < 500 ? CHECK_URL : 'see its log'
}

function unusable(how: string): VCenterError {
  return new VCenterError('MalformedAnswer', `it answers ${how}`)
}

/** Reasons for which most often nothing was sent; a connection that breaks later is `Unreachable`, too. */
const UNSENT: ReadonlySet<string> = new Set(['Unreachable', 'CertificateNotTrusted', 'NotVCenter'])

/** Without the cause: that may name the path. */
function failed(server: string, error: VCenterError, deadline: number): SessionManagerError {
  const why =
    error instanceof DeadlineError
      ? `it did not answer within ${deadline / 1000} s; see its log`
      : error.message
  return new SessionManagerError(`no ticket from the session manager ${server}: ${why}`, {
    asked: !UNSENT.has(error.reason),
  })
}
