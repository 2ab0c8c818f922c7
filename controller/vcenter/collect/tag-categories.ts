/** The tag categories of interest, and which tags they have. Tags of other categories cost no calls of their own. */
import { eachOf } from '../../lib/tasks.ts'
import type { TagLack, UnreadTags } from '../../types/virtual-machine.ts'
import { isNotFound, isRESTRefusal } from '../session/rest-interfaces.ts'
import type { VCenterError } from '../wire/errors.ts'
import { isOfOne } from './tag-answers.ts'
import { AT_ONCE, type createTagCalls } from './tag-calls.ts'

/** Most tags of other categories that are remembered. */
const MAX_FOREIGN = 100_000

export function createTagCategories({
  calls,
  categories,
}: {
  readonly calls: ReturnType<typeof createTagCalls>
  /** The names of those of interest. */
  readonly categories: ReadonlySet<string>
}) {
  /** Names of all categories seen, by ID. */
  const categoryNames = new Map<string, string>()
  /** The ID of its category by that of a tag, for those of interest: a category that is renamed takes its tags along. */
  const members = new Map<string, string>()
  let foreign = new Set<string>()
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
  /** Categories that have a tag on an object, by name, as far as objects were read since the last refresh. */
  const attached = new Set<string>()
  /** Why it is unknown which tags a category has, by its name; until that could be read. */
  let doubts = new Map<string, { readonly why: string; readonly error: VCenterError }>()

  function idsOfInterest(): string[] {
    return [...categoryNames].flatMap(([id, name]) => (categories.has(name) ? id : []))
  }

  /** The categories of interest as far as they are known, as text that can be compared, whichever was answered first. */
  function known(): string {
    return JSON.stringify(
      idsOfInterest()
        .sort()
        .map((id) => [id, categoryNames.get(id)]),
    )
  }

  /** The name of a tag's category. Undefined where it is none of interest. */
  function categoryOf(tag: string): string | undefined {
    const name = categoryNames.get(members.get(tag) ?? '')
    return name !== undefined && categories.has(name) ? name : undefined
  }

  /** Whether a category of interest has none of these tags. */
  function hasUnused(tags: Iterable<string>): boolean {
    const used = new Set(Array.from(tags, (tag) => members.get(tag)))
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
      const name = await calls.nameOf('category', id, signal)
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
    attached.clear()
    const refused: string[] = []
    await eachOf(
      idsOfInterest(),
      async (id) => {
        if ((await nameCategory(id, signal)) !== undefined) refused.push(id)
      },
      { atOnce: AT_ONCE },
    )
    kept = refused
    if (missing().length === 0 && kept.length === 0) return
    // Another one may have the name now.
    for (const [id, name] of categoryNames) if (!categories.has(name)) categoryNames.delete(id)
  }

  /**
   * Reads the names of categories while any is sought. Returns why one of them, or their list, is refused. One that keeps its name
   * loses it where it is not listed.
   */
  async function nameCategories(
    isSought: () => boolean,
    signal: AbortSignal,
  ): Promise<VCenterError | undefined> {
    try {
      const ids = await calls.listCategories(signal)
      shown = ids.length
      // One that the account may not read any more: its name is refused, and the list leaves it out.
      for (const id of kept) if (!ids.includes(id)) categoryNames.delete(id)
      const [error] = await calls.refusals(
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
    await calls.refusals(
      idsOfInterest(),
      async (id) => {
        const name = categoryNames.get(id) ?? ''
        try {
          const tags = await calls.listTags(id, signal)
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
    const [refreshes, before] = [isDue, doubts]
    isDue = false
    doubts = new Map()
    try {
      if (refreshes) await refreshCategories(signal)
      await findCategories(signal)
      const haveChanged = known() !== membersOf
      if (haveChanged) foreign = new Set()
      const unknown = ids.filter(isUnknown)
      // None is attached any more where the last was deleted, or where the rights on them were lost: the lists tell.
      const isUnused = hasUnused(refreshes ? ids : members.keys())
      if (haveChanged || unknown.length > 0 || isUnused || before.size > 0) await listMembers(signal)
      if (doubts.size === 0) for (const id of unknown) if (isUnknown(id)) foreign.add(id)
      hasLooked = true
    } catch (error) {
      isDue ||= refreshes
      doubts = before
      throw error
    }
  }

  function isUnknown(id: string): boolean {
    return categoryOf(id) === undefined && !foreign.has(id)
  }

  /** Whether {@link look} may find more than is known: a new tag may be of interest, and its category may be new too. */
  function mayFindMore(ids: readonly string[]): boolean {
    const isOpen = isDue || missing().length > 0 || known() !== membersOf || doubts.size > 0
    if (!hasLooked && isOpen) return true
    return doubts.size === 0 && ids.some(isUnknown)
  }

  return {
    /** To be called before each read: what has failed is asked again. */
    begin(): void {
      hasLooked = false
      if (foreign.size > MAX_FOREIGN) foreign = new Set()
    },
    /** Lets the categories be read again when they are needed. What is known counts until then. */
    refresh(): void {
      isDue = true
    },
    /** Learns which of these tags belong to the categories of interest. Throws a VCenterError. */
    async learn(ids: readonly string[], signal: AbortSignal): Promise<void> {
      if (mayFindMore(ids)) await look(ids, signal)
      for (const id of ids) attached.add(categoryOf(id) ?? '')
    },
    categoryOf,
    /** All tags of these categories. */
    tagsOf(names: ReadonlySet<string>): string[] {
      return [...members.keys()].filter((id) => names.has(categoryOf(id) ?? ''))
    },
    /** Why a tag without a category of interest may have one all the same. */
    doubtsAbout(id: string): readonly UnreadTags[] {
      if (foreign.has(id)) return []
      return Array.from(doubts, ([category, { why }]) => ({ why, category }))
    },
    /** Why there is no tag of a category of interest. */
    lacking(): ReadonlyMap<string, TagLack> {
      const [absent, used] = [missing(), new Set([...members.keys()].map(categoryOf))]
      const without = (name: string): TagLack | undefined => {
        const isAbsent = absent.includes(name)
        // Where not all may be read, no tag on any object says nothing.
        const doubt = doubts.get(name)
        if (doubt !== undefined) return isAbsent || !attached.has(name) ? { unread: doubt.why } : undefined
        if (shown === undefined && absent.length > 0) return undefined
        if (isAbsent) return shown === 0 ? 'categories' : 'category'
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
    async counts(signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
      await look([], signal)
      for (const { error } of doubts.values()) throw error
      const found = [...categoryNames.values()].filter((name) => categories.has(name))
      const tags = [...members.keys()].map(categoryOf)
      return new Map(found.map((name) => [name, tags.filter((category) => category === name).length]))
    },
  }
}
