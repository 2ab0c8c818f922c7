/** Reads the tags of many objects in few calls, for the categories of interest. */
import type { Clock } from '../../../agent/shared/clock.ts'
import type { Tag, TagLack, UnreadTags } from '../../types/virtual-machine.ts'
import type { RESTClient } from '../session/rest.ts'
import { RESTError } from '../session/rest-interfaces.ts'
import type { Timings } from '../timings.ts'
import { UnansweredError } from '../wire/errors.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { type AttachedTags, createAttachedTags } from './attached-tags.ts'
import { createTagNames } from './tag-names.ts'

/** The tags of one object, and which could not be read. */
export interface ObjectTags {
  readonly tags: readonly Tag[]
  readonly problems: readonly UnreadTags[]
}

export interface TagReader {
  /**
   * Passes on the tags of each object, by {@link keyOf}, batch by batch. An unreadable object or tag is a problem of that
   * object only. Throws a VCenterError when vCenter fails as a whole or the names take too many calls; the next read then
   * continues from there. Not for concurrent use.
   */
  read(
    objects: readonly ManagedObjectReference[],
    take: (tags: Map<string, ObjectTags>) => void,
    signal: AbortSignal,
  ): Promise<void>
  /** Lets the next read ask for all names again: tags and categories may have been renamed. */
  refreshNames(): void
  /** When the tag service has last answered, also with a refusal; monotonic. */
  lastAnswer(): number
  /** Why there is no tag of a category of interest, as of the last read. Those that have tags are not among them. */
  lacking(): ReadonlyMap<string, TagLack>
}

export function createTagReader({
  categories,
  timings,
  clock,
  ...options
}: {
  readonly rest: RESTClient
  readonly categories: ReadonlySet<string>
  readonly timings: Timings
  readonly clock: Clock
}): TagReader {
  let lastAnswer = clock.monotonic()
  const rest = noteAnswers(options.rest, () => {
    lastAnswer = clock.monotonic()
  })
  const names = createTagNames({ rest, categories })
  const attachedTags = createAttachedTags({ rest, timings, clock })

  function tagsOf(found: AttachedTags): ObjectTags {
    if (typeof found === 'string') return { tags: [], problems: [{ why: found }] }
    const tags: Tag[] = []
    const problems = new Map<string, UnreadTags>()
    for (const id of [...found].sort()) {
      const { tag, unread } = names.tag(id)
      if (tag !== undefined) tags.push(tag)
      for (const { why, category } of unread) {
        const isOfMore = problems.has(why) && problems.get(why)?.category !== category
        problems.set(why, isOfMore || category === undefined ? { why } : { why, category })
      }
    }
    return { tags, problems: [...problems.values()] }
  }

  return {
    async read(objects, take, signal) {
      names.begin()
      for await (const { batch, found } of attachedTags.read(objects, signal)) {
        const ids = new Set([...found.values()].flatMap((each) => (typeof each === 'string' ? [] : each)))
        await names.learn([...ids], signal)
        take(new Map(batch.map(keyOf).map((key) => [key, tagsOf(found.get(key) ?? [])])))
      }
    },
    refreshNames: names.refresh,
    lastAnswer: () => lastAnswer,
    lacking: names.lacking,
  }
}

/** The same client; tells of each answer, also of one that refuses. */
function noteAnswers(rest: RESTClient, answered: () => void): RESTClient {
  return {
    ...rest,
    async call(call) {
      try {
        const answer = await rest.call(call)
        answered()
        return answer
      } catch (error) {
        if (error instanceof RESTError || error instanceof UnansweredError) answered()
        throw error
      }
    },
  }
}
