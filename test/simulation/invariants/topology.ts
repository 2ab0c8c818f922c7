import {
  BETA_LABELS,
  LABEL_INSTANCE_TYPE,
  LABEL_REGION,
  LABEL_ZONE,
  TAINT_UNINITIALIZED,
} from '../../../controller/types/well-known.ts'
import type { VM } from '../model/machine.ts'
import type { StoredNode, StoredStatus } from '../model/objects.ts'
import { regionOf, zoneOf } from '../model/rest.ts'
import { machinesOf, type World } from '../world.ts'
import { isOfAcceptedCopy } from './accepted-copies.ts'

/** A zone or region that is written is one in which a VM of the Node stands, or has stood. */
export function judgeTopology(world: World, by: string, before: StoredNode, after: StoredNode): void {
  const { name, uid } = before.metadata
  const machines = machinesOf(world, uid)
  judgeNames(world, by, before, after)
  for (const label of [LABEL_ZONE, LABEL_REGION]) {
    const value = after.metadata.labels[label]
    if (value === undefined || value === before.metadata.labels[label]) continue
    if (machines.some(({ places }) => places.has(value))) continue
    const stands = ({ host, folder }: VM): boolean =>
      [zoneOf(host), regionOf(folder.datacenter)].includes(value)
    if (isOfAcceptedCopy(world, by, before, stands)) continue
    world.judge.violate('zone and region are those of the VM', `${by} labels ${name} with ${label}=${value}`)
  }
}

/** A label and its beta name are never made to differ, and those of a running Node stay, unless they are to follow. */
function judgeNames({ judge, settings }: World, by: string, before: StoredNode, after: StoredNode): void {
  const { name, labels: had } = before.metadata
  const { labels } = after.metadata
  const runs =
    before.spec.providerID !== undefined && before.spec.taints.every(({ key }) => key !== TAINT_UNINITIALIZED)
  for (const label of [LABEL_ZONE, LABEL_REGION, LABEL_INSTANCE_TYPE]) {
    const names = [label, BETA_LABELS[label] ?? label]
    const written = names.filter((each) => labels[each] !== had[each])
    const values = new Set(names.flatMap((each) => labels[each] ?? []))
    if (written.length > 0 && values.size > 1)
      judge.violate(
        'a label says what its beta name says',
        `${by} labels ${name} with ${[...values].join(' and ')}`,
      )
    const lost = written.filter((each) => had[each] !== undefined)
    if (runs && lost.length > 0 && settings.topology.onChange !== 'relabel')
      judge.violate('the labels of a running Node stay', `${by} changes ${lost.join(' and ')} of ${name}`)
  }
}

/** In the end, tags that may be read are read, and it is told where a label cannot be what they say. */
export function judgeToldTopology(
  { judge, settings }: World,
  { metadata: { name, labels } }: StoredNode,
  status: StoredStatus | undefined,
): void {
  const { status: resolved, reason = '' } =
    status?.conditions.find(({ type }) => type === 'TopologyResolved') ?? {}
  if (status?.identityLevel === undefined || resolved === undefined) return
  // Of a VM that is not found nothing is known but what was, and that is told of.
  if (!status.conditions.some(({ type, status }) => type === 'VMFound' && status === 'True')) return
  // Nothing is written to a Node that waits for something else, and that is told of.
  if (status.conditions.some(({ type, status }) => type === 'Initialized' && status === 'False')) return
  if (['TagsUnreadable', 'TagMissing'].includes(reason))
    judge.violate('tags that may be read are read', `${name}: ${reason}`)
  const { reason: ruled } = status.conditions.find(({ type }) => type === 'LabelsResolved') ?? {}
  if (ruled === 'LabelUnreadable') judge.violate('tags that may be read are read', `${name}: ${ruled}`)
  const { zone, region } = settings.labels
  for (const [label, category] of [
    [LABEL_ZONE, zone],
    [LABEL_REGION, region],
    [LABEL_INSTANCE_TYPE, ''],
  ] as const) {
    const isUntold = resolved === 'True' && settings.topology.onChange === 'report'
    if (category !== undefined && labels[label] === undefined && isUntold)
      judge.violate('a label that is not written is told of', `${name} has no ${label}`)
  }
}
