/** Reads the tags of many objects in few calls, for the categories of interest. */
import * as v from 'valibot'
import type { Clock } from '../../../agent/shared/clock.ts'
import type { Tag } from '../../types/virtual-machine.ts'
import { type RESTClient, RESTError } from '../session/rest.ts'
import type { Timings } from '../timings.ts'
import { VCenterError } from '../wire/errors.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'

/** Objects per call. */
const BATCH = 2_000
/** Most calls for finding the unreadable objects of a batch. */
const MAX_SPLITS = 32

/** The tags of one object, and which could not be read. */
export interface ObjectTags {
  readonly tags: readonly Tag[]
  readonly problems: readonly string[]
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
}

/** What reads tags: `categories` are the names of those of interest. */
interface TagReaderOptions {
  readonly rest: RESTClient
  readonly categories: ReadonlySet<string>
  readonly timings: Timings
  readonly clock: Clock
}

/** `nullish`, because some servers write null for an empty list. */
const Attached = v.array(
  v.object({
    object_id: v.object({ type: v.string(), id: v.string() }),
    tag_ids: v.nullish(v.array(v.string()), []),
  }),
)

export function createTagReader({ rest, categories, timings, clock }: TagReaderOptions): TagReader {
  const names = createTagNames({ rest, categories, timings, clock })
  let splits = 0

  /** Tag IDs by object, or the reason why the object cannot be read. */
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
      if (!isRESTRefusal(error)) throw error
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

/**
 * Most calls for names in one read. A vCenter has at most 1,000 categories. How long Nodes wait for tags is limited by time,
 * not by this.
 */
const MAX_CALLS = 2_000
/** Most tags of other categories that are remembered. */
const MAX_FOREIGN = 100_000

const Named = v.object({ name: v.string() })
/** Some servers write null for an empty list. */
const IDs = v.nullish(v.array(v.string()))

/** Names of the tags of some categories, by ID. Other tags cost no calls of their own. */
export function createTagNames({ rest, categories, timings, clock }: TagReaderOptions) {
  /** Names of all categories seen, and the tags of those of interest, by ID. */
  let categoryNames = new Map<string, string>()
  let members = new Map<string, string>()
  let foreign = new Set<string>()
  let names = new Map<string, string>()
  let read = clock.monotonic()
  let problems = new Map<string, string>()
  /** Why it is unknown whether other tags are of interest. */
  let unsure: string | undefined
  let calls = 0

  async function call(method: 'GET' | 'POST', resource: string, id: string | undefined, signal: AbortSignal) {
    if (++calls > MAX_CALLS) {
      throw new VCenterError(
        'Unavailable',
        `the names of tags take more than ${MAX_CALLS} calls; the rest is read later`,
      )
    }
    const about = { resource, ...(id === undefined ? {} : { id }), signal }
    if (method === 'GET') return await rest.call({ method, ...about })
    return await rest.call({
      method,
      ...about,
      action: 'list-tags-for-category',
      body: { category_id: id },
    })
  }

  /** Looks for the categories of interest while one is missing. Category names are unique in a vCenter. */
  async function findCategories(signal: AbortSignal): Promise<void> {
    const missing = new Set(categories)
    for (const name of categoryNames.values()) missing.delete(name)
    if (missing.size === 0) return
    for (const id of parse(IDs, await call('GET', 'tagging/category', undefined, signal)) ?? []) {
      if (missing.size === 0) return
      if (categoryNames.has(id)) continue
      const { name } = parse(Named, await call('GET', 'tagging/category', id, signal))
      categoryNames.set(id, name)
      missing.delete(name)
    }
  }

  async function listMembers(signal: AbortSignal): Promise<void> {
    for (const [id, name] of categoryNames) {
      if (!categories.has(name)) continue
      for (const tag of parse(IDs, await call('POST', 'tagging/tag', id, signal)) ?? [])
        members.set(tag, name)
    }
  }

  async function name(id: string, signal: AbortSignal): Promise<void> {
    try {
      names.set(id, parse(Named, await call('GET', 'tagging/tag', id, signal)).name)
    } catch (error) {
      if (!isRESTRefusal(error)) throw error
      problems.set(id, `tag ${id}: ${error.message}`)
    }
  }

  return {
    /** To be called before each read: forgets old names and earlier failures. */
    begin(): void {
      calls = 0
      problems = new Map()
      unsure = undefined
      if (foreign.size > MAX_FOREIGN) foreign = new Set()
      if (clock.monotonic() - read < timings.tagNamesAge) return
      categoryNames = new Map()
      members = new Map()
      foreign = new Set()
      names = new Map()
      read = clock.monotonic()
    },
    /**
     * Looks up those of these tags that belong to the categories of interest. Throws a VCenterError when vCenter fails as a
     * whole or this takes too many calls: what was found is kept, and the next read continues from there.
     */
    async learn(ids: readonly string[], signal: AbortSignal): Promise<void> {
      const unknown = ids.filter((id) => !members.has(id) && !foreign.has(id))
      // A new tag may be of interest, and its category may be new too.
      if (unknown.length > 0 && unsure === undefined) {
        try {
          await findCategories(signal)
          await listMembers(signal)
          for (const id of unknown) if (!members.has(id)) foreign.add(id)
        } catch (error) {
          if (!isRESTRefusal(error)) throw error
          unsure = `tag categories: ${error.message}`
        }
      }
      for (const id of ids) {
        if (members.has(id) && !names.has(id) && !problems.has(id)) await name(id, signal)
      }
    },
    /** A known tag, undefined for a tag of another category, or why it is unknown. */
    tag(id: string): Tag | undefined | { readonly problem: string } {
      const category = members.get(id)
      if (category === undefined) {
        return unsure === undefined || foreign.has(id) ? undefined : { problem: unsure }
      }
      const name = names.get(id)
      return name === undefined
        ? { problem: problems.get(id) ?? `tag ${id} was not read` }
        : { category, name }
    },
    /** Those categories of interest that there are, with the number of their tags. Throws a VCenterError. */
    async categories(signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
      await findCategories(signal)
      await listMembers(signal)
      const found = [...categoryNames.values()].filter((name) => categories.has(name))
      const tags = [...members.values()]
      return new Map(found.map((name) => [name, tags.filter((category) => category === name).length]))
    },
  }
}

/** Whether the error is about the requested objects or tags, not about the state of vCenter. */
function isRESTRefusal(error: unknown): error is RESTError {
  return (
    error instanceof RESTError &&
    error.status >= 400 &&
    error.status < 500 &&
    ![401, 408, 429].includes(error.status)
  )
}

/** The answer of the tag service. Throws a VCenterError for a value of another shape. */
function parse<const S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value)
  if (result.success) return result.output
  const [issue] = result.issues
  throw new VCenterError(
    'MalformedAnswer',
    `vCenter answers about tags in an unknown form: ${issue.message.slice(0, 200)}`,
  )
}
