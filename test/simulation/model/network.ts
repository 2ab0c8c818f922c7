/** The controllers' way to the API server: requests that take time, get lost on either way, and are given up. */
import { ApiError } from '../../../controller/kubernetes/api-error.ts'
import type { KubeClient, KubeRequest } from '../../../controller/kubernetes/client.ts'
import type { Timeline } from '../timeline.ts'
import type { ApiServer } from './api-server.ts'
import type { Process } from './process.ts'

/** As the real client. */
const TIMEOUT = 15_000
/** The longest way of a request that still takes effect: see the decision record. */
const MAX_WAY = 4_000

export function createModelClient(api: ApiServer, process: Process, timeline: Timeline): KubeClient {
  const { line, random } = process

  function request(request: KubeRequest): Promise<unknown> {
    const { signal, method } = request
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    let settled = signal.aborted
    const settle = (act: () => void) => {
      process.deliver(() => {
        if (settled) return
        settled = true
        signal.removeEventListener('abort', abort)
        act()
      })
    }
    const fail = (after: number, message: string) => {
      timeline.after(after, `${process.name} ${message}`, () => settle(() => reject(new Error(message))))
    }
    function abort(): void {
      settled = true
      reject(signal.reason)
    }
    if (signal.aborted) {
      reject(signal.reason)
      return promise
    }
    signal.addEventListener('abort', abort, { once: true })

    const there = random.between(1, 20) + Math.min(MAX_WAY, random.next() * api.slow)
    timeline.after(there, `API server gets ${method} of ${process.name}`, () => {
      // Who has given it up may or may not have stopped it.
      if (settled && random.chance(0.5)) return
      if (line.cut) return fail(random.chance(0.5) ? 10 : TIMEOUT - there, 'request is lost')
      if (api.away) return fail(10, 'request is refused')
      let answer: () => void
      try {
        const value = api.handle(request, process.name)
        answer = () => resolve(value)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        answer = () => reject(error)
      }
      if (line.deaf) return fail(TIMEOUT - there, 'answer is lost')
      const back = random.between(1, 20) + random.next() * Math.min(MAX_WAY, api.slow)
      timeline.after(back, `${process.name} gets its answer`, () => settle(answer))
    })
    return promise
  }

  return {
    request,
    stream: () => Promise.reject(new Error('watches are modelled by informers')),
    close: () => Promise.resolve(),
  }
}
