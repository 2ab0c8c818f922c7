import type { LabelRule } from '../../../controller/config/config.ts'
import { ANNOTATION_LABELS, parseRecord } from '../../../controller/types/labels.ts'
import { TAINT_UNINITIALIZED } from '../../../controller/types/well-known.ts'
import { labelOf, sourceKey, sourceKeys, sourceValue } from '../model/label-sources.ts'
import type { Machine, VM } from '../model/machine.ts'
import type { StoredNode } from '../model/objects.ts'
import { machinesOf, type World } from '../world.ts'
import { isOfAcceptedCopy } from './accepted-copies.ts'
import { isCalm } from './stopwatch.ts'

/** Milliseconds in which it is noticed that there is no value any more: all is read every five minutes, and twice. */
const NOTICED = 1_800_000
/** All that was wrong is got over after so long, milliseconds. */
const QUIET = 400_000

/** What is promised of labels by rule. */
export function createLabelJudge() {
  /** When a source truly had no value for a machine last, by the rule's label. */
  const missedAt = new WeakMap<Machine, Map<string, number>>()
  /** What all sources say of a machine, and since when. */
  const said = new WeakMap<Machine, { readonly text: string; readonly since: number }>()
  /** When labels of a running Node were last changed to other values, by its UID, and by whom. */
  const changed = new Map<string, { readonly by: string; readonly at: number }>()
  /** When something was last wrong by which labels may be read late. */
  let wrongAt = 0

  function lookAt({ timeline, settings, vCenters }: World, machine: Machine): void {
    const missed = missedAt.get(machine) ?? new Map<string, number>()
    missedAt.set(machine, missed)
    // It may be listed several times, and a Node may be any of its entries.
    const entries = vCenters.flatMap(({ vms }) => [...vms.values()].filter((vm) => vm.machine === machine))
    for (const { label, from } of settings.labelRules)
      if (entries.some((vm) => sourceValue(from, vm) === undefined)) missed.set(label, timeline.now)
    // Which of them it runs as may change while all stay listed.
    const text = [machine.vm?.moref, ...entries.map((vm) => `${vm.moref} ${sourceKeys(vm).join()}`)].join()
    if (said.get(machine)?.text !== text) said.set(machine, { text, since: timeline.now })
  }

  function judgeRemoval(world: World, by: string, node: StoredNode, { label, from }: LabelRule): void {
    const { timeline, judge } = world
    const machines = machinesOf(world, node.metadata.uid)
    const isGone = machines.some(
      (machine) => timeline.now - (missedAt.get(machine)?.get(label) ?? -Infinity) < NOTICED,
    )
    if (isGone) return
    if (isOfAcceptedCopy(world, by, node, (vm) => sourceValue(from, vm) === undefined)) return
    judge.violate(
      'no label vanishes because something cannot be read',
      `${by} removes ${label}=${node.metadata.labels[label]} of ${node.metadata.name}`,
    )
  }

  /** After a move all labels follow at once: no second write, while nothing else has changed and all can be read. */
  function judgeWrites(world: World, by: string, { metadata }: StoredNode): void {
    const { timeline, judge } = world
    const last = changed.get(metadata.uid)
    changed.set(metadata.uid, { by, at: timeline.now })
    const [machine, ...others] = machinesOf(world, metadata.uid)
    if (machine === undefined || others.length > 0 || last?.by !== by) return
    const { since } = said.get(machine) ?? { since: timeline.now }
    if (last.at >= since && since - wrongAt > QUIET)
      judge.violate('one write follows a move', `${by} changes labels of ${metadata.name} again`)
  }

  return {
    look(world: World): void {
      if (world.settings.labelRules.length === 0) return
      for (const machine of world.machines.all) lookAt(world, machine)
      if (!isCalm(world) || !world.vCenters.every(areLabelsRead)) wrongAt = world.timeline.now
    },
    judge(world: World, by: string, before: StoredNode, after: StoredNode): void {
      const { labelRules } = world.settings
      if (labelRules.length === 0) return
      const { name, uid } = before.metadata
      const machines = machinesOf(world, uid)
      for (const machine of machines) lookAt(world, machine)
      let follows = false
      for (const rule of labelRules) {
        const { label, from, when } = rule
        const [had, has] = [before.metadata.labels[label], after.metadata.labels[label]]
        if (had === has) continue
        const recorded = parseRecord(before.metadata.annotations[ANNOTATION_LABELS]).get(label)
        if (had !== undefined && had !== recorded && !waits(before))
          world.judge.violate('a label that others wrote stays', `${by} changes ${label}=${had} of ${name}`)
        if (when === 'initialize' && !waits(before))
          world.judge.violate('a label for the initialization stays', `${by} changes ${label} of ${name}`)
        if (has === undefined) {
          judgeRemoval(world, by, before, rule)
          continue
        }
        follows ||= had !== undefined && !waits(before)
        const isOf = (key: string): boolean => {
          const start = sourceKey(from, '')
          return key.startsWith(start) && labelOf(rule, key.slice(start.length)) === has
        }
        // A person may have attached a tag where the VM stands since it came there.
        const isIts = ({ places, vm }: Machine) => [...places, ...(vm ? sourceKeys(vm) : [])].some(isOf)
        if (machines.some(isIts)) continue
        if (isOfAcceptedCopy(world, by, before, (vm) => sourceKeys(vm).some(isOf))) continue
        world.judge.violate('labels by rule are those of the VM', `${by} labels ${name} with ${label}=${has}`)
      }
      if (follows) judgeWrites(world, by, before)
    },
  }
}

/** Whether a vCenter shows all that labels are made of, to everybody, as soon as it changes. */
export function areLabelsRead(vCenter: VM['vCenter']): boolean {
  const { errors, slowLogin, slowSetUp, silence, loaded, pushLost, withoutPropagation } = vCenter
  const { tagsHidden, attributesHidden, losesLogins, denied, reticent, faults, tagsDenied, untagged } =
    vCenter
  const isSlow = errors > 0 || slowLogin > 0 || slowSetUp > 0 || silence > 0 || losesLogins !== undefined
  const isPartial = loaded !== undefined || pushLost > 0 || withoutPropagation || tagsHidden
  // A VM that comes to another host is labeled by the tags that the host had when they were read last.
  const hidden = [denied, reticent, faults, tagsDenied, untagged].some(({ size }) => size > 0)
  return !isSlow && !isPartial && !hidden && attributesHidden === undefined
}

const PREFIX = 'rollcall.node-restriction.kubernetes.io/'

/** Whether the policy lets the controller change this label: see manifests/base/policy-update-node.yaml. */
export function isRuled(label: string, before: StoredNode, after: StoredNode): boolean {
  const isRecorded = ({ metadata }: StoredNode): boolean =>
    parseRecord(metadata.annotations[ANNOTATION_LABELS]).has(label)
  if (label.startsWith(PREFIX)) return true
  return isRecorded(after) && (isRecorded(before) || (waits(before) && !(label in before.metadata.labels)))
}

/** Whether the policy lets it change the record so. */
export function mayRecord(before: StoredNode, after: StoredNode): boolean {
  const recorded = ({ metadata }: StoredNode) => [
    ...parseRecord(metadata.annotations[ANNOTATION_LABELS]).keys(),
  ]
  const had = recorded(before)
  return recorded(after).every(
    (label) =>
      label.startsWith(PREFIX) ||
      had.includes(label) ||
      (waits(before) && !(label in before.metadata.labels)),
  )
}

function waits({ spec }: StoredNode): boolean {
  return spec.taints.some(({ key }) => key === TAINT_UNINITIALIZED)
}
