/** Errors of a vCenter, with a type of their own where the handling differs. */
import { timeOfDay } from '../../lib/format.ts'
import type { VCenterFailure } from '../../types/inventory.ts'
import type { FailureReason } from '../../types/reasons.ts'
import type { ManagedObjectReference } from './managed-object-reference.ts'

/** A call that failed. The message is one sentence with the next step and holds no secret. */
export class VCenterError extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'VCenterError'
    this.reason = reason
  }
}

/** The error for an answer that no vCenter gives. */
export function malformed(what: string, cause?: unknown): VCenterError {
  return new VCenterError('MalformedAnswer', `${what}; check for a proxy in between`, { cause })
}

/** A login that failed in a way that counts, or that is held back because earlier ones did. */
export class LoginRefused extends VCenterError {
  /** When the next attempt is made, or may be, milliseconds since the epoch. */
  readonly retryAt: number

  /** The `cause` is the refusal; without one no attempt was made. */
  constructor(
    what: string,
    options: ErrorOptions & {
      readonly retryAt: number
      /** Whether the process ends before the next attempt. */
      readonly once?: boolean
      /** The next step, unless `what` has it. */
      readonly advice?: string
      readonly reason?: FailureReason
    },
  ) {
    const { retryAt, advice, once = false, reason = 'InvalidLogin', ...rest } = options
    const sessions = reason === 'TimedOut' ? ' and no more sessions are left open in vCenter' : ''
    const when = `${timeOfDay(retryAt)} so that the account is not locked out${sessions}`
    const next = !once ? `will be retried at ${when}` : rest.cause ? ONE_ATTEMPT : `try again after ${when}`
    super(reason, `${what}; ${next}${advice === undefined ? '' : `; ${advice}`}`, rest)
    this.name = 'LoginRefused'
    this.retryAt = retryAt
  }
}

/** Until when is not said: another process may try another password at once, and this one for a few times. */
const ONE_ATTEMPT = 'this was one attempt, which counts toward locking the account'

/** A session manager that gave no ticket, or one that vCenter refuses. */
export class SessionManagerError extends VCenterError {
  /** Whether it may have got the request: then it may have logged in itself, and been refused. */
  readonly asked: boolean

  constructor(message: string, { asked }: { readonly asked: boolean }) {
    super('SessionManagerFailed', message)
    this.name = 'SessionManagerError'
    this.asked = asked
  }
}

/** A call whose deadline has passed. */
export class DeadlineError extends VCenterError {
  readonly longPoll: boolean

  constructor(message: string, longPoll: boolean) {
    super('TimedOut', message)
    this.name = 'DeadlineError'
    this.longPoll = longPoll
  }
}

/** A connection that broke in the middle of an answer: the answer is lost. */
export class BrokenAnswerError extends VCenterError {
  constructor(message: string, options: ErrorOptions) {
    super('Unreachable', message, options)
    this.name = 'BrokenAnswerError'
  }
}

/** Why everything that was made in a session is created again, although no call has failed. */
export class RenewalError extends VCenterError {
  constructor(message: string) {
    super('UnexpectedFault', message)
    this.name = 'RenewalError'
  }
}

/** An answer that is too long to read: less must be requested at once. */
export class TooLongError extends VCenterError {
  /** Records that were read before. */
  readonly records: number

  constructor(message: string, records: number) {
    super('MalformedAnswer', message)
    this.name = 'TooLongError'
    this.records = records
  }
}

/** How many objects to request after an answer was too long; undefined where it cannot be fewer. */
export function fewerThan(asked: number, { records }: TooLongError): number | undefined {
  return asked <= 1 ? undefined : Math.max(1, Math.min(asked, records) >> 1)
}

/** An answer by its HTTP status alone: of services that start, or of a proxy in front of them. */
export class HTTPStatusError extends VCenterError {
  readonly status: number

  constructor(status: number, message: string, reason: FailureReason = 'Unavailable') {
    super(reason, message)
    this.name = 'HTTPStatusError'
    this.status = status
  }
}

/** No connection was made, so that nothing was sent. */
export class NotSentError extends VCenterError {
  constructor({ reason, message, cause }: VCenterError) {
    super(reason, message, { cause })
    this.name = 'NotSentError'
  }
}

/** With 502, 500, or a status of its own, a proxy may have passed the call on. */
const TURNED_AWAY: ReadonlySet<number> = new Set([404, 429, 503])

/** Whether it is known that nobody has carried out the call, nor refused what was asked. */
export function wasTurnedAway(error: unknown): boolean {
  return error instanceof NotSentError || (error instanceof HTTPStatusError && TURNED_AWAY.has(error.status))
}

/** A fault that vCenter answered with. */
export class SoapFault extends VCenterError {
  /** Name of the fault's type, as `NotAuthenticated`. */
  readonly fault: string
  /** The object the fault names, as ManagedObjectNotFound and NoPermission do. */
  readonly object: ManagedObjectReference | undefined
  /** The privilege that the account lacks, as `System.Read`, where NoPermission names it. */
  readonly privilege: string | undefined

  constructor(fault: string, text: string, object?: ManagedObjectReference, privilege?: string) {
    const about = object === undefined ? '' : ` on ${cut(object.type)} ${cut(object.value)}`
    super(reasonOf(fault), `vCenter answers with the fault ${cut(fault)}${about}${detail(fault, text)}`)
    this.name = 'SoapFault'
    this.fault = fault
    this.object = object
    this.privilege = privilege !== undefined && /^[\w.]{1,100}$/.test(privilege) ? privilege : undefined
  }
}

