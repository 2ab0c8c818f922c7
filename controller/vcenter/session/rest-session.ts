/** A client for vCenter's REST interface, with a session that is created when first needed. */
import type { VCenterConfig } from '../../config/config.ts'
import { VCenterError } from '../wire/errors.ts'
import {
  createRESTTransport,
  isNotFound,
  type RESTCall,
  RESTError,
  type RESTTransportOptions,
} from '../wire/rest.ts'
import type { LoginLimiter } from './login-limiter.ts'

const SESSION_HEADER = 'vmware-api-session-id'
/** Characters that can be sent in a header. */
const SESSION_ID = /^[\x21-\x7e]{1,256}$/

export interface RESTClient {
  /** Calls and returns the answer. Logs in if needed, and once more if the session has ended. Throws a VCenterError. */
  call(call: RESTCall): Promise<unknown>
  logout(signal: AbortSignal): Promise<void>
}

export interface RESTClientOptions extends RESTTransportOptions {
  /** The password is read at each login, as it may change. */
  readonly config: VCenterConfig
  readonly logins: LoginLimiter
  /** For login calls. It outlives the signals of other calls, so that a new session is known and can be ended. */
  readonly loginSignal: AbortSignal
  /** The SOAP session's identifier, undefined while there is none. Used only with a session manager. */
  readonly soapSession: () => string | undefined
}

/**
 * With a session manager there is nothing to log in with: the cloned SOAP session is sent, as the CPI does (its function
 * withTagsClient, v1.36.0). It is SOAP's to end.
 *
 * Not for concurrent calls: they would log in more than once.
 */
export function createRESTClient(options: RESTClientOptions): RESTClient {
  const { connection, config, logins, loginSignal, soapSession } = options
  const { send, switchInterface } = createRESTTransport(options)
  let session: string | undefined

  /**
   * A vCenter without an interface answers 404 before it checks the credential. While its services start, it may answer so
   * for both interfaces, so the other one is always tried too.
   */
  async function openSession(headers: Record<string, string>): Promise<unknown> {
    const open = () => send('POST', 'session', { headers, signal: loginSignal })
    try {
      return await open()
    } catch (error) {
      if (!isNotFound(error)) throw error
    }
    switchInterface()
    return await open()
  }

  /** Whether not the object but the interface is missing, as after an upgrade of vCenter. */
  async function isGone(key: string, signal: AbortSignal): Promise<boolean> {
    try {
      await send('GET', 'session', { headers: { [SESSION_HEADER]: key }, signal })
      return false
    } catch (error) {
      return isNotFound(error)
    }
  }

  async function login(): Promise<string> {
    return await logins.login({
      account: config,
      by: 'REST',
      signal: loginSignal,
      async send(password) {
        const authorization = `Basic ${Buffer.from(`${config.user}:${password.reveal()}`).toString('base64')}`
        try {
          session = toSession(await openSession({ authorization }))
        } catch (error) {
          if (!(error instanceof RESTError && error.status === 401)) throw error
          throw new VCenterError('InvalidLogin', error.message, { cause: error })
        }
        return session
      },
    })
  }

  function toSession(value: unknown): string {
    if (typeof value === 'string' && SESSION_ID.test(value)) return value
    throw new VCenterError(
      'MalformedAnswer',
      `${connection.server} answers to the REST login without a usable session`,
    )
  }

  async function callInSoapSession(
    attempt: (key: string) => Promise<unknown>,
    signal: AbortSignal,
  ): Promise<unknown> {
    const key = soapSession()
    if (key === undefined) {
      throw new VCenterError('SessionLost', `${connection.server} has ended the session; a new clone is made`)
    }
    try {
      return await attempt(key)
    } catch (error) {
      if (error instanceof RESTError && error.status === 401) throw refusesSoapSession(connection.server)
      if (!isNotFound(error) || !(await isGone(key, signal))) throw error
      switchInterface()
      return await attempt(key)
    }
  }

  return {
    async call({ method, resource, ...call }) {
      const attempt = (key: string) => {
        const headers = { [SESSION_HEADER]: key, 'content-type': 'application/json' }
        return send(method, resource, { ...call, headers })
      }
      if (config.sessionManager !== undefined) return await callInSoapSession(attempt, call.signal)
      if (session === undefined) return await attempt(await login())
      try {
        return await attempt(session)
      } catch (error) {
        const ended = error instanceof RESTError && error.status === 401
        if (!ended && !(isNotFound(error) && (await isGone(session, call.signal)))) throw error
        session = undefined
        return await attempt(await login())
      }
    },
    async logout(signal) {
      if (session === undefined) return
      const headers = { [SESSION_HEADER]: session }
      session = undefined
      await send('DELETE', 'session', { headers, signal })
    },
  }
}

function refusesSoapSession(server: string): VCenterError {
  return new VCenterError(
    'SessionLost',
    `${server} does not take the session of the session manager at its REST interface, where tags are (HTTP status 401); ` +
      'this needs vSphere 8.0 U3 or later, else give user and password in place of the session manager',
  )
}
