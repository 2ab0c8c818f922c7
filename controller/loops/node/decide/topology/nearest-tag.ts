import { isLabelValue, nearestLabelValue } from '../../../../types/labels.ts'
import {
  type Ancestor,
  type Ancestry,
  type Tag,
  type UnreadTags,
  WAYS,
} from '../../../../types/virtual-machine.ts'

/** The tags of a category on the nearest object that has any. */
export interface NearestTag {
  /** In the order of their names. */
  readonly tags: readonly Tag[]
  /** Undefined where no object has one. */
  readonly on: Ancestor | undefined
  /** What could not be read on the way there, so that a nearer tag may exist. */
  readonly unread: readonly string[]
}

/** Looks for the tag of a category: first upwards from the host, then from the resource pool, then from the VM itself. */
export function nearestTag(ancestry: Ancestry, category: string): NearestTag {
  const unread: string[] = []
  const take = (more: readonly UnreadTags[] = []) => {
    for (const each of more) if ((each.category ?? category) === category) unread.push(each.why)
  }
  for (const way of WAYS) {
    for (const ancestor of ancestry[way]) {
      take(ancestor.unread)
      const tags = ancestor.tags.filter((tag) => tag.category === category)
      if (tags.length > 0) return { tags: tags.toSorted(byName), on: ancestor, unread }
    }
    take(ancestry.unreadAbove?.[way])
  }
  return { tags: [], on: undefined, unread }
}

/** By code units, so that the order is the same everywhere. */
function byName(a: Tag, b: Tag): number {
  return a.name < b.name ? -1 : 1
}

/**
 * The label value that a tag gives, or why it gives none. A name that is not a valid value becomes the nearest valid one,
 * unless that could be another zone's as well: two zones must never become one.
 */
export function labelOf({
  name,
  alike = [],
}: Tag): { readonly value: string } | { readonly problem: string } {
  if (isLabelValue(name)) return { value: name }
  const value = nearestLabelValue(name)
  if (value === undefined)
    return { problem: 'no label value can be made from it without losing letters or digits' }
  if (alike.length === 0) return { value }
  const others = alike.slice(0, 3).map((other) => `"${other}"`)
  return { problem: `its label value would be ${value}, the same as that of ${others.join(', ')}` }
}
