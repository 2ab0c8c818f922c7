import type { LabelRule, LabelSource } from '../../../../config/config.ts'
import { isLabelValue } from '../../../../types/labels.ts'
import type {
  Ancestor,
  Ancestry,
  TagLack,
  UnreadTags,
  VirtualMachine,
  Way,
} from '../../../../types/virtual-machine.ts'
import { nearestTag } from '../topology/zone-from-tags.ts'

/** What vCenter says of a rule's source, and what label value that is. */
export type SourceValue =
  | { readonly state: 'known'; readonly value: string }
  /** It was read, and there is none. */
  | { readonly state: 'absent' }
  /** There are several, or one of which no label value can be made without a guess. */
  | { readonly state: 'ambiguous' | 'invalid'; readonly message: string }
  /** Whether there is one is not known. */
  | { readonly state: 'unread'; readonly message: string }

/** The label value of a rule. Nothing is made up: a name that is not a label value needs an entry in the rule's map. */
export function valueByRule(
  { from, map }: Pick<LabelRule, 'from' | 'map'>,
  vm: Pick<VirtualMachine, 'attributes'>,
  ancestry: Ancestry,
): SourceValue {
  const found = readSource(from, vm, ancestry)
  if (found.state !== 'known') return found
  const { value: name } = found
  const mapped = map.get(name)
  if (mapped !== undefined) return { state: 'known', value: mapped }
  const others = [...map].flatMap(([other, value]) => (value === name ? [`"${other}"`] : []))
  if (others.length > 0)
    return {
      state: 'ambiguous',
      message: `"${name}" would give the same value as ${others.slice(0, 3).join(', ')} by the rule's map: give it an entry of its own there`,
    }
  if (name !== '' && isLabelValue(name)) return found
  return {
    state: 'invalid',
    message: `"${name}" is not a label value (at most 63 of A-Z, a-z, 0-9, "-", "_" and "."): give it one in the rule's map, or rename it`,
  }
}

function readSource(
  from: LabelSource,
  vm: Pick<VirtualMachine, 'attributes'>,
  ancestry: Ancestry,
): SourceValue {
  switch (from.kind) {
    case 'tagCategory':
      return readTag(from.name, ancestry)
    case 'attribute':
      return readAttribute(from.name, vm)
    default:
      return readPlace(from.kind, ancestry)
  }
}

/**
 * Why a category without tags counts as unread: without rights on tags, or after they were taken away, vCenter's lists are empty,
 * and it refuses nothing.
 */
const LACKS: Readonly<Record<Extract<TagLack, string>, string>> = {
  categories: 'vCenter shows no tag category at all: create it',
  category: 'vCenter shows no such tag category: create it',
  tags: 'vCenter shows no tag in this category: create one and attach it',
}

function readTag(category: string, ancestry: Ancestry): SourceValue {
  const { tags, on, unread } = nearestTag(ancestry, category)
  const [tag] = tags
  const lack = ancestry.lacking?.get(category)
  if (tag === undefined && lack !== undefined) {
    const why =
      typeof lack === 'object'
        ? `vCenter shows no tag in such a category, but not all could be read (${lack.unread}): correct the name`
        : LACKS[lack]
    return {
      state: 'unread',
      message: `"${category}": ${why}, or give the account Read-only as a global permission`,
    }
  }
  if (unread.length > 0) return { state: 'unread', message: `not readable: ${unread.slice(0, 3).join(', ')}` }
  if (tag === undefined || on === undefined) return { state: 'absent' }
  if (tags.length === 1) return { state: 'known', value: tag.name }
  const names = tags.slice(0, 4).map(({ name }) => `"${name}"`)
  const message = `${tags.length} tags of category "${category}" are on ${on.type} "${on.name}" (${names.join(', ')}): detach all but one`
  return { state: 'ambiguous', message }
}

function readAttribute(name: string, { attributes }: Pick<VirtualMachine, 'attributes'>): SourceValue {
  const found = attributes?.get(name)
  if (found === undefined) return { state: 'unread', message: 'custom attributes are not read yet' }
  if ('unread' in found) return { state: 'unread', message: found.unread }
  const [value, ...more] = new Set(found.values)
  if (value === undefined) return { state: 'absent' }
  if (more.length === 0) return { state: 'known', value }
  const message = `${more.length + 1} custom attributes are called "${name}", and the VM has different values of them: rename one`
  return { state: 'ambiguous', message }
}

type Place = Exclude<LabelSource, { readonly name: string }>['kind']

/** On which way up from the VM each is, and which of the objects there it is. */
const IN_ANCESTRY: Readonly<
  Record<Place, { readonly on: Way; readonly of: (way: readonly Ancestor[]) => Ancestor | undefined }>
> = {
  host: { on: 'compute', of: (way) => way.find(({ type }) => type === 'HostSystem') },
  cluster: { on: 'compute', of: (way) => way.find(({ type }) => type === 'ClusterComputeResource') },
  resourcePool: { on: 'resourcePool', of: (way) => way[0] },
  // The first one is the VM itself.
  folder: { on: 'folder', of: (way) => (way[1]?.type === 'Folder' ? way[1] : undefined) },
  datacenter: { on: 'folder', of: (way) => way.find(({ type }) => type === 'Datacenter') },
}

/**
 * Absent only where every object on the way was read: a host without a cluster, a VM in a vApp, which has no folder of its own.
 * Tags that were not read hide no object.
 */
function readPlace(place: Place, ancestry: Ancestry): SourceValue {
  const { on, of } = IN_ANCESTRY[place]
  const way = ancestry[on]
  const object = of(way)
  // A VM may be below several folders or pools: one that is hidden right below this one would be the nearest.
  const mayBeFarther = (place === 'folder' || place === 'resourcePool') && hides(object?.unread)
  if (object !== undefined && !mayBeFarther) return { state: 'known', value: object.name }
  const isRead =
    way.length > 0 && !hides(ancestry.unreadAbove?.[on]) && !way.some(({ unread }) => hides(unread))
  return isRead ? { state: 'absent' } : { state: 'unread', message: `the ${place} of the VM is not readable` }
}

function hides(unread: readonly UnreadTags[] = []): boolean {
  return unread.some(({ hidden }) => hidden === true)
}
