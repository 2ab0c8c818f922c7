import type { DecisionConfig } from '../../config/config.ts'
import { nearestLabelValue } from '../../node/well-known.ts'
import type { Ancestor, Ancestry } from '../../types/virtual-machine.ts'
import { type ConditionValue, no, yes } from '../condition-value.ts'

export interface NodeTopology {
  readonly zone: string | undefined
  readonly region: string | undefined
  readonly condition: ConditionValue
}

interface Labels {
  zone?: string
  region?: string
}

/**
 * Zone and region from the tags on a VM's ancestors, in the CPI's order: first upwards from the host, then from the
 * resource pool, then from the VM itself through its folders; the nearest tag wins. Unlike in the CPI, each label is
 * independent, and a missing tag does not stop the initialisation (kubernetes/kubernetes#73002). A name that no label can have
 * becomes the nearest that one can; the CPI's Node would be refused by the API server.
 */
export function resolveTopology(ancestry: Ancestry, categories: DecisionConfig['labels']): NodeTopology {
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
      problems.push(`the ${label} tag "${found}" has no letter or digit that a label could have; rename it`)
    else {
      labels[label] = value
      if (value !== found)
        renamed.push(`the ${label} tag is "${found}", which no label can have as its value`)
    }
  }
  return {
    zone: labels.zone,
    region: labels.region,
    condition: judge(labels, { problems, renamed }, ancestry, categories),
  }
}

function judge(
  { zone, region }: Labels,
  { problems, renamed }: Record<'problems' | 'renamed', readonly string[]>,
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
    return no(
      'TagsUnreadable',
      `${problems.join('; ')}; not readable: ${ancestry.unreadable.slice(0, 4).join(', ')}`,
    )
  }
  return no('TagMissing', `${problems.join('; ')}; attach a tag in vCenter, the label follows by itself`)
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
