/** Keeps the tags of all relevant objects up to date. Nothing waits for it: tags are independent of other properties. */
import { type BackoffOptions, createBackoff } from '../../agent/shared/backoff.ts'
import type { Clock } from '../../agent/shared/clock.ts'
import type { Logger } from '../lib/log.ts'
import { every, runTogether } from '../lib/tasks.ts'
import type { VMLocations } from './cache/vm-locations.ts'
import type { VMStore } from './cache/vm-store.ts'
import { createDebounce, type Debounce, type RunOutcome } from './collect/pace.ts'
import type { ObjectTags, TagReader } from './collect/tags.ts'
import type { Timings } from './timings.ts'
import { VCenterError } from './wire/errors.ts'
import { keyOf, type ManagedObjectReference } from './wire/managed-object-reference.ts'

/** Milliseconds between attempts while the tag service fails. */
const RETRY: Omit<BackoffOptions, 'random'> = { base: 2_000, max: 300_000 }

/**
 * Reads unknown tags when triggered, and all tags at the interval of a resync, until the signal aborts. A failure of the
 * tag service is not a failure of vCenter: known tags stay, and unknown ones count as unreadable meanwhile. The same goes
 * while the service does not answer a call, because Nodes wait until the tags are known. They wait on while it answers, however
 * many calls it takes.
 */
export async function keepTagsRead(
  options: {
    readonly tagReader: TagReader
    readonly trigger: Debounce
    readonly store: VMStore
    readonly locations: VMLocations
    /** Called when the tags of all objects were read. */
    readonly onAllRead: () => void
    readonly timings: Timings
    readonly clock: Clock
    readonly random: () => number
    readonly logger: Logger
  },
  signal: AbortSignal,
): Promise<void> {
  const { tagReader, trigger, store, locations, timings, clock, random, logger } = options
  const backoff = createBackoff({ ...RETRY, random })
  /** Separate from the trigger, so that objects which are new while the service hangs are not held up. */
  const reading = createDebounce({ quiet: 0, max: 0, spacing: 0 }, clock)
  const tagged = () => locations.tagged(store.machines())
  /** Objects whose tags are unknown because nobody answered, including those of an earlier loop. */
  const failed = new Set(tagged().filter(locations.hasProblems).map(keyOf))
  let all = false
  /** Why tags cannot be read now. */
  let outage: VCenterError | undefined

  async function note(): Promise<RunOutcome> {
    const unread = unreadOf(tagged())
    if (unread.length === 0) return 'idle'
    if (outage !== undefined) giveUp(unread, outage)
    reading.trigger()
    return 'done'
  }

  async function read(signal: AbortSignal): Promise<RunOutcome> {
    if (outage !== undefined) await clock.sleep(backoff.next(), signal)
    if (signal.aborted) return 'idle'
    const objects = tagged()
    // It may become due while this read is under way.
    const readsAll = all
    const ended = new AbortController()
    const overdue = waitForSilence(AbortSignal.any([ended.signal, signal])).then((silent) => {
      if (silent) suffer(slow(timings.callDeadline))
    })
    try {
      await tagReader.read(unreadOf(objects), put, signal)
      if (readsAll) {
        locations.keepTags(objects)
        options.onAllRead()
        all = false
      }
      outage = undefined
      backoff.reset()
    } catch (error) {
      if (signal.aborted) return 'idle'
      if (!(error instanceof VCenterError)) throw error
      suffer(error)
      reading.trigger()
    } finally {
      ended.abort()
      await overdue
    }
    return 'done'
  }

  /** Waits until the tag service has not answered for the time of a call; false if the signal aborts before. */
  async function waitForSilence(signal: AbortSignal): Promise<boolean> {
    let heard = clock.monotonic()
    let left = timings.callDeadline
    for (;;) {
      await clock.sleep(left, signal)
      if (signal.aborted) return false
      if (tagReader.lastAnswer() <= heard) return true
      heard = tagReader.lastAnswer()
      left = heard + timings.callDeadline - clock.monotonic()
    }
  }

  function unreadOf(objects: readonly ManagedObjectReference[]): ManagedObjectReference[] {
    return objects.filter((object) => all || !locations.hasTags(object) || failed.has(keyOf(object)))
  }

  function put(tags: Map<string, ObjectTags>): void {
    locations.putTags(tags)
    locations.putLacking(tagReader.lacking())
    for (const key of tags.keys()) failed.delete(key)
    store.refresh()
  }

  function suffer(error: VCenterError): void {
    logger.warn({ reason: error.reason, error: error.message }, 'tags cannot be read')
    outage = error
    giveUp(tagged(), error)
  }

  /** Marks objects with unknown tags as unreadable for now. */
  function giveUp(objects: readonly ManagedObjectReference[], error: VCenterError): void {
    const unknown = objects.filter((object) => !locations.hasTags(object))
    if (unknown.length === 0) return
    locations.putTags(new Map(unknown.map((object) => [keyOf(object), unreadable(error)])))
    for (const object of unknown) failed.add(keyOf(object))
    store.refresh()
  }

  const refresh = async () => {
    all = true
    tagReader.refreshNames()
    trigger.trigger()
  }
  trigger.trigger()
  await runTogether(
    [
      (signal) => trigger.run(note, signal),
      (signal) => reading.run(read, signal),
      every(timings.resync, refresh, clock, random),
    ],
    signal,
  )
}

function unreadable(error: VCenterError): ObjectTags {
  return { tags: [], problems: [{ why: error.message }] }
}

function slow(ms: number): VCenterError {
  return new VCenterError(
    'TimedOut',
    `the tag service has not answered for ${ms / 1000} s; check the state of vCenter's services`,
  )
}
