/** The SOAP session of a vCenter: created once, kept alive, resumed after a failure, and ended. */

import type { Clock } from '../../../agent/shared/clock.ts'
import type { VCenterConfig } from '../../config/config.ts'
import type { Secret } from '../../config/secret.ts'
import type { Logger } from '../../lib/log.ts'
import type { Timings } from '../timings.ts'
import { isSessionLost, SessionManagerError, SoapFault, VCenterError } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { element, type SoapClient, toReference } from '../wire/soap.ts'
import { child, textOf, type XMLElement } from '../wire/xml.ts'
import type { RequestTicket } from './clone-ticket.ts'
import type { Pause } from './login-accounts.ts'
import type { LoginLimiter } from './login-limiter.ts'

/** Where every client begins. */
export const SERVICE_INSTANCE: ManagedObjectReference = { type: 'ServiceInstance', value: 'ServiceInstance' }

/** vCenter's own managed objects, as it names them. */
export interface ServiceContent {
  /** `about.instanceUuid`, lower case. */
  readonly instanceUUID: string
  readonly rootFolder: ManagedObjectReference
  readonly propertyCollector: ManagedObjectReference
  readonly viewManager: ManagedObjectReference
  readonly searchIndex: ManagedObjectReference
  readonly sessionManager: ManagedObjectReference
  readonly authorizationManager: ManagedObjectReference
}

/** A login that vCenter has accepted. */
export interface Login {
  /** Unique among the logins of this process, across all inventories. */
  readonly number: number
  /** vCenter's key of the session, for checking privileges; undefined where vCenter did not tell it. */
  readonly key: string | undefined
}

export interface Session {
  /**
   * Logs in, unless the previous session is still alive. Throws a VCenterError; during a {@link pause} throws its error
   * without a call, because each attempt would count toward locking the account (csi#3787).
   */
  ensure(signal: AbortSignal): Promise<ServiceContent>
  /** The last login; undefined before the first. */
  lastLogin(): Login | undefined
  /** To be called when a call failed with NotAuthenticated. */
  lost(): void
  /** Why the configured credential must not be tried now; undefined where it may, or need not: the session may live. */
  pause(): Pause | undefined
  keepAlive(signal: AbortSignal): Promise<void>
  /** Ends the session, if there is one. */
  logout(signal: AbortSignal): Promise<void>
}

