/** Tags that are two, renamed, no label values, or gone: what becomes of zones then. */
import { edit, type Mutation } from './mutation.ts'

const ZONES = 'controller/loops/node/decide/topology/zone-from-tags.ts'
const NAMES = 'controller/vcenter/collect/tag-names.ts'
const CATEGORIES = 'controller/vcenter/collect/tag-categories.ts'

function without(name: string, file: string, text: string, becomes: string, ...about: string[]): Mutation {
  return { name: `tags: ${name}`, about, edits: [edit(file, text, becomes)] }
}

export const TAG_MUTATIONS: readonly Mutation[] = [
  without(
    'of several on one host the one that the Node has counts',
    ZONES,
    'present !== undefined && values.has(present) ? present : first',
    'first',
    'zone-tag-added',
  ),
  without(
    'it is told that there are several',
    ZONES,
    "kind: 'ambiguous', message }",
    "kind: 'renamed', message }",
    'zone-tag-added',
  ),
  without(
    'names are read again',
    NAMES,
    'categories.refresh()\n      fresh = new Set()',
    'categories.refresh()',
    'zone-tag-renamed',
  ),
  without(
    'names of categories are read again',
    CATEGORIES,
    'if (refreshes) await refreshCategories(signal)',
    '',
    'zone-category-renamed',
    'zone-category-deleted',
  ),
  without(
    'what stands stays where they say nothing',
    'controller/loops/node/decide/node-patch.ts',
    'if (value === undefined) continue',
    'if (value === undefined && label in node.labels && follow) Object.assign(missing, { [label]: null })\n    if (value === undefined) continue',
    'zone-category-renamed',
    'zone-category-deleted',
  ),
  without(
    'no letter is lost',
    'controller/types/labels.ts',
    "if (/[\\p{L}\\p{N}]/u.test(plain.replace(/[A-Za-z0-9]/g, ''))) return undefined",
    '',
    'zone-tag-renamed',
    'zone-tags-alike',
  ),
  without(
    'two never give one label',
    ZONES,
    'if (alike.length > 0) {',
    'if (alike.length < 0) {',
    'zone-tags-alike',
  ),
  {
    name: 'tags: one that may not be read may give the same label',
    inSceneAlone: true,
    edits: [edit(ZONES, 'return unnamed.length > 0 ? { unnamed } : { value }', 'return { value }')],
  },
  without(
    'a category that is listed and gone hides no other',
    CATEGORIES,
    'if (!isNotFound(error)) return error',
    'if (isNotFound(error)) throw error\n      return error',
    'foreign-categories-deleted',
  ),
  {
    name: 'tags: one that is listed and gone hides no other',
    inSceneAlone: true,
    edits: [edit(NAMES, 'if (isGone) names.delete(id)', 'if (isGone) throw error')],
  },
  {
    name: 'tags: a category that is gone when its tags are read hides no other',
    inSceneAlone: true,
    edits: [
      edit(
        CATEGORIES,
        'if (isNotFound(error)) categoryNames.delete(id)',
        'if (isNotFound(error)) throw error',
      ),
    ],
  },
  {
    name: 'tags: a category that may not be read any more is not taken for one without a tag on any object',
    inSceneAlone: true,
    edits: [
      // Either of the two is enough.
      edit(CATEGORIES, 'for (const id of kept) if (!ids.includes(id)) categoryNames.delete(id)', ''),
      edit(CATEGORIES, 'isAbsent || !attached.has(name)', 'isAbsent'),
    ],
  },
  {
    name: 'tags: a category of which no tag is attached has its tags listed again',
    inSceneAlone: true,
    edits: [edit(CATEGORIES, 'hasUnused(refreshes ? ids : members.keys())', 'hasUnused(members.keys())')],
  },
]
