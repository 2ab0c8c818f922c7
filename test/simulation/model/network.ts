/** The controllers' way to the API server: requests that take time, get lost on either way, and are given up. */
import { ApiError } from '../../../agent/shared/api-error.ts'
import {
  DEFAULT_TIMEOUT,
  type KubeClient,
  type KubeRequest,
  NoAnswerError,
} from '../../../controller/kubernetes/client.ts'
import type { Timeline } from '../timeline.ts'
import { type ApiServer, kindAt, type Stored, type StoredChange } from './api-server.ts'
import type { Process } from './process.ts'

/** The longest way of a request that still takes effect: see the decision record. */
const MAX_WAY = 4_000

/** Told of each version of an object that has arrived, by a list or a watch, and when it was written. */
export type OnArrival = (object: Stored, writtenAt: number) => void

export interface ModelClientOptions {
  readonly api: ApiServer
  readonly process: Process
  readonly timeline: Timeline
  readonly onArrival: OnArrival
}

export function createModelClient({ api, process, timeline, onArrival }: ModelClientOptions): KubeClient {
  const { line, random } = process

  /** What the API server does with a request when it gets it, and what comes back. */
  function send<T>(request: KubeRequest, handle: () => T): Promise<T> {
    const { signal, method, timeout = DEFAULT_TIMEOUT } = request
    const { promise, resolve, reject } = Promise.withResolvers<T>()
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
      if (line.cut) return fail(random.chance(0.5) ? 10 : DEFAULT_TIMEOUT - there, 'request is lost')
      if (api.away) return fail(10, 'request is refused')
      let answer: () => void
      try {
        const value = handle()
        answer = () => resolve(value)
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
        answer = () => reject(error)
      }
      if (line.deaf) return fail(DEFAULT_TIMEOUT - there, 'answer is lost')
      const { slow = 0 } = api.burdenOf(request) ?? {}
      const back = random.between(1, 20) + random.next() * Math.min(MAX_WAY, api.slow) + slow
      if (slow > 0 && there + back > timeout) {
        const cause = new NoAnswerError(timeout)
        timeline.after(timeout - there, `${process.name} waits no longer`, () =>
          settle(() => reject(new Error('no answer', { cause }))),
        )
        return
      }
      timeline.after(back, `${process.name} gets its answer`, () => settle(answer))
    })
    return promise
  }

  async function list(request: KubeRequest, objects: () => Iterable<Stored>): Promise<unknown> {
    const { items, at, answer } = await send(request, () => ({
      items: [...objects()],
      at: timeline.now,
      answer: api.handle(request, process.name),
    }))
    // The controller has them when it has dealt with the answer.
    timeline.after(0, `${process.name} has a list`, () => {
      for (const object of items) onArrival(object, at)
    })
    return answer
  }

  /** The lines of a watch, from its opening on. */
  async function open(request: KubeRequest): Promise<AsyncIterable<Uint8Array>> {
    const { path, query = {}, signal } = request
    const kind = kindAt(path)
    if (kind === undefined) throw new Error(`a watch of ${path} is not modeled`)
    const inbox: StoredChange[] = []
    let ended: 'no' | 'broken' | 'orderly' = 'no'
    let isBroken = false
    let wake: () => void = () => undefined
    let stop: () => void = () => undefined
    let last = 0
    const end = (how: typeof ended) => {
      stop()
      if (ended === 'no') ended = how
      wake()
    }
    const changed = (change: StoredChange): void => {
      last = Math.max(last, timeline.now + random.between(1, 30) + line.lag)
      timeline.after(last - timeline.now, `${process.name} hears of ${change.object.metadata.name}`, () => {
        if (ended !== 'no' || isBroken || process.state === 'dead') return
        // Nothing comes after what is lost, also where a process that is stopped learns of it only later.
        isBroken = line.cut || api.away
        if (isBroken) return process.deliver(() => end('broken'))
        inbox.push(change)
        process.deliver(() => wake())
      })
    }
    signal.addEventListener('abort', () => end('broken'), { once: true })
    await send(request, () => {
      if (ended !== 'no') return
      stop = api.watch(kind, Number(query.resourceVersion), changed)
    })
    const seconds = Number(query.timeoutSeconds)
    timeline.after(seconds * 1_000, `${process.name}'s watch ends`, () =>
      process.deliver(() => end('orderly')),
    )
    return lines()

    async function* lines(): AsyncGenerator<Uint8Array> {
      try {
        for (;;) {
          const change = inbox.shift()
          if (change !== undefined) {
            const { type, object, at } = change
            yield Buffer.from(`${JSON.stringify({ type, object })}\n`)
            // Whoever asks for the next has dealt with this one.
            onArrival(object, at)
          } else if (signal.aborted) throw signal.reason
          else if (ended === 'broken') throw new Error('the watch is cut off')
          else if (ended === 'orderly') return
          else await new Promise<void>((resolve) => (wake = resolve))
        }
      } finally {
        end('orderly')
      }
    }
  }

  return {
    request(request) {
      const kind = request.method === 'GET' ? kindAt(request.path) : undefined
      return kind === undefined
        ? send(request, () => api.handle(request, process.name))
        : list(request, () => api[kind].values())
    },
    stream: open,
    close: () => Promise.resolve(),
  }
}
