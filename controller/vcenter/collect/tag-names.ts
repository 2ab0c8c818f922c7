/** The names of tags of the categories of interest, and which of them would give the same label. */
import { isLabelValue, nearestLabelValue } from '../../types/labels.ts'
import type { Tag, UnreadTags } from '../../types/virtual-machine.ts'
import type { RESTClient } from '../session/rest.ts'
import { isNotFound } from '../session/rest-interfaces.ts'
import type { VCenterError } from '../wire/errors.ts'
import { isOfOne } from './tag-answers.ts'
import { AT_ONCE, createTagCalls } from './tag-calls.ts'
import { createTagCategories } from './tag-categories.ts'

export function createTagNames({
  rest,
  ...options
}: {
  readonly rest: RESTClient
  /** The names of those of interest. */
  readonly categories: ReadonlySet<string>
}) {
  const calls = createTagCalls({ rest, stillTells })
  const categories = createTagCategories({ ...options, calls })
  const names = new Map<string, string>()
  /** Tags that need not be asked for their names until the next refresh. */
  let fresh = new Set<string>()
  /** Why tags have no name. */
  let problems = new Map<string, { readonly why: string; readonly isGone: boolean }>()
  let alikes = new Map<string, readonly string[]>()

  /** Asks some tags for their names again, other than these. Returns whether vCenter tells one. */
  async function stillTells(besides: readonly string[], signal: AbortSignal): Promise<boolean> {
    const asked = new Set(besides)
    const told = [...names.keys()].filter((id) => !asked.has(id)).slice(0, AT_ONCE)
    const again = await Promise.all(told.map((id) => nameTag(id, signal)))
    return again.includes(undefined)
  }

  /** Reads the name of a tag. One that may not be read any more keeps its name. Returns why it is refused. */
  async function nameTag(id: string, signal: AbortSignal): Promise<VCenterError | undefined> {
    try {
      names.set(id, await calls.nameOf('tag', id, signal))
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
    const unread = ids.filter((id) => categories.categoryOf(id) !== undefined && !fresh.has(id))
    if (unread.length > 0) alikes = new Map()
    await calls.refusals(unread, (id) => nameTag(id, signal), signal)
    for (const id of unread) fresh.add(id)
  }

  /** The names of other tags of its category that would give the same label as this one, whose name has to be changed. */
  function alike(id: string, { category, name }: Tag): readonly string[] {
    const before = alikes.get(id)
    if (before !== undefined) return before
    const value = nearestLabelValue(name)
    const others = categories.tagsOf(new Set([category])).filter((other) => other !== id)
    const found = others
      .flatMap((other) => names.get(other) ?? [])
      .filter((other) => value !== undefined && nearestLabelValue(other) === value)
      .sort()
    alikes.set(id, found)
    return found
  }

  /** Why others of a category have no name, so that one may be alike; a tag that is gone is not. */
  const unnamed = (category: string): readonly string[] =>
    [...problems].flatMap(([id, each]) =>
      categories.categoryOf(id) === category && !each.isGone ? each.why : [],
    )

  return {
    /** To be called before each read: forgets earlier failures. */
    begin(): void {
      calls.begin()
      categories.begin()
      for (const id of problems.keys()) fresh.delete(id)
      problems = new Map()
    },
    /** Lets all names be asked for again when they are needed. What is known counts until then. */
    refresh(): void {
      categories.refresh()
      fresh = new Set()
    },
    /**
     * Looks up those of these tags that belong to the categories of interest. Throws a VCenterError when vCenter fails as a
     * whole or this takes too many calls: what was found is kept, and the next read continues from there.
     */
    async learn(ids: readonly string[], signal: AbortSignal): Promise<void> {
      await categories.learn(ids, signal)
      await nameTags(ids, signal)
      // The others of a category count where a name has to be changed to be a label's value: two may become one.
      const changed = ids.filter((id) => !isLabelValue(names.get(id) ?? ''))
      const affected = new Set(changed.flatMap((id) => categories.categoryOf(id) ?? []))
      if (affected.size > 0) await nameTags(categories.tagsOf(affected), signal)
    },
    /** What is known of a tag: nothing where it is of another category. */
    tag(id: string): { readonly tag?: Tag; readonly unread: readonly UnreadTags[] } {
      const category = categories.categoryOf(id)
      if (category === undefined) return { unread: categories.doubtsAbout(id) }
      const name = names.get(id)
      if (name === undefined)
        return { unread: [{ why: problems.get(id)?.why ?? `tag ${id} was not read`, category }] }
      if (isLabelValue(name)) return { tag: { category, name }, unread: [] }
      const others = Object.entries({ alike: alike(id, { category, name }), unnamed: unnamed(category) })
      const some = Object.fromEntries(others.filter(([, list]) => list.length > 0))
      return { tag: { category, name, ...some }, unread: [] }
    },
    lacking: categories.lacking,
  }
}
