/** What tags have said for long stays the label of a running Node, and two tags never give one. */
import { LABEL_REGION, LABEL_ZONE, TAINT_UNINITIALIZED } from '../../../controller/types/well-known.ts'
import type { Machine, VM } from '../model/machine.ts'
import type { StoredNode } from '../model/objects.ts'
import { labelsOf, type TagModel, tagsAt } from '../model/tagging.ts'
import { machinesOf, type World } from '../world.ts'
import { isOfAcceptedCopy } from './accepted-copies.ts'
import { areLabelsRead } from './labels.ts'
import { isCalm } from './stopwatch.ts'

/** Milliseconds in which it is noticed what tags say: they are read every five minutes. */
const NOTICED = 400_000

export function createTagJudge() {
  /** Since when tags have said a value of a machine, by label and value; since ever for those of the first look. */
  const since = new WeakMap<Machine, ReadonlyMap<string, number>>()
  /** When something was last wrong by which tags may be read late. */
  let wrongAt = Number.NEGATIVE_INFINITY

  function lookAt({ timeline, settings, vCenters }: World, machine: Machine): void {
    const before = since.get(machine)
    // It may be listed several times, and a Node may be any of its entries.
    const entries = vCenters.flatMap(({ vms }) => [...vms.values()].filter((vm) => vm.machine === machine))
    const [first = [], ...others] = entries.map((vm) => keysOf(settings.labels, vm))
    const all = first.filter((key) => others.every((keys) => keys.includes(key)))
    const at = (key: string): number =>
      before === undefined ? Number.NEGATIVE_INFINITY : (before.get(key) ?? timeline.now)
    since.set(machine, new Map(all.map((key) => [key, at(key)])))
  }

  /** To and fro, as where two tags are on one host, is the worst that could happen to volumes. */
  function judgeChange(world: World, by: string, before: StoredNode, change: Change): void {
    const { timeline, judge } = world
    const { label, had, has } = change
    const [machine, ...others] = machinesOf(world, before.metadata.uid)
    if (machine === undefined || others.length > 0 || had === undefined || waits(before)) return
    const saidSince = since.get(machine)?.get(keyOf(label, had))
    if (saidSince === undefined || timeline.now - Math.max(saidSince, wrongAt) < NOTICED) return
    const isIts = (vm: VM): boolean =>
      has !== undefined && keysOf(world.settings.labels, vm).includes(keyOf(label, has))
    if (isOfAcceptedCopy(world, by, before, isIts)) return
    judge.violate(
      'a label that a tag says stays',
      `${by} changes ${label}=${had} of ${before.metadata.name} to ${has}`,
    )
  }

  return {
    look(world: World): void {
      if (world.settings.labels.zone === undefined) return
      for (const machine of world.machines.all) lookAt(world, machine)
      if (!isCalm(world) || !world.vCenters.every(areLabelsRead)) wrongAt = world.timeline.now
    },
    judge(world: World, by: string, before: StoredNode, after: StoredNode): void {
      const { zone, region } = world.settings.labels
      for (const [label, category] of [
        [LABEL_ZONE, zone],
        [LABEL_REGION, region],
      ] as const) {
        const [had, has] = [before.metadata.labels[label], after.metadata.labels[label]]
        if (category === undefined || had === has) continue
        for (const machine of machinesOf(world, before.metadata.uid)) lookAt(world, machine)
        judgeChange(world, by, before, { label, had, has })
        if (has !== undefined) judgeOthers(world, by, before, { label, category, has })
      }
    },
  }
}

interface Change {
  readonly label: string
  readonly had: string | undefined
  readonly has: string | undefined
}

/** No other Node has this label by another tag. */
function judgeOthers(
  world: World,
  by: string,
  { metadata: { uid, name } }: StoredNode,
  { label, category, has }: { readonly label: string; readonly category: string; readonly has: string },
): void {
  const { judge, api } = world
  const mine = tagsGiving(world, uid, category, has)
  if (mine === undefined) return
  for (const other of api.nodes.values()) {
    const theirs = tagsGiving(world, other.metadata.uid, category, has)
    if (other.metadata.labels[label] !== has || theirs?.vCenter !== mine.vCenter) continue
    if (theirs.tags.some((tag) => mine.tags.includes(tag))) continue
    const names = [...mine.tags, ...theirs.tags].map((tag) => `"${tag.name}"`).join(' and ')
    judge.violate(
      'two tags never give one label',
      `${by} labels ${name} with ${label}=${has}, as ${other.metadata.name}: ${names}`,
    )
  }
}

/** The tags of a Node's VM whose names give this value, taken by themselves; undefined where there is none. */
function tagsGiving(
  world: World,
  nodeUID: string,
  category: string,
  value: string,
): { readonly vCenter: VM['vCenter']; readonly tags: readonly TagModel[] } | undefined {
  const [vm, ...others] = machinesOf(world, nodeUID).flatMap((machine) => machine.vm ?? [])
  if (vm === undefined || others.length > 0) return undefined
  const { vCenter } = vm
  const tags = tagsAt(vCenter.tagging, vm, category).filter((tag) => tag.label === value)
  return tags.length === 0 ? undefined : { vCenter, tags }
}

/** All that tags say of a VM. */
function keysOf({ zone, region }: World['settings']['labels'], vm: VM): readonly string[] {
  const { tagging } = vm.vCenter
  const values = (category: string | undefined): readonly string[] =>
    category === undefined ? [] : labelsOf(tagging, tagsAt(tagging, vm, category))
  return [
    ...values(zone).map((value) => keyOf(LABEL_ZONE, value)),
    ...values(region).map((value) => keyOf(LABEL_REGION, value)),
  ]
}

function keyOf(label: string, value: string): string {
  return `${label}=${value}`
}

function waits({ spec }: StoredNode): boolean {
  return spec.taints.some(({ key }) => key === TAINT_UNINITIALIZED)
}
