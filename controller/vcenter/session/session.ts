/** The SOAP session of a vCenter: created once, kept alive, resumed after a failure, and ended. */
import type { Clock } from '../../../agent/shared/clock.ts'
import type { VCenterConfig } from '../../config/config.ts'
import type { Secret } from '../../config/secret.ts'
import type { Logger } from '../../lib/log.ts'
import type { PropertyReader } from '../collect/retrieve-properties.ts'
import type { Timings } from '../timings.ts'
import {
  aloneOrThrow,
  DeadlineError,
  isSessionLost,
  SessionManagerError,
  SoapFault,
  VCenterError,
  wasTurnedAway,
} from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { element, type SoapCall, type SoapClient, toReference } from '../wire/soap.ts'
import { child, textOf, type XMLElement } from '../wire/xml.ts'
import type { RequestTicket } from './clone-ticket.ts'
import { endSessionsOf } from './left-behind-sessions.ts'
import type { Pause } from './login-accounts.ts'
import type { LoginLimiter } from './login-limiter.ts'
import { createWatchedSoap } from './watched-soap.ts'

/** Where every client begins. */
export const SERVICE_INSTANCE: ManagedObjectReference = { type: 'ServiceInstance', value: 'ServiceInstance' }

/** Calls for which vCenter may ask a directory. */
const LOGINS: ReadonlySet<string> = new Set(['Login', 'CloneSession'])

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
  /** It has the names of custom attributes. */
  readonly customFieldsManager?: ManagedObjectReference | undefined
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
  /**
   * Ends the sessions that unanswered logins and failed logouts may have left in vCenter, if the account may do so; makes no call
   * if there were none. To be called in a session, now and then: vCenter may still be working on such a login. Throws if the
   * session has ended, or vCenter does not answer.
   */
  endLost(reader: PropertyReader, signal: AbortSignal): Promise<void>
  /** Whether an unanswered login may have left a session that {@link endLost} ends. */
  mayHaveLost(): boolean
  /** Ends the session, if there is one. */
  logout(signal: AbortSignal): Promise<void>
}

