/** Reads which tags are attached to many objects, in few calls: an object that cannot be read spoils no other. */
import * as v from 'valibot'
import type { Clock } from '../../../agent/shared/clock.ts'
import { eachOf } from '../../lib/tasks.ts'
import type { RESTClient } from '../session/rest.ts'
import { isBadAnswer, isNotFound } from '../session/rest-interfaces.ts'
import type { Timings } from '../timings.ts'
import type { VCenterError } from '../wire/errors.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { askTwice, hangs, isOfOne, parseTagAnswer } from './tag-answers.ts'
import { AT_ONCE } from './tag-calls.ts'

/** Objects per call. Where vCenter takes too long for so many, it is asked for fewer, down to the second number. */
const BATCH = 2_000
const SMALLEST_BATCH = 64
/** Milliseconds after which twice as many are tried again. */
const GROWS_AFTER = 3_600_000
/** So many calls in a row may fail while objects that cannot be read are looked for among the others, unless some can be read. */
const MAX_FAILED = 32
/** A call that hangs counts as so many of these: it takes long. */
const HANGS_AS = 4
/** So many calls may fail in all. */
const MAX_FAILED_IN_ALL = 1_000
/** So many objects, evenly spread and others each time, are asked for by themselves to find out whether any can be read. */
const PROBES = 8
/** Multiples of the golden ratio fall far apart, and on no pattern of the inventory. */
const SPREAD = 0.618_034
/** So many of these may hang. */
const MAX_HANGING = 3
/** Of the objects that could not be read before, so many are asked for again in one read. */
const MAX_AGAIN = 100
/** When the first of these can all be read, the reason has gone, and the others are asked for as any object is. */
const RECOVERED = 8
/** Most of them that are remembered; some may be gone. */
const MAX_REFUSED = 10_000

/** The IDs of the tags of one object, or why they cannot be read. */
export type AttachedTags = readonly string[] | string

/** The objects of one call; `slow` where they are half of a call that took too long: its size, and how many halves were answered. */
interface Part {
  readonly part: readonly ManagedObjectReference[]
  readonly slow?: { readonly size: number; answered: number }
}

/** `nullish`, because some servers write null for an empty list. */
const Attached = v.array(
  v.object({
    object_id: v.object({ type: v.string(), id: v.string() }),
    tag_ids: v.nullish(v.array(v.string()), []),
  }),
)

