/** A client for vCenter's REST interface, the older or the newer one, with a session that is created when first needed. */
import type { Clock } from '../../../agent/shared/clock.ts'
import type { VCenterConfig } from '../../config/config.ts'
import { untilAborted } from '../../lib/tasks.ts'
import type { InventoryMetrics } from '../running-inventory.ts'
import type { Timings } from '../timings.ts'
import { type Connection, type HTTPAnswer, readText } from '../wire/connection.ts'
import { isSessionLost, malformed, UnansweredError, VCenterError } from '../wire/errors.ts'
import type { LoginLimiter } from './login-limiter.ts'
import {
  API,
  isAnswerLost,
  isNotFound,
  isSessionID,
  isUnanswered,
  REST,
  RESTAnswerError,
  RESTError,
  type RestInterface,
  SESSION_HEADER,
  sessionIn,
} from './rest-interfaces.ts'

export interface RESTClient {
  /** Calls and returns the answer. Logs in if needed, and once more if the session has ended. Throws a VCenterError. */
  call(call: RESTCall): Promise<unknown>
  logout(signal: AbortSignal): Promise<void>
}

/**
 * With a session manager there is nothing to log in with: the cloned SOAP session is sent, as the CPI does (its function
 * withTagsClient, v1.36.0). It is SOAP's to end.
 */
