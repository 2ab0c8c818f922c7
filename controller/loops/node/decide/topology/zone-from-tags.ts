import type { DecisionConfig } from '../../../../config/config.ts'
import type { Ancestor, Ancestry } from '../../../../types/virtual-machine.ts'
import { nearestLabelValue } from '../../../../types/well-known.ts'
import { type ConditionValue, no, yes } from '../condition-value.ts'

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

/**
 * Zone and region from the tags on a VM's ancestors, in the CPI's order: first upwards from the host, then from the
 * resource pool, then from the VM itself through its folders; the nearest tag wins. Unlike in the CPI, each label is
 * independent, and a missing tag does not stop the initialization (kubernetes/kubernetes#73002). A name that no label can have
 * becomes the nearest that one can; the CPI's Node would be refused by the API server.
 *
 * @param insists whether the Node has to wait for what is missing
 */
export function resolveTopology(
  ancestry: Ancestry,
  categories: DecisionConfig['labels'],
  insists: boolean,
): NodeTopology {
  const labels: Labels = {}
  const problems: string[] = []
  const renamed: string[] = []
  for (const label of ['zone', 'region'] as const) {
    const category = categories[label]
    if (category === undefined) continue
    const found = nearestTag(ancestry, category)
    if (found === undefined) {
      problems.push(`no tag of category "${category}" (${label}) on ${describeWay(ancestry)}`)
      continue
    }
    const value = nearestLabelValue(found)
    if (value === undefined)
      problems.push(
        `the ${label} tag "${found}" has no letter or digit, so no label value can be made from it; rename it`,
      )
    else {
      labels[label] = value
      if (value !== found) renamed.push(`the ${label} tag is "${found}", which is not a valid label value`)
    }
  }
  const awaitsTags = insists && problems.length > 0
  return {
    zone: labels.zone,
    region: labels.region,
    awaitsTags,
    condition: judge(labels, { problems, renamed, awaitsTags }, ancestry, categories),
  }
}

const UNTIL = 'topology.required is true, so the Node stays uninitialized until'

function judge(
  { zone, region }: Labels,
  {
    problems,
    renamed,
    awaitsTags,
  }: Record<'problems' | 'renamed', readonly string[]> & Pick<NodeTopology, 'awaitsTags'>,
  ancestry: Ancestry,
  categories: DecisionConfig['labels'],
): ConditionValue {
  if (categories.zone === undefined && categories.region === undefined) {
    return yes('NotConfigured', 'the configuration names no tag category for zone or region')
  }
  if (problems.length === 0) {
    const resolved = `zone ${zone ?? 'not configured'}, region ${region ?? 'not configured'}`
    return yes('Resolved', [resolved, ...renamed].join('; '))
  }
  if (ancestry.unreadable.length > 0) {
    const next = awaitsTags
      ? `; ${UNTIL} they are read: fix that in vCenter, or set topology.required to false`
      : ''
    return no(
      'TagsUnreadable',
      `${problems.join('; ')}; not readable: ${ancestry.unreadable.slice(0, 4).join(', ')}${next}`,
    )
  }
  const next = awaitsTags
    ? `${UNTIL} that is fixed in vCenter (tags are read every five minutes); or set topology.required to false`
    : 'attach a tag in vCenter; the label follows by itself'
  return no('TagMissing', `${problems.join('; ')}; ${next}`)
}

function nearestTag(ancestry: Ancestry, category: string): string | undefined {
  for (const way of [ancestry.compute, ancestry.resourcePool, ancestry.folder]) {
    for (const ancestor of way) {
      const tag = ancestor.tags.find((candidate) => candidate.category === category)
      if (tag !== undefined) return tag.name
    }
  }
  return undefined
}

function describeWay({ compute }: Ancestry): string {
  const names = compute.map((ancestor: Ancestor) => `${ancestor.type} "${ancestor.name}"`)
  return names.length > 0 ? names.join(', ') : 'any readable ancestor'
}
