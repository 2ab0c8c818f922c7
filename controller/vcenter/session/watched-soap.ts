/** A client that gives big calls time for as long as vCenter answers small ones. */
import type { Clock } from '../../../agent/shared/clock.ts'
import type { Timings } from '../timings.ts'
import type { SoapClient } from '../wire/soap.ts'

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
