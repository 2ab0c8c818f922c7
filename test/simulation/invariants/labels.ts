import { parseRecord } from '../../../controller/types/labels.ts'
import { TAINT_UNINITIALIZED } from '../../../controller/types/well-known.ts'
import type { VM } from '../model/machine.ts'
import type { StoredNode } from '../model/objects.ts'
import { rackOf } from '../model/rest.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import { machinesOf, type World } from '../world.ts'
import { isOfAcceptedCopy } from './binding.ts'

/** Milliseconds in which a detached tag is noticed: all is read every five minutes, and twice. */
const NOTICED = 1_800_000

/** What is promised of labels by rule. */
export function createLabelJudge() {
  /** When tags were last detached, by vCenter and as `VCenterModel.untagged` has them. */
  const untaggedAt = new WeakMap<VCenterModel, Map<string, number>>()

  /** Whether a tag was really taken off in the last while, and not merely hidden by an outage or for lack of a right. */
  function isDetached({ vCenters, timeline }: World, tags: readonly string[]): boolean {
    return vCenters.some((vCenter) =>
      [...(untaggedAt.get(vCenter) ?? [])].some(
        ([key, at]) => timeline.now - at < NOTICED && tags.some((tag) => key.endsWith(` ${tag}`)),
      ),
    )
  }

  return {
    look({ vCenters, timeline }: World): void {
      for (const vCenter of vCenters) {
        const known = untaggedAt.get(vCenter) ?? new Map<string, number>()
        for (const key of vCenter.untagged) known.set(key, timeline.now)
        untaggedAt.set(vCenter, known)
      }
    },
    judge(world: World, by: string, before: StoredNode, after: StoredNode): void {
      const { name, uid } = before.metadata
      const machines = machinesOf(world, uid)
      for (const { label } of world.settings.labelRules) {
        const [had, has] = [before.metadata.labels[label], after.metadata.labels[label]]
        if (had === has) continue
        if (has === undefined && had !== undefined) {
          const racks = machines.flatMap(({ vm, lastVM }) =>
            [vm, lastVM].flatMap((each) => (each ? rackOf(each.host) : [])),
          )
          if (!isDetached(world, [had, ...racks]))
            world.judge.violate(
              'no label vanishes because something cannot be read',
              `${by} removes ${label}=${had} of ${name}`,
            )
          continue
        }
        const stands = ({ host }: VM): boolean => [rackOf(host), host].includes(has ?? '')
        if (machines.some(({ places }) => places.has(has ?? ''))) continue
        if (isOfAcceptedCopy(world, by, before, stands)) continue
        world.judge.violate('labels by rule are those of the VM', `${by} labels ${name} with ${label}=${has}`)
      }
    },
  }
}

const PREFIX = 'rollcall.node-restriction.kubernetes.io/'

/** Whether the policy lets the controller change this label: see manifests/base/policy-update-node.yaml. */
export function isRuled(label: string, before: StoredNode, after: StoredNode): boolean {
  const isRecorded = ({ metadata }: StoredNode): boolean =>
    parseRecord(metadata.annotations['rollcall.dev/labels']).has(label)
  if (label.startsWith(PREFIX)) return true
  return isRecorded(after) && (isRecorded(before) || (waits(before) && !(label in before.metadata.labels)))
}

/** Whether the policy lets it change the record so. */
export function mayRecord(before: StoredNode, after: StoredNode): boolean {
  const recorded = ({ metadata }: StoredNode) => [
    ...parseRecord(metadata.annotations['rollcall.dev/labels']).keys(),
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
