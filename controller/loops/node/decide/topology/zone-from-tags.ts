import type { DecisionConfig } from '../../../../config/config.ts'
import { type ConditionValue, no, yes } from '../../../../types/condition-value.ts'
import { nearestLabelValue } from '../../../../types/labels.ts'
import {
  type Ancestor,
  type Ancestry,
  type Tag,
  type TagLack,
  type UnreadTags,
  WAYS,
} from '../../../../types/virtual-machine.ts'

export interface NodeTopology {
  readonly zone: string | undefined
  readonly region: string | undefined
  /** Whether the Node has to wait for tags. */
  readonly awaitsTags: boolean
  readonly condition: ConditionValue
}

interface Labels {
  zone?: string
  region?: string
}

/** What is to be told of one label, and what it means for the label. */
interface Remark {
  /**
   * - missing: vCenter has no value for it
   * - unread: it has no value because something could not be read
   * - ambiguous: it has one of several values
   * - renamed: it has a value that is not the tag's name
   */
  readonly kind: 'missing' | 'unread' | 'ambiguous' | 'renamed'
  readonly message: string
  /** What to do. */
  readonly next?: string
  /** What could not be read. */
  readonly unread?: readonly string[]
}

/**
 * Zone and region from the tags on a VM's ancestors, in the CPI's order: first upwards from the host, then from the
 * resource pool, then from the VM itself through its folders; the nearest tag wins, and where a nearer one may be unread,
 * none does. Unlike in the CPI, each label is independent, and a missing tag does not stop the initialization
 * (kubernetes/kubernetes#73002).
 *
 * @param insists whether the Node has to wait for what is missing
 * @param present the labels of an initialized Node, under whichever name: of several tags on one object, theirs counts
 */
export function resolveTopology(
  ancestry: Ancestry,
  categories: DecisionConfig['labels'],
  insists: boolean,
  present: Readonly<Record<keyof Labels, string | undefined>> = { zone: undefined, region: undefined },
): NodeTopology {
  const labels: Labels = {}
  const remarks: Remark[] = []
  for (const label of ['zone', 'region'] as const) {
    const category = categories[label]
    if (category === undefined) continue
    const { value, remark } = resolveLabel(ancestry, { label, category, present: present[label] })
    if (value !== undefined) labels[label] = value
    if (remark !== undefined) remarks.push(remark)
  }
  const awaitsTags = insists && remarks.some(({ kind }) => kind === 'missing' || kind === 'unread')
  return {
    zone: labels.zone,
    region: labels.region,
    awaitsTags,
    condition: judge({ labels, remarks, awaitsTags }, categories),
  }
}

function resolveLabel(
  ancestry: Ancestry,
  {
    label,
    category,
    present,
  }: { readonly label: keyof Labels; readonly category: string; readonly present: string | undefined },
): { readonly value?: string; readonly remark?: Remark } {
  const { tags, on, unread } = nearestTag(ancestry, category)
  const [tag] = tags
  if (tag === undefined || on === undefined)
    return { remark: notFound(ancestry, { label, category, unread }) }
  const where = `${on.type} "${on.name}"`
  if (unread.length > 0) {
    const message = `the ${label} is unknown: "${tag.name}" on ${where} counts only if nothing nearer has a tag of category "${category}"`
    return { remark: { kind: 'unread', message, unread } }
  }
  const given = tags.map((each) => ({ name: each.name, ...labelOf(each) }))
  const values = new Set(given.flatMap((each) => ('value' in each ? each.value : [])))
  const [first] = values
  if (first === undefined) {
    const unnamed = given.flatMap((each) => ('unnamed' in each ? each.unnamed : []))
    if (unnamed.length > 0) {
      const message = `the ${label} is unknown: another tag of category "${category}" may give the same label as "${tag.name}" on ${where}`
      return { remark: { kind: 'unread', message, unread: unnamed } }
    }
    const problem = given.flatMap((each) => ('problem' in each ? each.problem : []))[0] ?? ''
    const message = `the ${label} tag "${tag.name}" on ${where} gives no label: ${problem}`
    const next = 'a label may have at most 63 of A-Z, a-z, 0-9, "-", "_" and ".": rename it'
    return { remark: { kind: 'missing', message, next } }
  }
  if (tags.length > 1) {
    const value = present !== undefined && values.has(present) ? present : first
    const names = tags.slice(0, 4).map(({ name }) => `"${name}"`)
    const message = `${tags.length} tags of category "${category}" (${label}) are on ${where}: ${names.join(', ')}; ${value} counts until only one is left`
    return { value, remark: { kind: 'ambiguous', message } }
  }
  if (first === tag.name) return { value: first }
  const message = `the ${label} tag is "${tag.name}", which is not a valid label value`
  return { value: first, remark: { kind: 'renamed', message } }
}