export function createAttachedTags({
  rest,
  timings,
  clock,
}: {
  readonly rest: RESTClient
  readonly timings: Timings
  readonly clock: Clock
}) {
  /** Calls in a row that have failed, and an object whose tags were told, in this read. */
  let failed = 0
  let told: ManagedObjectReference | undefined
  /** How many objects were asked for by themselves. */
  let probed = 0
  /** The same of all calls in this read. */
  let failedInAll = 0
  /** Why objects could not be read: one of them would end the call for all others. The first were asked for longest ago. */
  const refused = new Map<string, string>()

  let batchSize = BATCH
  /** When that last changed; monotonic. */
  let sizedAt = clock.monotonic()

  function resize(size: number): void {
    batchSize = Math.max(SMALLEST_BATCH, Math.min(BATCH, size))
    sizedAt = clock.monotonic()
  }

  /** Tag IDs of the objects of one call. By default it has the time of a small one. */
  async function attachedTo(
    objects: readonly ManagedObjectReference[],
    deadline: number | undefined,
    signal: AbortSignal,
  ): Promise<Map<string, readonly string[]>> {
    const answer = await rest.call({
      method: 'POST',
      resource: 'tagging/tag-association',
      action: 'list-attached-tags-on-objects',
      body: { object_ids: objects.map(({ type, value }) => ({ type, id: value })) },
      ofObjects: true,
      ...(deadline === undefined ? {} : { deadline }),
      signal,
    })
    const found = new Map<string, readonly string[]>(objects.map((object) => [keyOf(object), []]))
    for (const { object_id, tag_ids } of parseTagAnswer(Attached, answer ?? []))
      found.set(keyOf({ type: object_id.type, value: object_id.id }), tag_ids ?? [])
    return found
  }

  /**
   * Tag IDs by object, or the reason why that object cannot be read: one that is refused, or at which vCenter fails, ends the
   * call for all. Throws where vCenter fails at so many, or knows so few, that it fails as a whole.
   */
  async function attached(
    objects: readonly ManagedObjectReference[],
    signal: AbortSignal,
  ): Promise<Map<string, AttachedTags>> {
    const found = new Map<string, AttachedTags>()
    const alone = new Map<string, string>()
    // What one batch could not tell says nothing of the next.
    failed = 0
    // All halves before their halves: when too many calls have failed, what is left is little more than what makes them fail.
    const parts: Part[] = [{ part: objects }]
    for (let next = parts.shift(); next !== undefined; next = parts.shift()) {
      const { part, slow } = next
      const isLarge = part === objects && part.length > SMALLEST_BATCH
      const ask = () => attachedTo(part, isLarge ? timings.readDeadline : undefined, signal)
      try {
        for (const [key, ids] of await (part.length === 1 ? askTwice(ask) : ask())) found.set(key, ids)
        told = part[0]
        failed = 0
        // No object hangs: there are too many for one call. That a small one took long may be chance.
        if (slow !== undefined && ++slow.answered === 2 && slow.size < 2 * batchSize)
          resize(Math.max(slow.size, batchSize >> 1) >> 1)
      } catch (error) {
        if (!isOfOne(error)) throw error
        const before = failed
        failed += hangs(error) ? HANGS_AS : 1
        failedInAll += 1
        if (before < MAX_FAILED && failed >= MAX_FAILED && (await canReadAny(objects, signal))) failed = 0
        const isTooMany = failed >= MAX_FAILED
        if (part.length > 1 && !isTooMany && failedInAll < MAX_FAILED_IN_ALL) {
          const isSlow = error.reason === 'TimedOut' && part.length > SMALLEST_BATCH
          const halves = isSlow ? { slow: { size: part.length, answered: 0 } } : {}
          const half = part.length >> 1
          parts.push({ part: part.slice(0, half), ...halves }, { part: part.slice(half), ...halves })
          continue
        }
        const fails = isBadAnswer(error) && (isTooMany || told === undefined)
        // A service that is not up yet answers that it knows none.
        const knowsNone = isNotFound(error) && told === undefined && objects.length > 1
        if ((isTooMany || parts.length === 0) && (fails || knowsNone)) throw error
        for (const object of part) found.set(keyOf(object), error.message)
        // The others of a part may be readable.
        if (part.length === 1) for (const object of part) alone.set(keyOf(object), error.message)
      }
    }
    // Not where the service fails as a whole: then it says nothing of objects.
    for (const [key, why] of alone) refused.set(key, why)
    return found
  }

  /**
   * Whether one of a few objects can be read by itself, so that it is others that make the calls fail. First one whose tags this
   * read was told: all that are tried besides may be bad.
   */
  async function canReadAny(
    objects: readonly ManagedObjectReference[],
    signal: AbortSignal,
  ): Promise<boolean> {
    const spread = Array.from(
      { length: PROBES },
      () => objects[Math.floor(((++probed * SPREAD) % 1) * objects.length)],
    )
    let hanging = 0
    for (const object of new Set([told, ...spread])) {
      if (object === undefined || hanging >= MAX_HANGING) continue
      try {
        await attachedTo([object], undefined, signal)
        told = object
        return true
      } catch (error) {
        if (!isOfOne(error)) throw error
        if (hangs(error)) hanging += 1
      }
    }
    return false
  }

  /**
   * Asks for objects that could not be read before, each by itself, and of many only for some: for all where the first of these
   * can be read.
   */
  async function attachedAgain(
    objects: readonly ManagedObjectReference[],
    signal: AbortSignal,
  ): Promise<Map<string, AttachedTags>> {
    const wanted = new Map(objects.map((object) => [keyOf(object), object]))
    const before = [...refused].filter(([key]) => wanted.has(key))
    const found = new Map<string, AttachedTags>(before)
    let failure: VCenterError | undefined
    let answered = 0
    const haveRecovered = () => failure === undefined && answered >= RECOVERED
    async function askAgain(key: string): Promise<void> {
      const object = wanted.get(key)
      if (object === undefined || haveRecovered()) return
      try {
        const answer = await askTwice(() => attachedTo([object], undefined, signal))
        for (const [key, ids] of answer) found.set(key, ids)
        refused.delete(key)
        told = object
        failed = 0
        answered += 1
      } catch (error) {
        if (!isOfOne(error)) throw error
        refused.delete(key)
        refused.set(key, error.message)
        found.set(key, error.message)
        failure = error
      }
    }
    await eachOf(
      before.slice(0, MAX_AGAIN).map(([key]) => key),
      askAgain,
      { atOnce: AT_ONCE },
    )
    if (told === undefined && isBadAnswer(failure)) throw failure
    if (!haveRecovered()) return found
    const others = objects.filter((each) => refused.delete(keyOf(each)))
    for (const batch of batchesOf(others))
      for (const [key, ids] of await attached(batch, signal)) found.set(key, ids)
    return found
  }

  /** The size may change on the way. */
  function* batchesOf(objects: readonly ManagedObjectReference[]) {
    for (let from = 0; from < objects.length; ) {
      const batch = objects.slice(from, from + batchSize)
      from += batch.length
      yield batch
    }
  }

  return {
    /**
     * Reads batch by batch, those that could not be read before last. Of each batch the tags are by {@link keyOf}. Throws a
     * VCenterError where vCenter fails as a whole. Not for concurrent use.
     */
    async *read(objects: readonly ManagedObjectReference[], signal: AbortSignal) {
      failed = 0
      failedInAll = 0
      told = undefined
      if (refused.size > MAX_REFUSED) refused.clear()
      if (clock.monotonic() - sizedAt >= GROWS_AFTER) resize(2 * batchSize)
      const again = objects.filter((each) => refused.has(keyOf(each)))
      const others = again.length === 0 ? objects : objects.filter((each) => !refused.has(keyOf(each)))
      for (const batch of batchesOf(others)) yield { batch, found: await attached(batch, signal) }
      if (again.length > 0) yield { batch: again, found: await attachedAgain(again, signal) }
    },
  }
}