// In vSphere's types NotAuthenticated extends NoPermission; here they are told apart by name.
function reasonOf(fault: string): FailureReason {
  switch (fault) {
    case 'NotAuthenticated':
      return 'SessionLost'
    case 'InvalidLogin':
    // They extend it (vSphere API), and count toward locking the account.
    case 'PasswordExpired':
    case 'InvalidClientCertificate':
      return 'InvalidLogin'
    case 'NoPermission':
      return 'NoPermission'
    default:
      return 'UnexpectedFault'
  }
}

function detail(fault: string, text: string): string {
  if (fault === 'NoPermission') return '; give the account the role Read-only on the root folder'
  return text === '' || text === fault ? '' : `: ${text.slice(0, 200)}`
}

function cut(name: string): string {
  return name.slice(0, 100)
}

/**
 * A call that was given up because vCenter failed at a small call beside it: what became of it is unknown, whatever the small one
 * was answered with.
 */
export class GivenUpError extends VCenterError {
  constructor(beside: VCenterError) {
    // A fault of the small call is none of this one.
    const isFault = beside instanceof SoapFault
    const next = isFault ? '; check the state of its services' : ''
    super(
      isFault ? 'Unavailable' : beside.reason,
      `a call was given up, because a small one beside it failed: ${beside.message}${next}`,
      { cause: beside },
    )
    this.name = 'GivenUpError'
  }
}

/** No answer, or none of vCenter's own, to a call about certain objects, while other calls are answered. */
export class UnansweredError extends VCenterError {
  constructor(cause: VCenterError) {
    super(cause.reason, cause.message, { cause })
    this.name = 'UnansweredError'
  }

  /** The same, in words that name the object. */
  about(object: string): UnansweredError {
    return new UnansweredError(
      new VCenterError(
        this.reason,
        `vCenter answers other calls, but none about ${object}: ${this.message}; it is asked for again at growing intervals`,
        { cause: this },
      ),
    )
  }
}

/** Whether the session has ended, and with it everything created in it. */
export function isSessionLost(error: unknown): boolean {
  return error instanceof SoapFault && error.fault === 'NotAuthenticated'
}

/**
 * NotAuthenticated about one object alone, because the session is known to be alive: logging in again would not help, and
 * would leave a session behind.
 */
export function inLivingSession({ fault, object, privilege }: SoapFault): SoapFault {
  return new SoapFault(`${fault} although the session is alive`, '', object, privilege)
}

const SESSION_OBJECTS = new Set(['PropertyCollector', 'PropertyFilter', 'ListView', 'ContainerView', 'View'])

/**
 * Whether the collector, its filter or a view must be created again: one is gone, its wait was canceled, or all are renewed. It
 * says nothing about any VM.
 */
export function isRebuild(error: unknown): boolean {
  if (error instanceof RenewalError) return true
  if (!(error instanceof SoapFault)) return false
  if (error.fault === 'RequestCanceled' || error.fault === 'InvalidCollectorVersion') return true
  return error.fault === 'ManagedObjectNotFound' && SESSION_OBJECTS.has(error.object?.type ?? '')
}

/**
 * Whether the fault may be about single objects of the call, whatever it is called: not about the session, about what was
 * made in it, or about the version of the API.
 */
export function isRefusal(error: unknown): error is SoapFault {
  if (!(error instanceof SoapFault) || isSessionLost(error) || isRebuild(error)) return false
  return error.fault !== 'VersionMismatch'
}

/** Whether the server does not know a property, such as one of a list's entries by its key. */
export function isInvalidProperty(error: unknown): error is SoapFault {
  return error instanceof SoapFault && error.fault === 'InvalidProperty'
}

/** Whether the fault names exactly this object. */
export function namesObject({ object }: SoapFault, { type, value }: ManagedObjectReference): boolean {
  return object?.type === type && object.value === value
}

/** Whether vCenter says that exactly this object does not exist. */
export function isGone(error: unknown, object: ManagedObjectReference): boolean {
  return error instanceof SoapFault && error.fault === 'ManagedObjectNotFound' && namesObject(error, object)
}

/** Whether vCenter did not answer in time. Not for a long poll, which may only have lost its connection. */
export function isSilence(error: unknown): boolean {
  return error instanceof DeadlineError && !error.longPoll
}

/** The failure for an error. Anything but a VCenterError is a defect and is rethrown. */
export function toFailure(vCenter: string, error: unknown): VCenterFailure {
  if (!(error instanceof VCenterError)) throw error
  const { reason, message } = error
  return { vCenter, reason, message, ...(error instanceof LoginRefused ? { retryAt: error.retryAt } : {}) }
}

/** Whether a call failed for some of its objects: refused, or not answered. */
export function isOfObjects(error: unknown): error is SoapFault | UnansweredError {
  return isRefusal(error) || error instanceof UnansweredError
}

/**
 * The error of a call, where it is about what was asked alone: vCenter answers a small call, and the session lives. Throws it
 * otherwise.
 */
export async function aloneOrThrow(
  error: unknown,
  alive: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<VCenterError> {
  if (!(error instanceof VCenterError) || isSessionLost(error)) throw error
  if (!(error instanceof SoapFault || error instanceof UnansweredError)) await alive(signal)
  return error
}
