/** A client that asks vCenter for its time when a call does not show whether vCenter and the session are alive. */
import { anySignal } from '../../../agent/shared/any-signal.ts'
import type { Clock } from '../../../agent/shared/clock.ts'
import type { Timings } from '../timings.ts'
import {
  GivenUpError,
  inLivingSession,
  isSessionLost,
  isSilence,
  RenewalError,
  SoapFault,
  TooLongError,
  UnansweredError,
  VCenterError,
} from '../wire/errors.ts'
import type { SoapCall, SoapClient } from '../wire/soap.ts'
import type { XMLElement } from '../wire/xml.ts'

/**
 * A client whose big calls, which may take long, are given up as soon as vCenter stops answering small calls as well: a small call
 * gets no answer, or fails twice in a row. Then they throw a GivenUpError, or what tells the same of both calls: that vCenter is
 * silent, or that the session has ended. NotAuthenticated is believed only if the small call gets it too. A call about objects
 * that is not answered, although the small call is, throws an UnansweredError.
 */
export function createWatchedSoap(options: {
  readonly soap: SoapClient
  /** A small call. Throws if vCenter does not answer, or the session has ended. */
  readonly ask: (signal: AbortSignal) => Promise<void>
  readonly timings: Timings
  readonly clock: Clock
}): SoapClient {
  const { soap, ask, timings, clock } = options
  async function watch(signal: AbortSignal, dead: AbortController): Promise<void> {
    for (let failed = 0; ; ) {
      await clock.sleep(timings.doubt, signal)
      if (signal.aborted) return
      try {
        await ask(signal)
        failed = 0
      } catch (error) {
        if (signal.aborted) return
        failed += 1
        const why = ofBoth(error)
        // One that fails may be chance, and a login of minutes makes many of them.
        if (why instanceof GivenUpError && failed < 2) continue
        dead.abort(why)
        return
      }
    }
  }

  async function callWatched(call: SoapCall, dead: AbortController): Promise<XMLElement> {
    if (call.longPoll === true || call.deadline <= timings.callDeadline) return await soap.call(call)
    const ended = new AbortController()
    const watching = watch(anySignal([call.signal, ended.signal]), dead)
    try {
      return await soap.call({ ...call, signal: anySignal([call.signal, dead.signal]) })
    } finally {
      ended.abort()
      await watching
    }
  }

  return {
    ...soap,
    async call(call) {
      const dead = new AbortController()
      try {
        return await callWatched(call, dead)
      } catch (error) {
        const isStray = error instanceof SoapFault && isSessionLost(error)
        if (!isStray && (dead.signal.aborted || !isUnanswered(call, error))) throw error
        await ask(call.signal).catch((error: unknown) => {
          throw ofBoth(error)
        })
        throw isStray ? inLivingSession(error) : new UnansweredError(error)
      }
    },
  }
}

/** Whether it may be for an object of the call that there is no answer. */
function isUnanswered(call: SoapCall, error: unknown): error is VCenterError {
  if (call.ofObjects !== true || !(error instanceof VCenterError)) return false
  return !(error instanceof SoapFault || error instanceof TooLongError || error instanceof RenewalError)
}

/** What the error of a small call says of a call beside it: a fault of the one is none of the other. */
function ofBoth(error: unknown): unknown {
  const isSame = !(error instanceof VCenterError) || isSessionLost(error) || isSilence(error)
  return isSame ? error : new GivenUpError(error)
}
