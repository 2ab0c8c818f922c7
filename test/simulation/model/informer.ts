/** A list-watch: the objects of one kind as this process has last heard of them, which may be a while ago. */
import type { Timeline } from '../timeline.ts'
import type { ApiServer, Kind, Stored } from './api-server.ts'
import type { Process } from './process.ts'

export interface Informer<T> {
  get(name: string): T | undefined
  /** Follows until the signal aborts. `onSynced`: the first list is in. */
  run(onSynced: () => void, signal: AbortSignal): void
}

export interface InformerOptions<T> {
  readonly api: ApiServer
  readonly kind: Kind
  readonly process: Process
  readonly timeline: Timeline
  readonly parse: (object: unknown) => T | undefined
  /** Told of each version of an object that has arrived, and when it was written. */
  readonly onArrival: (name: string, writtenAt: number) => void
  readonly onChange: (name: string, current: T | undefined, previous: T | undefined) => void
}

export function createInformer<T extends { readonly resourceVersion: string }>(
  options: InformerOptions<T>,
): Informer<T> {
  const { api, kind, process, timeline, parse, onChange, onArrival } = options
  const { line, random } = process
  const items = new Map<string, T>()
  let inbox: { readonly name: string; readonly object: Stored | undefined; readonly at: number }[] = []
  /** Of the watch that is open; events of one before are dropped. */
  let watch = 0
  let last = 0

  function put(name: string, object: Stored | undefined): void {
    const current = object && parse(object)
    const previous = items.get(name)
    if (current?.resourceVersion === previous?.resourceVersion) return
    if (current) items.set(name, current)
    else items.delete(name)
    onChange(name, current, previous)
  }

  function run(onSynced: () => void, signal: AbortSignal): void {
    const stored = (name: string): Stored | undefined => api[kind].get(name)
    let stop: (() => void) | undefined

    function list(): void {
      watch++
      stop?.()
      inbox = []
      timeline.after(random.between(2, 50) + random.next() * api.slow, `${process.name} lists`, () => {
        if (signal.aborted || process.state === 'dead') return
        if (line.cut || api.away) return later()
        const snapshot = new Map<string, Stored>(api[kind])
        const mine = watch
        const at = timeline.now
        stop = api.watch(kind, (name) => changed(mine, name))
        timeline.after(random.between(1, 20), `${process.name} gets a list`, () =>
          process.deliver(() => take(mine, snapshot, at)),
        )
      })
    }

    function take(mine: number, snapshot: ReadonlyMap<string, Stored>, at: number): void {
      if (mine !== watch || signal.aborted) return
      for (const name of [...items.keys()]) if (!snapshot.has(name)) put(name, undefined)
      for (const [name, object] of snapshot) {
        put(name, object)
        onArrival(name, at)
      }
      onSynced()
    }

    function later(): void {
      timeline.after(random.between(500, 10_000), `${process.name} waits to list`, () => {
        if (!signal.aborted && process.state !== 'dead') list()
      })
    }

    function changed(mine: number, name: string): void {
      const object = stored(name)
      const at = timeline.now
      last = Math.max(last, timeline.now + random.between(1, 30) + line.lag)
      timeline.after(last - timeline.now, `${process.name} hears of ${name}`, () => {
        if (mine !== watch || signal.aborted || process.state === 'dead') return
        if (line.cut || api.away) {
          watch++
          return later()
        }
        inbox.push({ name, object, at })
        process.deliver(next)
      })
    }

    /** In the order in which they came, whatever else the process has to catch up with. */
    function next(): void {
      const event = inbox.shift()
      if (event === undefined || signal.aborted) return
      put(event.name, event.object)
      onArrival(event.name, event.at)
    }

    signal.addEventListener('abort', () => stop?.(), { once: true })
    list()
  }

  return { get: (name) => items.get(name), run }
}
