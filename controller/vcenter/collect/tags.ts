/** Reads the tags of many objects in few calls, as far as they are of the categories of interest. */
import * as v from 'valibot'
import type { Clock } from '../../../agent/shared/clock.ts'
import type { Tag } from '../../types/virtual-machine.ts'
import type { Timings } from '../timings.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import type { RESTClient } from '../wire/rest.ts'
import { isRefusal, parse } from './tag-answers.ts'
import { createTagNames } from './tag-names.ts'

/** Objects in one call. */
const BATCH = 2_000
/** Calls that may be spent on finding which objects of a batch cannot be read. */
const MAX_SPLITS = 32

/** The tags of one object, and what of them could not be read. */
export interface ObjectTags {
  readonly tags: readonly Tag[]
  readonly problems: readonly string[]
}

export interface TagReader {
  /**
   * Hands over the tags of each object, by {@link keyOf}, batch by batch. An object or a tag that cannot be read is a
   * problem of that object alone; throws a VCenterError when vCenter fails as a whole, or names of tags take too many
   * calls: then the next read goes on from there. Not for concurrent use.
   */
  read(
    objects: readonly ManagedObjectReference[],
    take: (tags: Map<string, ObjectTags>) => void,
    signal: AbortSignal,
  ): Promise<void>
}

export interface TagReaderOptions {
  readonly rest: RESTClient
  /** Names of the categories of interest. */
  readonly categories: ReadonlySet<string>
  readonly timings: Timings
  readonly clock: Clock
}

/** Where it says `nullish`: some servers write null for an empty list. */
const Attached = v.array(
  v.object({
    object_id: v.object({ type: v.string(), id: v.string() }),
    tag_ids: v.nullish(v.array(v.string()), []),
  }),
)
export function createTagReader({ rest, categories, timings, clock }: TagReaderOptions): TagReader {
  const names = createTagNames({ rest, categories, timings, clock })
  let splits = 0

  /** Tag IDs by object; an object that cannot be read has the reason in their place. */
  async function attached(
    objects: readonly ManagedObjectReference[],
    into: Map<string, readonly string[] | string>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const answer = await rest.call({
        method: 'POST',
        resource: 'tagging/tag-association',
        action: 'list-attached-tags-on-objects',
        body: { object_ids: objects.map(({ type, value }) => ({ type, id: value })) },
        deadline: timings.readDeadline,
        signal,
      })
      for (const object of objects) into.set(keyOf(object), [])
      for (const { object_id, tag_ids } of parse(Attached, answer ?? [])) {
        into.set(keyOf({ type: object_id.type, value: object_id.id }), tag_ids ?? [])
      }
    } catch (error) {
      if (!isRefusal(error)) throw error
      if (objects.length === 1 || splits >= MAX_SPLITS) {
        for (const object of objects) into.set(keyOf(object), error.message)
        return
      }
      splits += 2
      const half = objects.length >> 1
      await attached(objects.slice(0, half), into, signal)
      await attached(objects.slice(half), into, signal)
    }
  }

  function tagsOf(found: readonly string[] | string): ObjectTags {
    if (typeof found === 'string') return { tags: [], problems: [found] }
    const tags: Tag[] = []
    const problems = new Set<string>()
    for (const id of [...found].sort()) {
      const tag = names.tag(id)
      if (tag === undefined) continue
      if ('problem' in tag) problems.add(tag.problem)
      else tags.push(tag)
    }
    return { tags, problems: [...problems] }
  }

  return {
    async read(objects, take, signal) {
      names.begin()
      splits = 0
      for (let i = 0; i < objects.length; i += BATCH) {
        const batch = objects.slice(i, i + BATCH)
        const found = new Map<string, readonly string[] | string>()
        await attached(batch, found, signal)
        const ids = new Set([...found.values()].flatMap((each) => (typeof each === 'string' ? [] : each)))
        await names.learn([...ids], signal)
        take(new Map(batch.map(keyOf).map((key) => [key, tagsOf(found.get(key) ?? [])])))
      }
    },
  }
}
