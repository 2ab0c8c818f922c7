/** The tags of a vCenter: what there is, what people do to them, and what they truly say of where a VM stands. */
import type { Folder } from './machine.ts'

/** The tag categories that a configuration may name. */
export const CATEGORIES = { zone: 'k8s-zone', region: 'k8s-region' } as const
/** One that only hosts have tags of. */
export const RACK = 'rack'
/** Those of somebody else. vCenter lists them first. */
export const FOREIGN_CATEGORIES = ['backup', 'billing', 'owner', 'patching', 'tier'] as const

const HOSTS = [0, 1, 2, 3].map((number) => `host-${number}`)
const DATACENTERS = ['dc-1', 'dc-2']

export interface TagModel {
  /** The ID of its category. */
  readonly category: string
  name: string
  /**
   * The label value that its name gives, by whoever chose the name: the code that makes such values has no part in it. Undefined
   * where a letter or digit would be lost.
   */
  label: string | undefined
  /** All that it has ever given. */
  readonly gave: Set<string>
}

/** A name for a tag, and the label value that it gives. */
export type TagName = Pick<TagModel, 'name' | 'label'>

export interface Tagging {
  /** Names of categories by ID; at first the IDs are the names. */
  readonly categories: Map<string, string>
  /** By ID. */
  readonly tags: Map<string, TagModel>
  /** IDs of the tags of hosts and datacenters, by reference. */
  readonly attached: Map<string, Set<string>>
  /** Tags and categories, by ID, that are deleted though lists still name them. */
  readonly stillListed: Set<string>
  /** All tags that have ever counted for what is on a host: it takes a while to notice that they do no more. */
  readonly counted: Map<string, Set<TagModel>>
}

/** Where something stands, as far as tags are concerned. */
type Place = { readonly host: string; readonly folder: Pick<Folder, 'datacenter'> }

/** The zone in which a host is at first, and the ID of its tag. */
export function zoneOf(host: string): string {
  return `zone-of-${host}`
}

/** The rack in which a host is. */
export function rackOf(host: string): string {
  return `rack-of-${host}`
}

/** The region in which a datacenter is. */
export function regionOf(datacenter: string): string {
  return `region-of-${datacenter}`
}

export function createTagging(): Tagging {
  const names = [...FOREIGN_CATEGORIES, ...Object.values(CATEGORIES), RACK]
  const tagging: Tagging = {
    categories: new Map(names.map((name) => [name, name])),
    tags: new Map(),
    attached: new Map(),
    stillListed: new Set(),
    counted: new Map(),
  }
  const plain = (name: string): TagName => ({ name, label: name })
  for (const category of FOREIGN_CATEGORIES) addTag(tagging, category, plain(`some-${category}`))
  for (const host of HOSTS) {
    const objects = DATACENTERS.map((datacenter) => `${host}.${datacenter}`)
    addTag(tagging, CATEGORIES.zone, plain(zoneOf(host)), objects)
    addTag(tagging, RACK, plain(rackOf(host)), objects)
    for (const object of objects) tagging.attached.get(object)?.add('some-backup')
  }
  for (const datacenter of DATACENTERS) {
    addTag(tagging, CATEGORIES.region, plain(regionOf(datacenter)), [datacenter])
    // The zone of what has none of its own: no host is in it.
    addTag(tagging, CATEGORIES.zone, plain(zoneOf(datacenter)), [datacenter])
  }
  noteCounted(tagging)
  return tagging
}

/** @param id another than its name where there was one of that ID before */
export function addTag(
  { tags, attached }: Tagging,
  category: string,
  { name, label }: TagName,
  objects: readonly string[] = [],
  id = name,
): void {
  tags.set(id, { category, name, label, gave: new Set(label === undefined ? [] : [label]) })
  for (const object of objects) attached.set(object, (attached.get(object) ?? new Set()).add(id))
}

export function renameTag(tag: TagModel, { name, label }: TagName): void {
  Object.assign(tag, { name, label })
  if (label !== undefined) tag.gave.add(label)
}

export function removeTag({ tags, attached, stillListed }: Tagging, id: string): void {
  tags.delete(id)
  stillListed.delete(id)
  for (const ids of attached.values()) ids.delete(id)
}

/** With its tags. */
export function removeCategory(tagging: Tagging, id: string): void {
  for (const [tag, { category }] of tagging.tags) if (category === id) removeTag(tagging, tag)
  tagging.categories.delete(id)
  tagging.stillListed.delete(id)
}

export function categoryNamed({ categories, stillListed }: Tagging, name: string): string | undefined {
  return [...categories.keys()].find((id) => categories.get(id) === name && !stillListed.has(id))
}

/** The tags of a category that count where something stands: those of the host, otherwise those of the datacenter. */
export function tagsAt(tagging: Tagging, { host, folder }: Place, categoryName: string): readonly TagModel[] {
  const category = categoryNamed(tagging, categoryName)
  for (const object of [`${host}.${folder.datacenter}`, folder.datacenter]) {
    const found = [...(tagging.attached.get(object) ?? [])].flatMap((id) => {
      const tag = tagging.tags.get(id)
      return tag !== undefined && tag.category === category && !tagging.stillListed.has(id) ? tag : []
    })
    if (found.length > 0) return found
  }
  return []
}

/** What labels these may give: none that another tag of the category would give as well, unless it is the name itself. */
export function labelsOf({ tags, stillListed }: Tagging, given: readonly TagModel[]): readonly string[] {
  return given.flatMap((tag) => {
    const { name, label, category } = tag
    if (label === undefined) return []
    const isTaken = [...tags].some(
      ([id, other]) =>
        other !== tag && other.category === category && other.label === label && !stillListed.has(id),
    )
    return name !== label && isTaken ? [] : label
  })
}

/** To be called after each change. */
export function noteCounted(tagging: Tagging): void {
  for (const host of HOSTS)
    for (const datacenter of DATACENTERS) {
      const key = `${host}.${datacenter}`
      const counted = tagging.counted.get(key) ?? new Set()
      tagging.counted.set(key, counted)
      for (const category of Object.values(CATEGORIES))
        for (const tag of tagsAt(tagging, { host, folder: { datacenter } }, category)) counted.add(tag)
    }
}

/** Zones and regions that a VM may be said to be in where it stands: a leader may know what was, and not yet what is. */
export function placesAt({ counted }: Tagging, { host, folder }: Place): readonly string[] {
  return [...(counted.get(`${host}.${folder.datacenter}`) ?? [])].flatMap(({ gave }) => [...gave])
}
