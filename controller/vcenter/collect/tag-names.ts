/** The names of tags and categories, by ID. Tags of other categories cost no calls of their own. */
import * as v from 'valibot'
import { eachOf } from '../../lib/tasks.ts'
import { isLabelValue, nearestLabelValue } from '../../types/labels.ts'
import type { Tag, TagLack, UnreadTags } from '../../types/virtual-machine.ts'
import type { RESTClient } from '../session/rest.ts'
import { isBadAnswer, isNotFound, isRESTRefusal } from '../session/rest-interfaces.ts'
import { VCenterError } from '../wire/errors.ts'
import { askTwice, isOfOne, parseTagAnswer } from './tag-answers.ts'

/**
 * Most calls for names in one read. A vCenter has at most 1,000 categories. How long Nodes wait for tags is limited by time,
 * not by this.
 */
const MAX_CALLS = 2_000
/** Most tags of other categories that are remembered. */
const MAX_FOREIGN = 100_000
/** Calls that are made side by side: at a site that is far away, each takes seconds. */
const AT_ONCE = 4

const Named = v.object({ name: v.string() })
/** Some servers write null for an empty list. */
const IDs = v.nullish(v.array(v.string()))

export function createTagNames({
  rest,
  categories,
}: {
  readonly rest: RESTClient
  /** The names of those of interest. */
  readonly categories: ReadonlySet<string>
}) {
  /** Names of all categories seen, by ID. */
  const categoryNames = new Map<string, string>()
  /** The ID of its category by that of a tag, for those of interest: a category that is renamed takes its tags along. */
  const members = new Map<string, string>()
  const names = new Map<string, string>()
  let foreign = new Set<string>()
  /** Tags that need not be asked for their names until the next refresh. */
  let fresh = new Set<string>()
  /** Whether the categories are to be read again. */
  let isDue = false
  /** Whether this read has looked for categories and their tags. */
  let hasLooked = false
  /** The categories of interest whose tags `members` has: see {@link known}. */
  let membersOf = '[]'
  /** Categories that keep their names because these could not be read again. */
  let kept: readonly string[] = []
  /** How many categories vCenter has shown. */
  let shown: number | undefined
  /** Why tags have no name, and why unknown tags may belong to a category of interest. */
  let problems = new Map<string, { readonly why: string; readonly isGone: boolean }>()
  /** Why it is unknown which tags a category has, by its name. */
  let doubts = new Map<string, { readonly why: string; readonly error: VCenterError }>()
  let alikes = new Map<string, readonly string[]>()
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

  /** The answer about one category or tag. */
  async function ask<const S extends v.GenericSchema>(
    schema: S,
    ...about: Parameters<typeof call>
  ): Promise<v.InferOutput<S>> {
    return await askTwice(async () => parseTagAnswer(schema, await call(...about)))
  }

  /**
   * Asks about each, and returns why some are refused. Throws where vCenter itself fails at every one, and at what it has told
   * before: then it fails as a whole, and is soon asked again.
   */
  async function refusals(
    ids: readonly string[],
    work: (id: string) => Promise<VCenterError | undefined>,
    signal: AbortSignal,
  ): Promise<readonly VCenterError[]> {
    const errors: VCenterError[] = []
    await sideBySide(ids, async (id) => {
      const error = await work(id)
      if (error !== undefined) errors.push(error)
    })
    const [error] = errors
    if (error === undefined || errors.length < ids.length || !errors.every(isBadAnswer)) return errors
    const asked = new Set(ids)
    const told = [...names.keys()].filter((id) => !asked.has(id)).slice(0, AT_ONCE)
    const again = await Promise.all(told.map((id) => nameTag(id, signal)))
    if (again.includes(undefined)) return errors
    throw error
  }

  function idsOfInterest(): string[] {
    return [...categoryNames].flatMap(([id, name]) => (categories.has(name) ? id : []))
  }

  /** The categories of interest as far as they are known, as text that can be compared. */
  function known(): string {
    return JSON.stringify([...categoryNames].filter(([, name]) => categories.has(name)))
  }

  /** The name of a tag's category. Undefined where it is none of interest. */
  function categoryOf(tag: string): string | undefined {
    const name = categoryNames.get(members.get(tag) ?? '')
    return name !== undefined && categories.has(name) ? name : undefined
  }

  function hasEmptyCategory(): boolean {
    const used = new Set(members.values())
    return idsOfInterest().some((id) => !used.has(id))
  }

  function missing(): string[] {
    const present = new Set(categoryNames.values())
    return [...categories].filter((name) => !present.has(name))
  }

  /**
   * Reads the name of a category. Returns why that is refused; a category that no longer exists is forgotten, and so is one that
   * had this name, as names are unique in a vCenter.
   */
  async function nameCategory(id: string, signal: AbortSignal): Promise<VCenterError | undefined> {
    try {
      const { name } = await ask(Named, 'GET', 'tagging/category', id, signal)
      for (const [other, its] of categoryNames) if (its === name) categoryNames.delete(other)
      categoryNames.set(id, name)
    } catch (error) {
      if (!isOfOne(error)) throw error
      if (!isNotFound(error)) return error
      categoryNames.delete(id)
    }
    return undefined
  }

  /**
   * Finds what was renamed or deleted. A category that may not be read any more keeps its name, unless another has it by now.
   */
  async function refreshCategories(signal: AbortSignal): Promise<void> {
    const refused: string[] = []
    await sideBySide(idsOfInterest(), async (id) => {
      if ((await nameCategory(id, signal)) !== undefined) refused.push(id)
    })
    kept = refused
    if (missing().length === 0 && kept.length === 0) return
    // Another one may have the name now.
    for (const [id, name] of categoryNames) if (!categories.has(name)) categoryNames.delete(id)
  }

  /** Reads the names of categories while any is sought. Returns why one of them, or their list, is refused. */
  async function nameCategories(
    isSought: () => boolean,
    signal: AbortSignal,
  ): Promise<VCenterError | undefined> {
    try {
      const ids = parseTagAnswer(IDs, await call('GET', 'tagging/category', undefined, signal)) ?? []
      shown = ids.length
      const [error] = await refusals(
        ids,
        async (id) => (categoryNames.has(id) || !isSought() ? undefined : await nameCategory(id, signal)),
        signal,
      )
      return error
    } catch (error) {
      if (!isRESTRefusal(error)) throw error
      return error
    }
  }

  /** Looks for the categories of interest while one is missing, or another may have its name by now. */
  async function findCategories(signal: AbortSignal): Promise<void> {
    const sought = () => [...missing(), ...kept.flatMap((id) => categoryNames.get(id) ?? [])]
    if (sought().length === 0) return
    const error = await nameCategories(() => sought().length > 0, signal)
    if (error === undefined) return
    for (const name of sought()) doubts.set(name, { why: `tag categories: ${error.message}`, error })
  }

  async function listMembers(signal: AbortSignal): Promise<void> {
    for (const tag of members.keys()) if (categoryOf(tag) === undefined) members.delete(tag)
    await refusals(
      idsOfInterest(),
      async (id) => {
        const name = categoryNames.get(id) ?? ''
        try {
          const tags = (await ask(IDs, 'POST', 'tagging/tag', id, signal)) ?? []
          for (const [tag, category] of members) if (category === id) members.delete(tag)
          for (const tag of tags) members.set(tag, id)
        } catch (error) {
          if (!isOfOne(error)) throw error
          doubts.set(name, { why: `the tags of category "${name}": ${error.message}`, error })
          // It was just deleted; another one may have its name.
          if (isNotFound(error)) categoryNames.delete(id)
          return error
        }
        return undefined
      },
      signal,
    )
    membersOf = known()
  }

  /** Learns which tags belong to the categories of interest. */
  async function look(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const refreshes = isDue
    isDue = false
    try {
      if (refreshes) await refreshCategories(signal)
      await findCategories(signal)
      const haveChanged = known() !== membersOf
      if (haveChanged) foreign = new Set()
      const unknown = ids.filter(isUnknown)
      if (haveChanged || unknown.length > 0 || hasEmptyCategory()) await listMembers(signal)
      if (doubts.size === 0) for (const id of unknown) if (isUnknown(id)) foreign.add(id)
      hasLooked = true
    } catch (error) {
      isDue ||= refreshes
      throw error
    }
  }

  function isUnknown(id: string): boolean {
    return categoryOf(id) === undefined && !foreign.has(id)
  }

  /** Whether {@link look} may find more than is known: a new tag may be of interest, and its category may be new too. */
  function mayFindMore(ids: readonly string[]): boolean {
    if (!hasLooked && (isDue || missing().length > 0 || known() !== membersOf)) return true
    return doubts.size === 0 && ids.some(isUnknown)
  }

  /** Reads the name of a tag. One that may not be read any more keeps its name. Returns why it is refused. */
  async function nameTag(id: string, signal: AbortSignal): Promise<VCenterError | undefined> {
    try {
      names.set(id, (await ask(Named, 'GET', 'tagging/tag', id, signal)).name)
      fresh.add(id)
      return undefined
    } catch (error) {
      if (!isOfOne(error)) throw error
      const isGone = isNotFound(error)
      if (isGone) names.delete(id)
      if (!names.has(id)) problems.set(id, { why: `tag ${id}: ${error.message}`, isGone })
      return error
    }
  }

  async function nameTags(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const unread = ids.filter((id) => categoryOf(id) !== undefined && !fresh.has(id))
    if (unread.length > 0) alikes = new Map()
    await refusals(unread, (id) => nameTag(id, signal), signal)
    for (const id of unread) fresh.add(id)
  }

  /** The names of other tags of its category that would give the same label as this one, whose name has to be changed. */
  function alike(id: string, name: string): readonly string[] {
    const before = alikes.get(id)
    if (before !== undefined) return before
    const [value, category] = [nearestLabelValue(name), members.get(id)]
    const others = [...members].flatMap(([other, of]) => (of === category && other !== id ? other : []))
    const found = others
      .flatMap((other) => names.get(other) ?? [])
      .filter((other) => value !== undefined && nearestLabelValue(other) === value)
      .sort()
    alikes.set(id, found)
    return found
  }

  /** Why others of a category have no name, so that one may be alike; a tag that is gone is not. */
  const unnamed = (category: string): readonly string[] =>
    [...problems].flatMap(([id, each]) => (categoryOf(id) === category && !each.isGone ? each.why : []))

  return {
    /** To be called before each read: forgets earlier failures. */
    begin(): void {
      calls = 0
      for (const id of problems.keys()) fresh.delete(id)
      problems = new Map()
      doubts = new Map()
      hasLooked = false
      if (foreign.size > MAX_FOREIGN) foreign = new Set()
    },
    /** Lets all names be asked for again when they are needed. What is known counts until then. */
    refresh(): void {
      isDue = true
      fresh = new Set()
    },
    /**
     * Looks up those of these tags that belong to the categories of interest. Throws a VCenterError when vCenter fails as a
     * whole or this takes too many calls: what was found is kept, and the next read continues from there.
     */
    async learn(ids: readonly string[], signal: AbortSignal): Promise<void> {
      if (mayFindMore(ids)) await look(ids, signal)
      await nameTags(ids, signal)
      // The others of a category count where a name has to be changed to be a label's value: two may become one.
      const changed = ids.filter((id) => !isLabelValue(names.get(id) ?? ''))
      const affected = new Set(changed.flatMap((id) => categoryOf(id) ?? []))
      if (affected.size === 0) return
      await nameTags(
        [...members.keys()].filter((id) => affected.has(categoryOf(id) ?? '')),
        signal,
      )
    },
    /** What is known of a tag: nothing where it is of another category. */
    tag(id: string): { readonly tag?: Tag; readonly unread: readonly UnreadTags[] } {
      const category = categoryOf(id)
      if (category === undefined) {
        if (foreign.has(id)) return { unread: [] }
        return { unread: Array.from(doubts, ([category, { why }]) => ({ why, category })) }
      }
      const name = names.get(id)
      if (name === undefined)
        return { unread: [{ why: problems.get(id)?.why ?? `tag ${id} was not read`, category }] }
      if (isLabelValue(name)) return { tag: { category, name }, unread: [] }
      const others = Object.entries({ alike: alike(id, name), unnamed: unnamed(category) })
      const some = Object.fromEntries(others.filter(([, list]) => list.length > 0))
      return { tag: { category, name, ...some }, unread: [] }
    },
    /** Why there is no tag of a category of interest. What could not be read is not told of. */
    lacking(): ReadonlyMap<string, TagLack> {
      const [absent, used] = [missing(), new Set([...members.keys()].map(categoryOf))]
      const without = (name: string): TagLack | undefined => {
        if (doubts.has(name) || (shown === undefined && absent.length > 0)) return undefined
        if (absent.includes(name)) return shown === 0 ? 'categories' : 'category'
        return used.has(name) ? undefined : 'tags'
      }
      return new Map(
        [...categories].flatMap((name) => {
          const lack = without(name)
          return lack === undefined ? [] : [[name, lack] as const]
        }),
      )
    },
    /** Those categories of interest that there are, with the number of their tags. Throws a VCenterError. */
    async categories(signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
      await look([], signal)
      for (const { error } of doubts.values()) throw error
      const found = [...categoryNames.values()].filter((name) => categories.has(name))
      const tags = [...members.keys()].map(categoryOf)
      return new Map(found.map((name) => [name, tags.filter((category) => category === name).length]))
    },
  }
}

async function sideBySide(ids: readonly string[], work: (id: string) => Promise<unknown>): Promise<void> {
  await eachOf(ids, work, { atOnce: AT_ONCE })
}
