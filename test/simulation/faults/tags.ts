/** What people do to the tags of zones. Some of it is undone at the end, some stays. */
import {
  addTag,
  CATEGORIES,
  categoryNamed,
  FOREIGN_CATEGORIES,
  removeCategory,
  removeTag,
  renameTag,
  type Tagging,
  type TagModel,
  type TagName,
} from '../model/tagging.ts'
import { hostOf } from '../model/values.ts'
import type { Random } from '../random.ts'
import type { Faults, Focus } from './fault.ts'
import type { Ingredient } from './recipes.ts'

/** No tag ever has the name of another, so that it is known whose a label is. */
function numbered(random: Random): number {
  return random.below(1_000_000)
}

/** With the label values that these give, by the rule that a label is its tag's name but for what a label may not have. */
const NAMES: readonly ((number: number) => TagName)[] = [
  (number) => ({ name: `zone-${number}`, label: `zone-${number}` }),
  (number) => ({ name: `Zürich ${number}`, label: `Zurich-${number}` }),
  (number) => ({ name: `北京-${number}`, label: undefined }),
]

/** Two names that differ in what no label may have. */
const PAIRS: readonly ((number: number) => readonly [TagName, TagName])[] = [
  (number) => [
    { name: `zone ${number}`, label: `zone-${number}` },
    { name: `zone (${number})`, label: `zone-${number}` },
  ],
  (number) => [
    { name: `北京-${number}`, label: undefined },
    { name: `上海-${number}`, label: undefined },
  ],
]

/** IDs of the zone tags of a host. */
function zoneTags(tagging: Tagging, host: string): readonly string[] {
  const category = categoryNamed(tagging, CATEGORIES.zone)
  return [...(tagging.attached.get(host) ?? [])].filter((id) => tagging.tags.get(id)?.category === category)
}

/** The host of a machine's VM in this vCenter, and the first of its zone tags; undefined where it has none. */
function zoneOfFocus({ machine, vCenter }: Focus) {
  const vm = machine.vm ?? machine.lastVM
  if (vm === undefined) return undefined
  const host = hostOf(vm).value
  const [id = ''] = zoneTags(vCenter.tagging, host)
  const tag = vCenter.tagging.tags.get(id)
  return tag === undefined ? undefined : { host, id, tag }
}

/** A zone tag of another host. */
function another({ vCenter: { tagging } }: Focus, id: string, random: Random): string | undefined {
  const others = new Set([...tagging.attached.keys()].flatMap((object) => zoneTags(tagging, object)))
  others.delete(id)
  return others.size === 0 ? undefined : random.pick([...others])
}

/** Gives tags new names; those that they had come back at the end, or do not. */
function rename(random: Random, { vCenter }: Focus, renamed: readonly (readonly [TagModel, TagName])[]) {
  const before = renamed.map(([tag]) => [tag, { name: tag.name, label: tag.label }] as const)
  const apply = (names: typeof renamed): void =>
    vCenter.retag(() => {
      for (const [tag, name] of names) renameTag(tag, name)
    })
  apply(renamed)
  return random.chance(0.5) ? undefined : () => apply(before)
}

/** A category for zones, where there is none, with a tag of its own for each host and datacenter. */
function makeZones(tagging: Tagging, number: number): void {
  if (categoryNamed(tagging, CATEGORIES.zone) !== undefined) return
  const id = `${CATEGORIES.zone}-${number}`
  tagging.categories.set(id, CATEGORIES.zone)
  for (const object of [...tagging.attached.keys()]) {
    const name = `${object}-${number}`
    addTag(tagging, id, { name, label: name }, [object])
  }
}

