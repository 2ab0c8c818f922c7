import { ANNOTATION_LABELS } from '../../../controller/types/labels.ts'
import { ANNOTATION_DELETION } from '../../../controller/types/node.ts'
import {
  BETA_LABELS,
  LABEL_IDENTITY_LEVEL,
  LABEL_INSTANCE_TYPE,
  LABEL_REGION,
  LABEL_ZONE,
  TAINT_OUT_OF_SERVICE,
  TAINT_SHUTDOWN,
  TAINT_UNINITIALIZED,
} from '../../../controller/types/well-known.ts'
import type { StoredNode, TaintObject } from '../model/objects.ts'
import type { World } from '../world.ts'
import { isRuled, mayRecord } from './labels.ts'

const NAMES_VM = /^vsphere:\/\/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const STANDARD = [LABEL_ZONE, LABEL_REGION, LABEL_INSTANCE_TYPE]
const LABELS = new Set([LABEL_IDENTITY_LEVEL, ...STANDARD, ...Object.values(BETA_LABELS)])

/** What the controller writes is what policy-update-node.yaml lets it write: else the API server would refuse it. */
export function judgeByPolicy(world: World, by: string, before: StoredNode, after: StoredNode): void {
  const says = (what: string): void =>
    world.judge.violate(
      'a write is one that the policy lets pass',
      `${by} at ${before.metadata.name}: ${what}`,
    )
  const { providerID: provider = '', taints } = before.spec
  const waits = taints.some(({ key }) => key === TAINT_UNINITIALIZED)
  if (!provider.startsWith('vsphere://') && !(provider === '' && waits)) says('no Node of vSphere')
  if (provider !== '' && after.spec.providerID !== provider) says('another provider ID')
  if (
    waits &&
    after.spec.taints.every(({ key }) => key !== TAINT_UNINITIALIZED) &&
    !NAMES_VM.test(after.spec.providerID ?? '')
  )
    says(`initializes it by the provider ID ${after.spec.providerID}`)
  for (const taint of missingIn(after.spec.taints, taints)) if (!isOwn(taint)) says(`takes ${taint.key} away`)
  for (const taint of missingIn(taints, after.spec.taints))
    if (!isOwn(taint) || taint.key === TAINT_UNINITIALIZED) says(`sets ${taint.key}`)
  for (const label of changed(before.metadata.labels, after.metadata.labels))
    if (!LABELS.has(label) && !isRuled(label, before, after)) says(`label ${label}`)
  const leave = before.metadata.annotations[ANNOTATION_DELETION] === 'proceed'
  for (const key of changed(before.metadata.annotations, after.metadata.annotations))
    if (key === ANNOTATION_LABELS) {
      if (!mayRecord(before, after)) says('a record of labels that are not its own')
    } else if (key !== ANNOTATION_DELETION || !leave || after.metadata.annotations[key] !== undefined)
      says(`annotation ${key}`)
}

function isOwn({ key, value, effect }: TaintObject): boolean {
  if (key === TAINT_OUT_OF_SERVICE) return value === 'rollcall' && effect === 'NoExecute'
  return key === TAINT_UNINITIALIZED || (key === TAINT_SHUTDOWN && effect === 'NoSchedule')
}

function missingIn(list: readonly TaintObject[], of: readonly TaintObject[]): readonly TaintObject[] {
  return of.filter(
    (taint) =>
      !list.some(
        ({ key, value, effect, timeAdded }) =>
          key === taint.key &&
          value === taint.value &&
          effect === taint.effect &&
          timeAdded === taint.timeAdded,
      ),
  )
}

function changed(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): readonly string[] {
  return Object.keys({ ...before, ...after }).filter((key) => before[key] !== after[key])
}
