/** Keeps the tags of all relevant objects up to date. Nothing waits for it: tags are independent of other properties. */
import { isDeepStrictEqual } from 'node:util'
import { anySignal } from '../../agent/shared/any-signal.ts'
import { type BackoffOptions, createBackoff } from '../../agent/shared/backoff.ts'
import { type Basics, every, runTogether } from '../lib/tasks.ts'
import type { Tag } from '../types/virtual-machine.ts'
import type { VMLocations } from './cache/vm-locations.ts'
import type { VMStore } from './cache/vm-store.ts'
import { createDebounce, type Debounce, type RunOutcome } from './collect/pace.ts'
import type { ObjectTags, TagReader } from './collect/tags.ts'
import type { Timings } from './timings.ts'
import { VCenterError } from './wire/errors.ts'
import { keyOf, type ManagedObjectReference, vmOfKey } from './wire/managed-object-reference.ts'

/** Milliseconds between attempts while the tag service fails. */
const RETRY: Omit<BackoffOptions, 'random'> = { base: 2_000, max: 300_000 }

/**
 * Reads unknown tags when triggered, and all tags at the interval of a resync, until the signal aborts. A failure of the
 * tag service is not a failure of vCenter: known tags stay, and unknown ones count as unreadable meanwhile. The same goes
 * while the service does not answer a call, because Nodes wait until the tags are known. They wait on while it answers, however
 * many calls it takes.
 */
export async function keepTagsRead(
  options: Basics & {
    readonly tagReader: TagReader
    readonly trigger: Debounce
    readonly store: VMStore
    readonly locations: VMLocations
    /** Called when the tags of all objects were read. */
    readonly onAllRead: () => void
    readonly timings: Timings
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
  /** Whether all tags are to be read: because it is time, or again, since vCenter shows other categories than before. */
  let all: 'no' | 'again' | 'in time' = 'no'
  /** Why tags cannot be read now. */
  let outage: VCenterError | undefined

  async function note(): Promise<RunOutcome> {
    const unread = unreadOf(tagged())
    if (unread.length === 0) return 'little'
    if (outage !== undefined) giveUp(unread, outage)
    reading.trigger()
    return 'done'
  }

  async function read(signal: AbortSignal): Promise<RunOutcome> {
    if (outage !== undefined) await clock.sleep(backoff.next(), signal)
    if (signal.aborted) return 'little'
    const objects = tagged()
    // It may become due while this read is under way.
    const readsAll = all
    const unread = unreadOf(objects)
    const isOfSome = unread.length < objects.length
    const witnesses = isOfSome ? witnessesAmong(objects) : new Map<string, ManagedObjectReference>()
    const beside = isOfSome ? knownBeside(unread, witnesses) : []
    const found = new Map<string, ObjectTags>()
    const gather = (tags: Map<string, ObjectTags>) => {
      for (const [key, value] of tags) found.set(key, value)
    }
    const gathers = isOfSome || readsAll !== 'no'
    const ended = new AbortController()
    const overdue = waitForSilence(anySignal([ended.signal, signal])).then((silent) => {
      if (silent) suffer(slow(timings.callDeadline))
    })
    try {
      // What replaces known tags, or stands beside them, is put at once: a nearer tag must not be missing for a moment.
      await tagReader.read([...unread, ...beside], gathers ? gather : put, signal)
      if (isOfSome && hasChanged(witnesses, beside, found)) readAgain()
      else if (gathers) put(found)
      if (readsAll !== 'no') {
        locations.keepTags(objects)
        if (readsAll === 'in time') options.onAllRead()
        if (all === readsAll) all = 'no'
      }
      outage = undefined
      backoff.reset()
    } catch (error) {
      if (signal.aborted) return 'little'
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
    return objects.filter((object) => all !== 'no' || !locations.hasTags(object) || failed.has(keyOf(object)))
  }

  /**
   * What is read again beside what is new: all that is above a new VM, for the nearest tag counts; and an object for each category
   * of which tags are known, for without rights on a category vCenter refuses nothing, and shows its tags on no object.
   */
  function knownBeside(
    unread: readonly ManagedObjectReference[],
    witnesses: ReadonlyMap<string, ManagedObjectReference>,
  ): readonly ManagedObjectReference[] {
    const machines = unread.flatMap((object) => store.machine(vmOfKey(keyOf(object)) ?? '') ?? [])
    const known = [...locations.tagged(machines), ...witnesses.values()]
    const beside = new Map(known.map((object) => [keyOf(object), object]))
    for (const object of unread) beside.delete(keyOf(object))
    return [...beside.values()]
  }

  function witnessesAmong(objects: readonly ManagedObjectReference[]): Map<string, ManagedObjectReference> {
    const witnesses = new Map<string, ManagedObjectReference>()
    for (const object of objects)
      for (const { category } of locations.tagsOf(object))
        if (!witnesses.has(category)) witnesses.set(category, object)
    return witnesses
  }

  /**
   * Whether other categories are shown than those of which tags are known, as the rights on them may have changed in between, or
   * other tags of what is known: beside older ones of what is nearer, a farther tag would count.
   */
  function hasChanged(
    known: ReadonlyMap<string, ManagedObjectReference>,
    beside: readonly ManagedObjectReference[],
    found: ReadonlyMap<string, ObjectTags>,
  ): boolean {
    const shown = new Set([...found.values()].flatMap(({ tags }) => tags.map(({ category }) => category)))
    if (shown.size !== known.size || [...known.keys()].some((category) => !shown.has(category))) return true
    return beside.some((object) => {
      const now = found.get(keyOf(object))?.tags ?? []
      return !isDeepStrictEqual(namesOf(now), namesOf(locations.tagsOf(object)))
    })
  }

  /** Reads all tags, so that none of an object that is new stands beside older ones which no longer say the same. */
  function readAgain(): void {
    if (all === 'no') all = 'again'
    tagReader.refreshNames()
    reading.trigger()
  }

  function put(tags: Map<string, ObjectTags>): void {
    const changed = locations.putTags(tags)
    const concernsAll = locations.putLacking(tagReader.lacking())
    for (const key of tags.keys()) failed.delete(key)
    refresh(changed, concernsAll)
  }

  /** What stands above a VM may stand above all. Its own tags concern it alone: new VMs cost the others nothing. */
  function refresh(changed: readonly string[], concernsAll = false): void {
    const vms = changed.map(vmOfKey)
    if (concernsAll || vms.includes(undefined)) store.refresh()
    else store.refresh(vms.filter((vm) => vm !== undefined))
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
    const unreadable: ObjectTags = { tags: [], problems: [{ why: error.message }] }
    const changed = locations.putTags(new Map(unknown.map((object) => [keyOf(object), unreadable])))
    for (const object of unknown) failed.add(keyOf(object))
    refresh(changed)
  }

  const readAllInTime = async () => {
    all = 'in time'
    tagReader.refreshNames()
    trigger.trigger()
  }
  trigger.trigger()
  await runTogether(
    [
      (signal) => trigger.run(note, signal),
      (signal) => reading.run(read, signal),
      every(timings.resync, readAllInTime, clock, random),
    ],
    signal,
  )
}

function namesOf(tags: readonly Tag[]): readonly string[] {
  return tags.map(({ category, name }) => `${category}\n${name}`).sort()
}

function slow(ms: number): VCenterError {
  return new VCenterError(
    'TimedOut',
    `the tag service has not answered for ${ms / 1000} s; check the state of vCenter's services`,
  )
}
