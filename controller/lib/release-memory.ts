import type { Clock } from '../../agent/shared/clock.ts'
import type { Task } from './tasks.ts'

/** The memory of this process, as the system and V8 see it. */
export interface ProcessMemory {
  /** Bytes that are resident. */
  resident(): number
  /** Collects garbage and returns free pages to the system; stops everything for some 100 ms at 40 MB of heap. */
  release(): void
}

/** Milliseconds from one look to the next. */
const INTERVAL = 5_000
/** The part by which memory may grow before it is given back. */
const SLACK = 0.05
/**
 * After a release, the pause until the next as a multiple of the time that it took. The more memory there is, the longer a release
 * takes: while 10,000 Nodes were initialized, one every five seconds took a third of the time.
 */
const PAUSE = 50

/**
 * Gives memory back once it has grown by {@link SLACK} since the last time. V8 keeps pages that a collection has freed for
 * the next burst, and in a process that is never idle it keeps them forever: of 160 MB that a leader held an hour after
 * the start, 45 were its heap. A process in which nothing grows is left alone.
 */
export function releaseMemory(memory: ProcessMemory, clock: Clock): Task {
  return async (signal) => {
    let released = 0
    let pause = INTERVAL
    for (;;) {
      await clock.sleep(pause, signal)
      if (signal.aborted) return
      pause = INTERVAL
      if (memory.resident() <= released * (1 + SLACK)) continue
      const begun = clock.monotonic()
      memory.release()
      released = memory.resident()
      pause = Math.max(INTERVAL, PAUSE * (clock.monotonic() - begun))
    }
  }
}