export function createSession(options: {
  readonly soap: SoapClient
  /** The password is read at each login, as it may change. */
  readonly config: VCenterConfig
  readonly timings: Timings
  readonly logger: Logger
  readonly logins: LoginLimiter
  /** Used with a session manager alone. */
  readonly requestTicket: RequestTicket
  /**
   * For the login call only. It outlives the signal passed to `ensure`, so that a session which vCenter has just created is
   * known and can be ended.
   */
  readonly loginSignal: AbortSignal
}): Session {
  const { soap, config, timings, logger, logins, requestTicket, loginSignal } = options
  let content: ServiceContent | undefined
  let latest: Login | undefined
  /** The cookie of the last login: there may be one before it, too. */
  let loggedIn: string | undefined
  const { callDeadline: deadline } = timings

  async function keepAlive(signal: AbortSignal): Promise<void> {
    await soap.call({ operation: 'CurrentTime', target: SERVICE_INSTANCE, deadline, signal })
  }

  async function login({ sessionManager: target, instanceUUID }: ServiceContent): Promise<void> {
    const user = await logins.login({
      account: config,
      by: 'SOAP',
      instanceUUID,
      signal: loginSignal,
      async send(password, number) {
        const { sessionManager: url } = config
        const response = await (url === undefined ? loginAs(password, target) : clone(url, password, target))
        const userSession = child(response, 'returnval')
        latest = { number, key: textOf(userSession, 'key') }
        return url === undefined ? config.user : textOf(userSession, 'userName')
      },
    })
    loggedIn = soap.sessionID()
    logger.info({ user }, 'logged in')
  }

  async function loginAs(password: Secret, target: ManagedObjectReference): Promise<XMLElement> {
    const parameters = element('userName', config.user) + element('password', password.reveal())
    return await open('Login', target, parameters)
  }

  /** As the CPI does: a ticket of the session manager, and with that a session which is a copy of its own. */
  async function clone(url: string, token: Secret, target: ManagedObjectReference): Promise<XMLElement> {
    const ticket = await requestTicket(url, token, loginSignal)
    try {
      return await open('CloneSession', target, element('cloneTicket', ticket.reveal()))
    } catch (error) {
      if (!(error instanceof SoapFault && error.reason === 'InvalidLogin')) throw error
      throw new SessionManagerError(
        `${soap.server} refuses the ticket of its session manager; check that this one serves that very vCenter, and ` +
          'has a new ticket for each request',
        { asked: true },
      )
    }
  }

  async function open(operation: string, target: ManagedObjectReference, parameters: string) {
    const call = { operation, target, parameters, deadline, signal: loginSignal }
    return await soap.call(call).catch((error: unknown) => {
      // A proxy in front of vCenter may repeat the password or the ticket in its message.
      throw error instanceof SoapFault ? new SoapFault(error.fault, '', error.object) : error
    })
  }

  function pause(): Pause | undefined {
    const holdsSession = loggedIn !== undefined && soap.sessionID() === loggedIn
    return holdsSession ? undefined : logins.pause(config, 'SOAP')
  }

  async function stillAlive(signal: AbortSignal): Promise<boolean> {
    if (soap.sessionID() === undefined) return false
    try {
      await keepAlive(signal)
      return true
    } catch (error) {
      if (!isSessionLost(error)) throw error
      soap.forgetSession()
      return false
    }
  }

  return {
    async ensure(signal) {
      const paused = pause()
      if (paused !== undefined) throw paused.error
      if (content !== undefined && (await stillAlive(signal))) return content
      signal.throwIfAborted()
      // Read again for each session: a restored or replaced vCenter has other objects at the same address.
      const operation = 'RetrieveServiceContent'
      content = readContent(
        soap.server,
        await soap.call({ operation, target: SERVICE_INSTANCE, deadline, signal }),
      )
      await login(content)
      signal.throwIfAborted()
      return content
    },
    lastLogin: () => latest,
    lost() {
      soap.forgetSession()
    },
    pause,
    keepAlive,
    async logout(signal) {
      if (content === undefined || soap.sessionID() === undefined) return
      await soap.call({ operation: 'Logout', target: content.sessionManager, deadline, signal })
      soap.forgetSession()
      logger.info('logged out')
    },
  }
}

function readContent(server: string, response: XMLElement): ServiceContent {
  const value = child(response, 'returnval')
  const about = child(value, 'about')
  const apiType = textOf(about, 'apiType')
  if (apiType !== 'VirtualCenter') {
    const what = textOf(about, 'fullName') ?? apiType ?? 'something unnamed'
    throw new VCenterError('NotVCenter', `${server} is ${what}, not a vCenter; give the address of a vCenter`)
  }
  const instanceUUID = textOf(about, 'instanceUuid')
  const found = <T>(part: T | undefined): T => {
    if (part !== undefined) return part
    throw new VCenterError('MalformedAnswer', `${server} answers with a service content that lacks objects`)
  }
  const object = (name: string) => found(toReference(child(value, name)))
  return {
    instanceUUID: found(instanceUUID).toLowerCase(),
    rootFolder: object('rootFolder'),
    propertyCollector: object('propertyCollector'),
    viewManager: object('viewManager'),
    searchIndex: object('searchIndex'),
    sessionManager: object('sessionManager'),
    authorizationManager: object('authorizationManager'),
  }
}

/**
 * A client whose big calls, which may take long, fail as soon as vCenter does not answer small calls either, with the error of
 * the small call.
 */
export function createWatchedSoap(options: {
  readonly soap: SoapClient
  /** A small call; throws where vCenter does not answer. */
  readonly ask: (signal: AbortSignal) => Promise<void>
  readonly timings: Timings
  readonly clock: Clock
}): SoapClient {
  const { soap, ask, timings, clock } = options
  async function watch(signal: AbortSignal, dead: AbortController): Promise<void> {
    for (;;) {
      await clock.sleep(timings.doubt, signal)
      if (signal.aborted) return
      try {
        await ask(signal)
      } catch (error) {
        if (!signal.aborted) dead.abort(error)
        return
      }
    }
  }

  return {
    ...soap,
    async call(call) {
      if (call.longPoll === true || call.deadline <= timings.callDeadline) return await soap.call(call)
      const dead = new AbortController()
      const ended = new AbortController()
      const watching = watch(AbortSignal.any([call.signal, ended.signal]), dead)
      try {
        return await soap.call({ ...call, signal: AbortSignal.any([call.signal, dead.signal]) })
      } finally {
        ended.abort()
        await watching
      }
    },
  }
}