/** What to do where vCenter has no tag of a category. Without rights on tags its lists are empty: it refuses nothing. */
const NEXT: Readonly<Record<Extract<TagLack, string>, string>> = {
  categories:
    'vCenter shows no tag category at all: give the account Read-only as a global permission, or create the category',
  category:
    'vCenter shows no such category: create it, correct "zone" and "region" under "labels" in the configuration, or give the account Read-only as a global permission',
  tags: 'vCenter shows no tag in this category: create one and attach it, or give the account Read-only as a global permission',
}

function notFound(
  ancestry: Ancestry,
  {
    label,
    category,
    unread,
  }: { readonly label: keyof Labels; readonly category: string; readonly unread: readonly string[] },
): Remark {
  const message = `no tag of category "${category}" (${label}) on ${describeWay(ancestry)}`
  const lack = ancestry.lacking?.get(category)
  if (typeof lack === 'object') return { kind: 'unread', message, unread: [...unread, lack.unread] }
  if (lack !== undefined) return { kind: 'missing', message, next: NEXT[lack] }
  return unread.length > 0 ? { kind: 'unread', message, unread } : { kind: 'missing', message }
}

const ATTACH = 'attach a tag in vCenter; the label follows by itself'
const UNTIL = 'topology.required is true, so the Node stays uninitialized until'

function judge(
  {
    labels: { zone, region },
    remarks,
    awaitsTags,
  }: Pick<NodeTopology, 'awaitsTags'> & { readonly labels: Labels; readonly remarks: readonly Remark[] },
  categories: DecisionConfig['labels'],
): ConditionValue {
  if (categories.zone === undefined && categories.region === undefined) {
    return yes('NotConfigured', 'the configuration names no tag category for zone or region')
  }
  const is = (kind: Remark['kind']) => remarks.some((remark) => remark.kind === kind)
  const resolved = `zone ${zone ?? 'not configured'}, region ${region ?? 'not configured'}`
  const problems = remarks.filter(({ kind }) => kind !== 'renamed').map(({ message }) => message)
  if (problems.length === 0) {
    return yes('Resolved', [resolved, ...remarks.map(({ message }) => message)].join('; '))
  }
  const isUnread = is('unread')
  // Where the Node waits for a tag alone, what it waits for says the same.
  const steps = new Set(
    remarks.flatMap(({ kind, next }) =>
      kind === 'missing' ? (next ?? (awaitsTags && !isUnread ? [] : ATTACH)) : [],
    ),
  )
  if (isUnread) {
    const done = steps.size > 0 ? 'there is one and they are read: fix both' : 'they are read: fix that'
    const wait = `${UNTIL} ${done} in vCenter, or set topology.required to false`
    const unread = [...new Set(remarks.flatMap((remark) => remark.unread ?? []))].slice(0, 4)
    const what = [...problems, ...steps, `not readable: ${unread.join(', ')}`, ...(awaitsTags ? [wait] : [])]
    return no('TagsUnreadable', what.join('; '))
  }
  if (!is('missing')) return no('TagsAmbiguous', `${problems.join('; ')}; detach the others in vCenter`)
  const wait = `${UNTIL} that is fixed in vCenter (tags are read every five minutes); or set topology.required to false`
  return no('TagMissing', [...problems, ...steps, ...(awaitsTags ? [wait] : [])].join('; '))
}

function describeWay({ compute }: Ancestry): string {
  const names = compute.map((ancestor: Ancestor) => `${ancestor.type} "${ancestor.name}"`)
  return names.length > 0 ? names.join(', ') : 'any readable ancestor'
}

/** Looks for the tag of a category: first upwards from the host, then from the resource pool, then from the VM itself. */
export function nearestTag(
  ancestry: Ancestry,
  category: string,
): {
  /** In the order of their names. */
  readonly tags: readonly Tag[]
  /** Undefined where no object has one. */
  readonly on: Ancestor | undefined
  /** What could not be read on the way there, so that a nearer tag may exist. */
  readonly unread: readonly string[]
} {
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
 * The label value that a tag gives, or why it gives none, or none yet. A name that is not a valid value becomes the nearest valid one,
 * unless that could be another zone's as well: two zones must never become one.
 */
function labelOf({
  name,
  alike = [],
  unnamed = [],
}: Tag): { readonly value: string } | { readonly problem: string } | { readonly unnamed: readonly string[] } {
  const value = nearestLabelValue(name)
  if (value === name) return { value }
  if (value === undefined)
    return { problem: 'no label value can be made from it without losing letters or digits' }
  if (alike.length > 0) {
    const others = alike.slice(0, 3).map((other) => `"${other}"`)
    return { problem: `its label value would be ${value}, the same as that of ${others.join(', ')}` }
  }
  return unnamed.length > 0 ? { unnamed } : { value }
}
