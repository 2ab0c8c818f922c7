import { untilAborted } from './tasks.ts'

/** Work that takes turns: what has the same name runs one after the other, in the order of the calls. */
export function createTurns() {
  /** What the next one waits for. It never fails. */
  const last = new Map<string, Promise<unknown>>()
  return async <T>(name: string, work: () => Promise<T>, signal: AbortSignal): Promise<T> => {
    const turn = untilAborted(last.get(name) ?? Promise.resolve(), signal).then(() => {
      signal.throwIfAborted()
      return work()
    })
    // One that gives up does not let the next one pass the one before.
    const ended = Promise.allSettled([last.get(name), turn]).then(() => {
      if (last.get(name) === ended) last.delete(name)
    })
    last.set(name, ended)
    return await turn
  }
}
