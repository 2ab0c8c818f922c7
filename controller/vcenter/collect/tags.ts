/** Reads the tags of many objects in few calls, as far as they are of the categories of interest. */
import * as v from 'valibot'
import type { Clock } from '../../clock.ts'
import type { Tag } from '../../facts/virtual-machine.ts'
import type { Timings } from '../timings.ts'
import { keyOf, type Reference, VCenterError } from '../wire/errors.ts'
import { type RESTClient, RESTError } from '../wire/rest.ts'

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
   * The tags of each object, by {@link keyOf}. An object or a tag that cannot be read is a problem of that object
   * alone; throws a VCenterError when vCenter fails as a whole. Not for concurrent use.
   */
  read(objects: readonly Reference[], signal: AbortSignal): Promise<Map<string, ObjectTags>>
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
const TagModel = v.object({ name: v.string(), category_id: v.string() })
const CategoryModel = v.object({ name: v.string() })

/** A tag of interest, none, or why it cannot be told. */
type TagDetail = Tag | 'other' | { readonly problem: string }

export function createTagReader({ rest, categories, timings, clock }: TagReaderOptions): TagReader {
  let details = new Map<string, TagDetail>()
  let categoryNames = new Map<string, string>()
  let namesRead = clock.monotonic()
  let splits = 0

  /** Tag IDs by object; an object that cannot be read has the reason in their place. */
  async function attached(
    objects: readonly Reference[],
    into: Map<string, readonly string[] | string>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const answer = await rest.call({
        method: 'POST',
        resource: 'tagging/tag-association',
        suffix: '?~action=list-attached-tags-on-objects',
        body: { object_ids: objects.map(({ type, value }) => ({ type, id: value })) },
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

  async function readDetail(id: string, signal: AbortSignal): Promise<TagDetail> {
    try {
      const tag = parse(TagModel, await get(rest, 'tagging/tag', id, signal))
      let category = categoryNames.get(tag.category_id)
      if (category === undefined) {
        category = parse(CategoryModel, await get(rest, 'tagging/category', tag.category_id, signal)).name
        categoryNames.set(tag.category_id, category)
      }
      return categories.has(category) ? { category, name: tag.name } : 'other'
    } catch (error) {
      if (!isRefusal(error)) throw error
      return { problem: `tag ${id}: ${error.message}` }
    }
  }

  function forgetOldNames(): void {
    if (clock.monotonic() - namesRead >= timings.tagNamesAge) {
      details = new Map()
      categoryNames = new Map()
      namesRead = clock.monotonic()
    }
    for (const [id, detail] of details) if (detail !== 'other' && 'problem' in detail) details.delete(id)
  }

  return {
    async read(objects, signal) {
      forgetOldNames()
      splits = 0
      const ids = new Map<string, readonly string[] | string>()
      for (let i = 0; i < objects.length; i += BATCH) await attached(objects.slice(i, i + BATCH), ids, signal)
      const result = new Map<string, ObjectTags>()
      for (const object of objects) {
        const found = ids.get(keyOf(object)) ?? []
        if (typeof found === 'string') {
          result.set(keyOf(object), { tags: [], problems: [found] })
          continue
        }
        const tags: Tag[] = []
        const problems: string[] = []
        for (const id of [...found].sort()) {
          const detail = details.get(id) ?? (await readDetail(id, signal))
          details.set(id, detail)
          if (detail === 'other') continue
          if ('problem' in detail) problems.push(detail.problem)
          else tags.push(detail)
        }
        result.set(keyOf(object), { tags, problems })
      }
      return result
    },
  }
}

function get(rest: RESTClient, resource: string, id: string, signal: AbortSignal): Promise<unknown> {
  return rest.call({ method: 'GET', resource, suffix: `/id:${encodeURIComponent(id)}`, signal })
}

/** Whether the answer is about the objects or tags asked for, rather than about the state of vCenter. */
function isRefusal(error: unknown): error is RESTError {
  return (
    error instanceof RESTError &&
    error.status >= 400 &&
    error.status < 500 &&
    ![401, 408, 429].includes(error.status)
  )
}

function parse<const S extends v.GenericSchema>(schema: S, value: unknown): v.InferOutput<S> {
  const result = v.safeParse(schema, value)
  if (result.success) return result.output
  const [issue] = result.issues
  throw new VCenterError(
    'MalformedAnswer',
    `vCenter answers about tags in an unknown form: ${issue.message.slice(0, 200)}`,
  )
}
