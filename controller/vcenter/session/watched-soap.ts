/** A client that asks vCenter for its time when a call does not show whether vCenter and the session are alive. */
import { anySignal } from '../../../agent/shared/any-signal.ts'
import type { Clock } from '../../../agent/shared/clock.ts'
import type { Timings } from '../timings.ts'
import { inLivingSession, isSessionLost, SoapFault } from '../wire/errors.ts'
import type { SoapCall, SoapClient } from '../wire/soap.ts'
import type { XMLElement } from '../wire/xml.ts'

/**
 * A client whose big calls, which may take long, fail as soon as vCenter stops answering small calls as well, with the error of
 * the small call. NotAuthenticated is believed only if the small call gets it too.
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

  async function callWatched(call: SoapCall): Promise<XMLElement> {
    if (call.longPoll === true || call.deadline <= timings.callDeadline) return await soap.call(call)
    const dead = new AbortController()
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
      try {
        return await callWatched(call)
      } catch (error) {
        if (!(error instanceof SoapFault && isSessionLost(error))) throw error
        await ask(call.signal)
        throw inLivingSession(error)
      }
    },
  }
}
