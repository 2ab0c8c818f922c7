/** vCenter's API for one probe: bound to one session, and closed by the first call that gets no answer. */
import { anySignal } from '../../../agent/shared/any-signal.ts'
import type { Clock } from '../../../agent/shared/clock.ts'
import type { VCenterFailure } from '../../types/inventory.ts'
import type { Login, ServiceContent } from '../session/session.ts'
import type { Timings } from '../timings.ts'
import { isSessionLost, malformed, SoapFault, toFailure, VCenterError } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import type { SoapClient } from '../wire/soap.ts'
import type { XMLElement } from '../wire/xml.ts'

/** What a probe needs of a session. */
export interface SessionAccess {
  readonly soap: SoapClient
  readonly content: ServiceContent
  readonly login: Login | undefined
}

export interface ProbeClient extends SessionAccess {
  /** For small calls. Throws a VCenterError; unless that is a fault of an object, all later calls throw it too. */
  call(operation: string, target: ManagedObjectReference, parameters: string): Promise<XMLElement>
  /** What an error means for the part of the probe that met it. Defects are rethrown. */
  failure(error: unknown): VCenterFailure
}

const ENDED = 'the session with vCenter ended during the probe of a VM; the next session repeats it'
const CANCELED = 'the probe of a VM was canceled before vCenter answered'

export function createProbeClient(options: {
  readonly vCenter: string
  readonly access: SessionAccess
  readonly timings: Timings
  readonly clock: Clock
  /** Aborts when the session, or what was made in it, is no longer the one that the probe began in. */
  readonly period: AbortSignal
  readonly signal: AbortSignal
  /** To be told when a call meets NotAuthenticated. */
  readonly lost: (error: VCenterError) => void
}): ProbeClient {
  const { vCenter, access, timings, clock, period, signal, lost } = options
  const either = anySignal([signal, period])
  // The deadline of each call alone would let many slow calls go on for too long.
  const end = clock.monotonic() + timings.readDeadline
  let broken: VCenterError | undefined

  function understand(error: unknown): VCenterError {
    if (broken !== undefined) return broken
    if (period.aborted) broken = new VCenterError('SessionLost', ENDED)
    else if (signal.aborted) broken = new VCenterError('TimedOut', CANCELED)
    else if (!(error instanceof VCenterError)) throw error
    else if (isSessionLost(error)) {
      broken = error
      lost(error)
    } else if (error instanceof SoapFault) return error
    else broken = error
    return broken
  }

  async function send(
    operation: string,
    target: ManagedObjectReference,
    parameters: string,
  ): Promise<XMLElement> {
    const left = end - clock.monotonic()
    if (left <= 0) {
      const seconds = timings.readDeadline / 1000
      throw new VCenterError(
        'TimedOut',
        `vCenter did not answer the probe of a VM within ${seconds} s; check the state of its services`,
      )
    }
    const deadline = Math.min(timings.callDeadline, left)
    const response = await access.soap.call({ operation, target, parameters, deadline, signal: either })
    // An empty answer to something else must not pass for "there is none".
    if (response.name !== `${operation}Response`)
      throw malformed(`vCenter answers to ${operation} with something else`)
    return response
  }

  return {
    ...access,
    async call(operation, target, parameters) {
      if (broken !== undefined || either.aborted) throw understand(either.reason)
      try {
        const response = await send(operation, target, parameters)
        either.throwIfAborted()
        return response
      } catch (error) {
        throw understand(error)
      }
    },
    failure: (error) => toFailure(vCenter, understand(error)),
  }
}