export function createSession(options: {
  readonly soap: SoapClient
  /** The password is read at each login, as it may change. */
  readonly config: VCenterConfig
  readonly timings: Timings
  readonly clock: Clock
  readonly logger: Logger
  readonly logins: LoginLimiter
  /** Distinguishes this client's sessions from all others in vCenter's list. */
  readonly userAgent: string
  /** Whether the client was another process's before, or another inventory's, which may have left a session; by default not. */
  readonly hasPredecessors?: boolean
  /** Used with a session manager alone. */
  readonly requestTicket: RequestTicket
  /**
   * For the login call only. It outlives the signal passed to `ensure`, so that a session which vCenter has just created is
   * known and can be ended.
   */
  readonly loginSignal: AbortSignal
  /** Called while a login takes longer than any other call may. */
  readonly onSlowLogin?: () => void
}): Session {
  const { soap, config, timings, clock, logger, logins, userAgent, requestTicket, loginSignal } = options
  const { onSlowLogin = () => undefined, hasPredecessors = false } = options
  let content: ServiceContent | undefined
  /** Whether the content is that of the vCenter in which the session is. */
  let isItsContent = false
  let latest: Login | undefined
  /** The cookie of the last login: there may be one before it, too. */
  let loggedIn: string | undefined
  /** When a session may last have been left behind: a login went unanswered, or a logout failed. Monotonic. */
  let leftBehind: number | undefined
  const { callDeadline: deadline, readDeadline, loginDeadline } = timings
  /** A directory may be slow, while vCenter itself is well. */
  const patient = createWatchedSoap({ soap: { ...soap, call: callOnce }, ask: answers, timings, clock })

  async function callOnce(call: SoapCall): Promise<XMLElement> {
    try {
      return await soap.call(call)
    } catch (error) {
      // Where the signal has aborted, it is a small call beside this one that took too long.
      const isTooSlow = error instanceof DeadlineError && LOGINS.has(call.operation) && !call.signal.aborted
      throw isTooSlow ? tooSlow(soap.server, loginDeadline) : error
    }
  }

  async function keepAlive(signal: AbortSignal): Promise<void> {
    await soap.call({ operation: 'CurrentTime', target: SERVICE_INSTANCE, deadline, signal })
  }

  /** Before a login, a refusal shows that vCenter answers. */
  async function answers(signal: AbortSignal): Promise<void> {
    await keepAlive(signal).catch((error: unknown) => {
      if (!isSessionLost(error)) throw error
    })
  }

  async function retrieveContent(signal: AbortSignal): Promise<ServiceContent> {
    const operation = 'RetrieveServiceContent'
    return readContent(
      soap.server,
      await patient.call({ operation, target: SERVICE_INSTANCE, deadline: readDeadline, signal }),
    )
  }

  async function login({ sessionManager: target, instanceUUID }: ServiceContent): Promise<void> {
    let isAfterUnanswered = false
    const user = await logins.login({
      account: config,
      by: 'SOAP',
      instanceUUID,
      signal: loginSignal,
      async send(password, number, afterUnanswered) {
        isAfterUnanswered = afterUnanswered
        const { sessionManager: url } = config
        const login = () => (url === undefined ? loginAs(password, target) : clone(url, password, target))
        const response = await tellWhereSlow(login)
        const userSession = child(response, 'returnval')
        latest = { number, key: textOf(userSession, 'key') }
        return url === undefined ? config.user : textOf(userSession, 'userName')
      },
    })
    loggedIn = soap.sessionID()
    if (hasPredecessors && isAfterUnanswered) leftBehind = clock.monotonic()
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

  /** A login has more time than a small call, and until it ends nobody else would say what is waited for. */
  async function tellWhereSlow<T>(login: () => Promise<T>): Promise<T> {
    const answered = new AbortController()
    const overdue = clock.sleep(deadline, answered.signal).then(() => {
      if (!answered.signal.aborted) onSlowLogin()
    })
    try {
      return await login()
    } finally {
      answered.abort()
      await overdue
    }
  }

  async function open(operation: string, target: ManagedObjectReference, parameters: string) {
    const call = { operation, target, parameters, deadline: loginDeadline, signal: loginSignal }
    try {
      return await patient.call(call)
    } catch (error) {
      // A proxy in front of vCenter may repeat the password or the ticket in its message.
      if (error instanceof SoapFault) throw new SoapFault(error.fault, '', error.object)
      if (!wasTurnedAway(error)) leftBehind = clock.monotonic()
      throw error
    }
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

  /** Returns whether it has ended: what vCenter does not end though it answers must not keep us from the next session. */
  async function end({ sessionManager: target }: ServiceContent, signal: AbortSignal): Promise<boolean> {
    const error = await soap.call({ operation: 'Logout', target, deadline, signal }).then(
      () => undefined,
      (error: unknown) => error,
    )
    const hasEnded = error === undefined || isSessionLost(error)
    if (!hasEnded) {
      if (!(error instanceof VCenterError)) throw error
      await answers(signal)
      leftBehind = clock.monotonic()
      logger.warn(
        { error: error.message },
        'a session could not be ended: it is ended from the next one, or runs out by itself',
      )
    }
    soap.forgetSession()
    return hasEnded
  }

  return {
    async ensure(signal) {
      const paused = pause()
      if (paused !== undefined) throw paused.error
      // A lost login answer may have left a session of which only the cookie arrived.
      if (content !== undefined && soap.sessionID() !== undefined && soap.sessionID() !== loggedIn)
        await end(content, signal)
      if (content === undefined || !(await stillAlive(signal))) {
        signal.throwIfAborted()
        // Read again for each session: a restored or replaced vCenter has other objects at the same address.
        isItsContent = false
        content = await retrieveContent(signal)
        await login(content)
        signal.throwIfAborted()
      }
      // A login may take minutes, and be answered by another vCenter than was asked before it: its VMs would pass for the other's.
      if (!isItsContent) content = await retrieveContent(signal)
      isItsContent = true
      return content
    },
    lastLogin: () => latest,
    lost() {
      soap.forgetSession()
    },
    pause,
    keepAlive,
    async endLost(reader, signal) {
      const own = latest?.key
      if (leftBehind === undefined || content === undefined || own === undefined) return
      // vCenter does not work on a login for longer than this, so this is the last look.
      if (clock.monotonic() - leftBehind > loginDeadline) leftBehind = undefined
      const { sessionManager } = content
      try {
        const ended = await endSessionsOf({ soap, reader, sessionManager, userAgent, own, timings, signal })
        if (ended > 0) logger.info({ ended }, 'sessions that were left behind ended')
      } catch (error) {
        // It is no reason to do without the session that works.
        const { reason, message } = await aloneOrThrow(error, keepAlive, signal)
        const mayNot = reason === 'NoPermission'
        if (mayNot) leftBehind = undefined
        logger.info(
          { error: message },
          mayNot
            ? 'sessions that were left behind expire by themselves: the account lacks the privilege to end them'
            : 'sessions that were left behind could not be ended',
        )
      }
    },
    mayHaveLost: () => leftBehind !== undefined,
    async logout(signal) {
      if (content === undefined || soap.sessionID() === undefined) return
      if (await end(content, signal)) logger.info('logged out')
    },
  }
}

function tooSlow(server: string, deadline: number): VCenterError {
  return new DeadlineError(
    `${server} took a login but did not answer it within ${deadline / 1000} s, which does not tell whether the password is ` +
      'right; check the state of its services and of its identity source',
    false,
  )
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
    customFieldsManager: toReference(child(value, 'customFieldsManager')),
  }
}