export function createRESTClient(options: {
  readonly connection: Connection
  readonly timings: Timings
  readonly clock: Clock
  readonly metrics: InventoryMetrics
  /** The password is read at each login, as it may change. */
  readonly config: VCenterConfig
  readonly logins: LoginLimiter
  /** For login calls. It outlives the signals of other calls, so that a new session is known and can be ended. */
  readonly loginSignal: AbortSignal
  /** The SOAP session's identifier, undefined while there is none. Used only with a session manager. */
  readonly soapSession: () => string | undefined
  /** A small call of SOAP. Throws NotAuthenticated where the SOAP session has ended. Used only with a session manager. */
  readonly soapAlive: (signal: AbortSignal) => Promise<void>
}): RESTClient {
  const { connection, timings, clock, metrics, config, logins, loginSignal, soapSession, soapAlive } = options
  /** So far every version of vCenter has the older one. */
  let spoken: RestInterface = REST
  let session: string | undefined
  /** Until when session and interface are believed to be there. Monotonic. */
  let standsUntil = -Infinity
  /** A login under way: calls that come meanwhile wait for it. */
  let opening: Promise<string> | undefined
  /** Logins in a row whose answer was lost: each may have left a session, and vCenter has no list of these. */
  let lostLogins = 0
  /** No login before this. Monotonic. */
  let nextLogin = -Infinity

  /** Sends once and returns the answer. Throws a VCenterError. */
  async function send(
    method: RESTCall['method'] | 'DELETE',
    resource: string,
    request: Omit<RESTCall, 'method' | 'resource'> & { readonly headers: Record<string, string> },
  ): Promise<unknown> {
    const { id, action, body, ofObjects = false, signal } = request
    const small = ofObjects ? timings.callDeadline * OF_OBJECTS : timings.callDeadline
    const { deadline = small } = request
    const headers = { accept: 'application/json', ...request.headers }
    const start = clock.monotonic()
    const { path, value } = spoken
    const done = (outcome: string) =>
      metrics.call(`REST ${method} ${resource}`, outcome, (clock.monotonic() - start) / 1000)
    try {
      const json = body === undefined ? {} : { body: JSON.stringify(body) }
      const document = await connection.request(
        { method, path: path(resource, id, action), headers, deadline, signal, ...json },
        (answer) => {
          if (method === 'POST' && resource === 'session') session = sessionIn(answer) ?? session
          return readAnswer(connection.server, resource, answer)
        },
      )
      done('ok')
      return value(document)
    } catch (error) {
      if (!signal.aborted) done(error instanceof VCenterError ? error.reason : 'Defect')
      throw error
    }
  }

  /** Uses the other of the two interfaces from now on. */
  function switchInterface(): void {
    spoken = spoken === REST ? API : REST
  }

  /**
   * A vCenter without an interface answers 404 before it checks the credential. While its services start, it may answer so
   * for both interfaces, so the other one is always tried too.
   */
  async function openSession(headers: Record<string, string>): Promise<unknown> {
    const open = () =>
      send('POST', 'session', { headers, deadline: timings.loginDeadline, signal: loginSignal })
    try {
      return await open()
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    switchInterface()
    return await open()
  }

  /**
   * Whether session and interface still exist, so that a refusal is about an object. The session may have ended, to which some
   * versions answer 403, or an upgrade of vCenter may have removed the interface. The result holds for a while: in a shared
   * vCenter, objects may come and go.
   */
  async function stands(key: string, signal: AbortSignal): Promise<boolean> {
    if (clock.monotonic() < standsUntil) return true
    const headers = { [SESSION_HEADER]: key }
    const found =
      (await finds(send('GET', 'session', { headers, signal }))) ??
      // The older interface has another call for that in vSphere 6.7, so its absence tells nothing.
      (await finds(send('GET', 'tagging/category', { headers, signal }))) ??
      false
    if (found) standsUntil = clock.monotonic() + SEEN
    return found
  }

  /** Whether the service of the tags answers a small call. Without the right to list categories it is up, too. */
  async function answers(key: string, signal: AbortSignal): Promise<boolean> {
    try {
      await send('GET', 'tagging/category', { headers: { [SESSION_HEADER]: key }, signal })
      return true
    } catch (error) {
      return error instanceof RESTError && error.status === 403
    }
  }

  /**
   * Whether a login may be sent, so that an outage leaves one session and not one for each attempt: after a lost answer, only where
   * the interface answers at all, and after a second one, not before those two sessions have expired.
   */
  async function checkLostLogins(): Promise<void> {
    if (lostLogins === 0) return
    if (clock.monotonic() < nextLogin) throw restsAfterLoss(connection.server)
    try {
      await send('GET', 'session', { headers: {}, signal: loginSignal })
    } catch (error) {
      if (!(error instanceof RESTError)) throw error
      if (error.status >= 500 && !NO_SUCH_CALL.has(error.status)) throw error
    }
  }

  async function login(): Promise<string> {
    await checkLostLogins()
    return await logins.login({
      account: config,
      by: 'REST',
      signal: loginSignal,
      async send(password) {
        const authorization = `Basic ${Buffer.from(`${config.user}:${password.reveal()}`).toString('base64')}`
        try {
          session = toSession(await openSession({ authorization }))
          lostLogins = 0
        } catch (error) {
          if (session === undefined && isAnswerLost(error)) {
            lostLogins += 1
            if (lostLogins > 1) nextLogin = clock.monotonic() + timings.restSessionExpires
          }
          if (!(error instanceof RESTError && error.status === 401)) throw error
          throw new VCenterError('InvalidLogin', error.message, { cause: error })
        }
        return session
      },
    })
  }

  /**
   * In a new session, maybe another call's. An error that remains was not about the session. Where a new session cannot be seen to
   * exist either, looking at one tells nothing.
   */
  async function attemptAnew(
    attempt: (key: string) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const key = session ?? (await open(signal))
    try {
      return await attempt(key)
    } catch (error) {
      if (error instanceof RESTError && LOST.has(error.status) && !(await stands(key, signal)))
        standsUntil = clock.monotonic() + UNMENDED
      throw error
    }
  }

  /** Ends a session that may be there all the same. */
  async function end(key: string, signal: AbortSignal): Promise<void> {
    await send('DELETE', 'session', { headers: { [SESSION_HEADER]: key }, signal }).catch(
      (error: unknown) => {
        if (!(error instanceof RESTError)) throw error
      },
    )
  }

  /** The login goes on when the signal aborts: nobody waits for it then, and what it opens is found by the next call. */
  async function open(signal: AbortSignal): Promise<string> {
    opening ??= login().finally(() => {
      opening = undefined
    })
    return await untilAborted(opening, signal)
  }

  function toSession(value: unknown): string {
    if (isSessionID(value)) return value
    throw new VCenterError(
      'MalformedAnswer',
      `${connection.server} answers to the REST login without a usable session`,
    )
  }

  /** The same for SOAP's session: REST may answer a living one as an ended one. */
  async function soapStands(key: string, signal: AbortSignal): Promise<boolean> {
    if (soapSession() !== key) return false
    if (clock.monotonic() < standsUntil) return true
    try {
      await soapAlive(signal)
    } catch (error) {
      if (!isSessionLost(error)) throw error
      return false
    }
    standsUntil = clock.monotonic() + SEEN
    return true
  }

  async function callInSoapSession(
    attempt: (key: string) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const asked = spoken
    const key = soapSession()
    const ended = () =>
      new VCenterError('SessionLost', `${connection.server} has ended the session; a new clone is made`)
    if (key === undefined) throw ended()
    try {
      return await attempt(key)
    } catch (error) {
      if (error instanceof RESTError && (error.status === 401 || error.status === 403)) {
        if (!(await soapStands(key, signal))) throw ended()
        if (error.status === 401) throw refusesSoapSession(connection.server)
      }
      if (!isNotFound(error) || (await stands(key, signal))) throw error
      // Another call may have found the same.
      if (spoken === asked) switchInterface()
      return await attempt(key)
    }
  }

  return {
    async call({ method, resource, ...call }) {
      const attempt = async (key: string) => {
        const headers = { [SESSION_HEADER]: key, 'content-type': 'application/json' }
        try {
          return await send(method, resource, { ...call, headers })
        } catch (error) {
          const isAlone = call.ofObjects === true && isUnanswered(error) && (await answers(key, call.signal))
          throw isAlone ? new UnansweredError(error) : error
        }
      }
      if (config.sessionManager !== undefined) return await callInSoapSession(attempt, call.signal)
      // Even a session that was opened for this call may have ended when the call arrives.
      const key = session ?? (await open(call.signal))
      try {
        return await attempt(key)
      } catch (error) {
        if (!(error instanceof RESTError && LOST.has(error.status))) throw error
        if (session === key && error.status !== 401) {
          if (await stands(key, call.signal)) throw error
          await end(key, call.signal)
        }
        if (session === key) session = undefined
        return await attemptAnew(attempt, call.signal)
      }
    },
    async logout(signal) {
      // A login that nobody waits for any more may still open a session.
      await opening?.catch(() => undefined)
      if (session === undefined) return
      const headers = { [SESSION_HEADER]: session }
      session = undefined
      await send('DELETE', 'session', { headers, signal })
    },
  }
}

function restsAfterLoss(server: string): VCenterError {
  return new VCenterError(
    'TimedOut',
    `${server} did not answer the last two logins at its REST interface, where tags are; each may have left a session, so the ` +
      "next login waits until they have expired, up to 30 minutes; check the state of vCenter's identity source",
  )
}

function refusesSoapSession(server: string): VCenterError {
  return new VCenterError(
    'SessionLost',
    `${server} does not take the session of the session manager at its REST interface, where tags are (HTTP status 401); ` +
      'this needs vSphere 8.0 U3 or later, else give user and password in place of the session manager',
  )
}

/** Answers to an ended session or a missing interface. All but 401 may be about an object as well. */
const LOST: ReadonlySet<number> = new Set([401, 403, 404])

/** Answers to a call that this version of vCenter does not have: it may have another by the same path. */
const NO_SUCH_CALL: ReadonlySet<number> = new Set([400, 404, 405, 501])

/** Part of a small call's time. When it is over, another call is still answered before the service counts as silent. */
const OF_OBJECTS = 2 / 3

/** Milliseconds for which a session that was seen is assumed to exist. */
const SEEN = 10_000
/** The same where a new session is not seen: each further one would cost a login. */
const UNMENDED = 300_000

/** Whether the call was answered, undefined where there is no such call. Throws where nobody answers. */
async function finds(call: Promise<unknown>): Promise<boolean | undefined> {
  try {
    // Some versions answer null to a call without a session.
    return (await call) !== null
  } catch (error) {
    if (error instanceof RESTError && NO_SUCH_CALL.has(error.status)) return undefined
    if (!(error instanceof RESTError && LOST.has(error.status))) throw error
    return false
  }
}

/** Two thousand objects with a few tags each stay under it. */
const MAX_BYTES = 8 << 20

export interface RESTCall {
  readonly method: 'GET' | 'POST'
  /** As `tagging/tag`, without identifiers; also used in metrics and messages. */
  readonly resource: string
  /** The object of the call; with an action it is in the body too. */
  readonly id?: string
  readonly action?: string
  readonly body?: unknown
  /**
   * Whether an object, tag or category of the call may be why nobody answers it: an UnansweredError is thrown then, where the
   * service of the tags answers another call.
   */
  readonly ofObjects?: boolean
  /** Milliseconds; that of a small call by default. */
  readonly deadline?: number
  readonly signal: AbortSignal
}

async function readAnswer(server: string, resource: string, answer: HTTPAnswer): Promise<unknown> {
  if (answer.status < 200 || answer.status > 299) throw new RESTError(server, resource, answer.status)
  try {
    return await readJSON(server, answer)
  } catch (error) {
    if (!(error instanceof VCenterError) || error.reason !== 'MalformedAnswer') throw error
    throw new RESTAnswerError(resource, error.message, { cause: error })
  }
}

async function readJSON(server: string, { body }: HTTPAnswer): Promise<unknown> {
  const tooLong = () => malformed(`the REST answer of ${server} is longer than ${MAX_BYTES >> 20} MB`)
  const text = await readText(body, MAX_BYTES, tooLong)
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw malformed(`the REST answer of ${server} is not JSON`, error)
  }
}
