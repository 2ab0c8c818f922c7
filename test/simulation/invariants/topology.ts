import {
  BETA_LABELS,
  LABEL_INSTANCE_TYPE,
  LABEL_REGION,
  LABEL_ZONE,
  TAINT_UNINITIALIZED,
} from '../../../controller/types/well-known.ts'
import type { Machine, VM } from '../model/machine.ts'
import type { StoredNode, StoredStatus } from '../model/objects.ts'
import { labelsOf, placesAt, tagsAt } from '../model/tagging.ts'
import { machinesOf, type World } from '../world.ts'
import { isOfAcceptedCopy } from './accepted-copies.ts'
import { areLabelsRead } from './labels.ts'
import { isCalm } from './stopwatch.ts'

/** How long after a VM has left a place that may still be written while all is well, milliseconds: where it is, is pushed. */
const MOVED = 60_000
/** All that was wrong is got over after so long, milliseconds. */
const QUIET = 400_000

/** A zone or region that is written is one in which a VM of the Node stands; where something was wrong, or has stood. */
export function createTopologyJudge() {
  /** When a machine was last where it has a zone or region, by that. */
  const stoodAt = new WeakMap<Machine, Map<string, number>>()
  /** When something was last wrong by which a leader may not know where VMs are. */
  let wrongAt = Number.NEGATIVE_INFINITY

  function lookAt({ timeline, vCenters }: World, machine: Machine): void {
    const stood = stoodAt.get(machine) ?? new Map<string, number>()
    stoodAt.set(machine, stood)
    for (const { vms, tagging } of vCenters)
      for (const vm of vms.values())
        if (vm.machine === machine) for (const place of placesAt(tagging, vm)) stood.set(place, timeline.now)
  }

  return {
    look(world: World): void {
      const { zone, region } = world.settings.labels
      if (zone === undefined && region === undefined) return
      for (const machine of world.machines.all) lookAt(world, machine)
      if (!isCalm(world) || !world.vCenters.every(areLabelsRead)) wrongAt = world.timeline.now
    },
    judge(world: World, by: string, before: StoredNode, after: StoredNode): void {
      const { timeline, api, judge } = world
      const { name, uid } = before.metadata
      const machines = machinesOf(world, uid)
      judgeNames(world, by, before, after)
      const isWell = timeline.now - wrongAt > QUIET && !api.burdens.has(name)
      for (const label of [LABEL_ZONE, LABEL_REGION]) {
        const [had, value] = [before.metadata.labels[label], after.metadata.labels[label]]
        if (value === undefined && had !== undefined)
          judge.violate('zone and region stay where tags say nothing', `${by} removes ${label} of ${name}`)
        if (value === undefined || value === had) continue
        for (const machine of machines) lookAt(world, machine)
        const stands = (vm: VM): boolean => placesAt(vm.vCenter.tagging, vm).includes(value)
        const isThere = (machine: Machine): boolean => {
          const stood = stoodAt.get(machine)?.get(value) ?? Number.NEGATIVE_INFINITY
          if (!isWell || timeline.now - stood < MOVED) return machine.places.has(value)
          return isShownByClone(world, machine, stands)
        }
        if (machines.some(isThere)) continue
        if (isOfAcceptedCopy(world, by, before, stands)) continue
        judge.violate('zone and region are those of the VM', `${by} labels ${name} with ${label}=${value}`)
      }
    },
  }
}

/** Whether a copy of its vCenter shows the VM of a machine so. */
function isShownByClone({ clones }: World, { biosUUID }: Machine, isSo: (vm: VM) => boolean): boolean {
  return clones.some(({ vms }) => [...vms.values()].some((vm) => vm.biosUUID === biosUUID && isSo(vm)))
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

/** What tags say of one label of a VM, and what can be made of that. */
interface Said {
  readonly label: string
  readonly category: string
  readonly names: readonly string[]
  readonly values: readonly string[]
}

function saidOf({ settings }: World, vm: VM): readonly Said[] {
  const { zone, region } = settings.labels
  const { tagging } = vm.vCenter
  return [[LABEL_ZONE, zone] as const, [LABEL_REGION, region] as const].flatMap(([label, category]) => {
    if (category === undefined) return []
    const tags = tagsAt(tagging, vm, category)
    return { label, category, names: tags.map(({ name }) => name), values: labelsOf(tagging, tags) }
  })
}

/** In the end, tags that may be read are read, and it is told where a label cannot be what they say. */
export function judgeToldTopology(
  world: World,
  { metadata: { name, labels } }: StoredNode,
  vm: VM,
  status: StoredStatus | undefined,
): void {
  const { judge, settings } = world
  const told = status?.conditions.find(({ type }) => type === 'TopologyResolved')
  if (status?.identityLevel === undefined || told === undefined) return
  // Of a VM that is not found nothing is known but what was, and that is told of.
  if (!status.conditions.some(({ type, status }) => type === 'VMFound' && status === 'True')) return
  // Nothing is written to a Node that waits for something else, and that is told of.
  if (status.conditions.some(({ type, status }) => type === 'Initialized' && status === 'False')) return
  const { reason: ruled } = status.conditions.find(({ type }) => type === 'LabelsResolved') ?? {}
  if (ruled === 'LabelUnreadable') judge.violate('tags that may be read are read', `${name}: ${ruled}`)
  const { moref, vCenterInstanceUUID } = status.vm ?? {}
  if (moref !== vm.moref || vCenterInstanceUUID !== vm.vCenter.instanceUUID) return
  const said = saidOf(world, vm)
  judgeReason(world, name, vm, said, told)
  const isUntold = told.status === 'True' && settings.topology.onChange === 'report'
  for (const { label, values } of said) {
    const value = labels[label]
    const isRight = values.length === 0 || (value !== undefined && values.includes(value))
    if (!isRight && (isUntold || settings.topology.onChange === 'relabel'))
      judge.violate(
        'zone and region are what tags say',
        `${name} has ${label}=${value}, not ${values.join()}`,
      )
  }
  if (isUntold && labels[LABEL_INSTANCE_TYPE] === undefined)
    judge.violate('a label that is not written is told of', `${name} has no ${LABEL_INSTANCE_TYPE}`)
}

const REASONS = ['TagsUnreadable', 'TagMissing', 'TagsAmbiguous']

/** The reason is the one that tags give, and their names are told. */
function judgeReason(
  { judge }: World,
  node: string,
  { vCenter }: VM,
  said: readonly Said[],
  { reason, message }: StoredStatus['conditions'][number],
): void {
  const missing = said.filter(({ values }) => values.length === 0)
  const ambiguous = said.filter(({ names, values }) => names.length > 1 && values.length > 0)
  const wanted = missing.length > 0 ? 'TagMissing' : ambiguous.length > 0 ? 'TagsAmbiguous' : undefined
  // A category that may not be read may be the one that is missing.
  if (reason === 'TagsUnreadable' && wanted === 'TagMissing' && vCenter.tagsDenied.size > 0) return
  if (wanted === undefined ? REASONS.includes(reason) : reason !== wanted) {
    judge.violate('tags that may be read are read', `${node}: ${reason} and not ${wanted}: ${message}`)
    return
  }
  const isTold = (text: string): boolean => message.includes(`"${text}"`)
  const areTold =
    missing.every(({ names, category }) => (names.length === 0 ? [category] : names).some(isTold)) &&
    ambiguous.every(({ names }) => names.every(isTold))
  if (!areTold) judge.violate('it is told which tags give no label', `${node}: ${message}`)
}