export const TAG_FAULTS: Faults = {
  /** Two tags of the category are on one host, until one of them is detached. */
  'zone-tag-added'({ random }, focus) {
    const { vCenter } = focus
    const own = zoneOfFocus(focus)
    const other = own && another(focus, own.id, random)
    if (own === undefined || other === undefined) return undefined
    const { host, id } = own
    vCenter.retag(({ attached }) => attached.get(host)?.add(other))
    if (random.chance(0.4)) return undefined
    const detached = random.pick([id, other])
    return () => vCenter.retag(({ attached }) => attached.get(host)?.delete(detached))
  },
  'zone-tag-renamed'({ random }, focus) {
    const own = zoneOfFocus(focus)
    if (own === undefined) return undefined
    return rename(random, focus, [[own.tag, random.pick(NAMES)(numbered(random))]])
  },
  /** Two zones are called so that one label would be both. */
  'zone-tags-alike'({ random }, focus) {
    const own = zoneOfFocus(focus)
    const other = focus.vCenter.tagging.tags.get((own && another(focus, own.id, random)) ?? '')
    if (own === undefined || other === undefined) return undefined
    const [first, second] = random.pick(PAIRS)(numbered(random))
    return rename(random, focus, [
      [own.tag, first],
      [other, second],
    ])
  },
  /** Lists may name it until the end; then there may be another of its name. */
  'zone-tag-deleted'({ random }, focus) {
    const { vCenter } = focus
    const own = zoneOfFocus(focus)
    if (own === undefined) return undefined
    const { id, tag } = own
    const objects = [...vCenter.tagging.attached].flatMap(([object, ids]) => (ids.has(id) ? object : []))
    vCenter.retag((tagging) => {
      if (random.chance(0.5)) tagging.stillListed.add(id)
      else removeTag(tagging, id)
    })
    return () =>
      vCenter.retag((tagging) => {
        removeTag(tagging, id)
        const isWanted = tagging.categories.has(tag.category) && random.chance(0.5)
        if (isWanted) addTag(tagging, tag.category, tag, objects, `${id}-${numbered(random)}`)
      })
  },
  /** At the end it has its name again, or another has it, or none. */
  'zone-category-renamed'({ random }, { vCenter }) {
    const id = categoryNamed(vCenter.tagging, CATEGORIES.zone)
    if (id === undefined) return undefined
    const number = numbered(random)
    vCenter.retag(({ categories }) => categories.set(id, `former-${number}`))
    const then = random.pick(['own', 'own', 'another', 'another', 'none'])
    if (then === 'none') return undefined
    return () =>
      vCenter.retag((tagging) => {
        const isFree = categoryNamed(tagging, CATEGORIES.zone) === undefined
        if (then === 'another') makeZones(tagging, number)
        else if (isFree && tagging.categories.has(id)) tagging.categories.set(id, CATEGORIES.zone)
      })
  },
  /** With all of its tags. Lists may name it until the end; another of its name is made at once, or then. */
  'zone-category-deleted'({ random }, { vCenter }) {
    const id = categoryNamed(vCenter.tagging, CATEGORIES.zone)
    if (id === undefined) return undefined
    const number = numbered(random)
    const [isListed, isReplaced] = [random.chance(0.5), random.chance(0.5)]
    vCenter.retag((tagging) => {
      removeCategory(tagging, id)
      if (isListed) {
        tagging.categories.set(id, CATEGORIES.zone)
        tagging.stillListed.add(id)
      }
      if (isReplaced) makeZones(tagging, number)
    })
    return () =>
      vCenter.retag((tagging) => {
        if (isListed) removeCategory(tagging, id)
        makeZones(tagging, number)
      })
  },
  /** Other people delete categories of theirs, which the list still names; it stays so. */
  'foreign-categories-deleted'(_, { vCenter }) {
    vCenter.retag(({ stillListed }) => {
      for (const category of FOREIGN_CATEGORIES) stillListed.add(category)
    })
    return undefined
  },
}

/** Some last until all tags were read again. */
export const TAG_RECIPES: readonly (readonly Ingredient[])[] = [
  ...[
    'zone-tag-added',
    'zone-tag-renamed',
    'zone-tags-alike',
    'zone-tag-deleted',
    'zone-category-renamed',
    'zone-category-deleted',
  ].flatMap((kind) => [
    [{ kind }],
    [{ kind, until: 5 }],
    [{ kind }, { kind: 'replica-killed', at: 0.2 }],
    [{ kind }, { kind: 'vm-moved', at: 0.2 }],
    [
      { kind, until: 5 },
      { kind: 'rolling-replacement', at: 0.1 },
    ],
  ]),
  [{ kind: 'zone-tag-added' }, { kind: 'zone-tag-renamed', at: 0.2 }],
  [
    { kind: 'zone-tags-alike', until: 5 },
    { kind: 'tag-denied' },
    { kind: 'replica-killed', at: 0.1 },
    { kind: 'rolling-replacement', at: 0.2 },
  ],
  [{ kind: 'foreign-categories-deleted' }, { kind: 'replica-killed', at: 0.1 }],
  [{ kind: 'foreign-categories-deleted' }, { kind: 'zone-category-deleted', at: 0.1 }],
]
