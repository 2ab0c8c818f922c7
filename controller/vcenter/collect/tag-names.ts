/** Names of the tags of some categories, by ID. Other tags cost no calls of their own. */
import * as v from 'valibot'
import type { Clock } from '../../../agent/shared/clock.ts'
import type { Tag } from '../../types/virtual-machine.ts'
import type { RESTClient } from '../session/rest.ts'
import type { Timings } from '../timings.ts'
import { VCenterError } from '../wire/errors.ts'
import { isRESTRefusal, parse } from './tag-answers.ts'

/**
 * Most calls for names in one read. A vCenter has at most 1,000 categories. How long Nodes wait for tags is limited by time,
 * not by this.
 */
const MAX_CALLS = 2_000
/** Most tags of other categories that are remembered. */
const MAX_FOREIGN = 100_000

const TagModel = v.object({ name: v.string() })
const CategoryModel = v.object({ name: v.string() })
/** Some servers write null for an empty list. */
const IDs = v.nullish(v.array(v.string()))

export interface TagNames {
  /** To be called before each read: forgets old names and earlier failures. */
  begin(): void
  /**
   * Looks up those of these tags that belong to the categories of interest. Throws a VCenterError when vCenter fails as a
   * whole or this takes too many calls: what was found is kept, and the next read continues from there.
   */
  learn(ids: readonly string[], signal: AbortSignal): Promise<void>
  /** A known tag, undefined for a tag of another category, or why it is unknown. */
  tag(id: string): Tag | undefined | { readonly problem: string }
  /** Those categories of interest that there are, with the number of their tags. Throws a VCenterError. */
  categories(signal: AbortSignal): Promise<ReadonlyMap<string, number>>
}

export interface TagNamesOptions {
  readonly rest: RESTClient
  /** Names of the categories of interest. */
  readonly categories: ReadonlySet<string>
  readonly timings: Timings
  readonly clock: Clock
}

export function createTagNames({ rest, categories, timings, clock }: TagNamesOptions): TagNames {
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
      const { name } = parse(CategoryModel, await call('GET', 'tagging/category', id, signal))
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
      names.set(id, parse(TagModel, await call('GET', 'tagging/tag', id, signal)).name)
    } catch (error) {
      if (!isRESTRefusal(error)) throw error
      problems.set(id, `tag ${id}: ${error.message}`)
    }
  }

  return {
    begin() {
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
    async learn(ids, signal) {
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
    tag(id) {
      const category = members.get(id)
      if (category === undefined) {
        return unsure === undefined || foreign.has(id) ? undefined : { problem: unsure }
      }
      const name = names.get(id)
      return name === undefined
        ? { problem: problems.get(id) ?? `tag ${id} was not read` }
        : { category, name }
    },
    async categories(signal) {
      await findCategories(signal)
      await listMembers(signal)
      const found = [...categoryNames.values()].filter((name) => categories.has(name))
      const tags = [...members.values()]
      return new Map(found.map((name) => [name, tags.filter((category) => category === name).length]))
    },
  }
}
