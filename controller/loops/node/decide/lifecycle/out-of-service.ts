import type { BoundVM } from '../../../../../agent/shared/node-report.ts'
import { duration } from '../../../../lib/format.ts'
import { failureOf, vmsOf } from '../../../../types/inventory.ts'
import type { Node, Taint } from '../../../../types/node.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { LABEL_CONTROL_PLANE, TAINT_OUT_OF_SERVICE } from '../../../../types/well-known.ts'
import { isBoundTo } from '../bound-vm.ts'
import { isDeadEntry } from '../identity/fitting-vms.ts'
import { hadCopy } from '../identity/moves.ts'
import type { DeletionFacts, NodeFacts } from '../node-facts.ts'
import type { Unmet } from './absence-proofs.ts'
import { type Evidence, isFresh } from './evidence.ts'

/** The value tells our taint from a person's, which only a person may remove. */
export const OUT_OF_SERVICE: Taint = { key: TAINT_OUT_OF_SERVICE, value: 'rollcall', effect: 'NoExecute' }

export interface OutOfService {
  readonly taint: boolean
  readonly probeDue: boolean
  readonly requeueAfter: number | undefined
}

const NOT_YET: OutOfService = { taint: false, probeDue: false, requeueAfter: undefined }
/** Milliseconds after which to probe again a VM that vCenter itself may be about to start, or that may run as another. */
const PROBE_AGAIN = 30_000

/**
 * Whether a Node whose VM is off is out of service, which deletes its pods and detaches its volumes by force. The VM must
 * have been off for as long as configured, probed by moref at the start and at the end of that time, and nothing may be
 * about to start it: KEP-2268 leaves it to its user to make sure of that. Undefined where the taint is not wanted at all.
 */
export function judgeOutOfService(
  facts: Pick<
    NodeFacts,
    'node' | 'evidence' | 'leadingFor' | 'monotonic' | 'now' | 'settings' | 'lookups' | 'previous'
  >,
): OutOfService | undefined {
  const { node, evidence, leadingFor, monotonic } = facts
  const settings = facts.settings.lifecycle
  const { outOfServiceAfter: after } = settings
  if (after === undefined || outOfServiceTaint(node) !== undefined) return undefined
  if (isControlPlane(node) && !settings.outOfServiceControlPlane) return undefined
  if (evidence === undefined) return { ...NOT_YET, probeDue: true }
  const again = evidence.askedAt + Math.min(after, PROBE_AGAIN) - monotonic
  if (evidence.off === undefined) return probeAt(again)
  const left = Math.max(evidence.off.since + after - monotonic, settings.leaderAge - leadingFor)
  if (left > 0) return { ...NOT_YET, requeueAfter: left }
  // An event will come when the Node's condition changes.
  if (node.ready?.status === 'True') return NOT_YET
  if (mayRunByProbe(evidence, facts)) return probeAt(again)
  if (!isFresh(evidence, facts) || evidence.off.times < 2) return { ...NOT_YET, probeDue: true }
  return { ...NOT_YET, taint: true }
}

/**
 * Whether the machine of a VM that is off may run as another one that has its UUID, failed over or restored from a backup, which
 * an agent without a nonce cannot prove. There it writes to the Node's volumes: so here a copy counts as the machine, and one on a
 * host that is away may run whatever was last known of it. After a copy was seen, or where the Node was another VM that is not
 * proven gone, every vCenter must say that none runs.
 */
export function mayRunElsewhere(
  bound: BoundVM,
  { lookups, previous }: Pick<NodeFacts, 'lookups' | 'previous'>,
): boolean {
  const isElsewhere = lookups
    .flatMap(({ lookup }) => vmsOf(lookup))
    .some((vm) => !isBoundTo(bound, vm) && !vm.template && mayRun(vm))
  const isUnanswered = lookups.some(
    ({ lookup }) => lookup.state === 'pending' || failureOf(lookup) !== undefined,
  )
  return isElsewhere || (isUnanswered && hadAnotherVM(previous))
}

function mayRun(vm: Pick<VirtualMachine, 'connectionState' | 'powerState'>): boolean {
  return !isDeadEntry(vm) && machineState(vm) !== 'off'
}

/** Whether there was a copy, or the Node was another VM that is not proven gone. */
function hadAnotherVM(previous: NodeFacts['previous']): boolean {
  return hadCopy(previous) || (previous.formerVMs ?? []).length > 0
}

/**
 * Whether the last probe does not say that the machine runs nowhere else. What an inventory shows may be older: it has not
 * noticed yet that its vCenter is away, or that another VM was found or powered on.
 */
function mayRunByProbe(
  { request: { vm: bound }, probes }: Evidence,
  { lookups, previous }: Pick<NodeFacts, 'lookups' | 'previous'>,
): boolean {
  const shown = lookups.flatMap(({ lookup }) => vmsOf(lookup))
  return probes.some(({ biosUUID, vCenterInstanceUUID: vCenter }) => {
    if (biosUUID.state === 'unknown') return hadAnotherVM(previous)
    if (biosUUID.state === 'not-found') return false
    const isKnown = (moref: string): boolean =>
      (moref === bound.moref && vCenter === bound.vCenterInstanceUUID) ||
      shown.some((vm) => vm.moref === moref && vm.vCenter.instanceUUID === vCenter)
    const { vm: found, others = [] } = biosUUID
    const isBound = found.moref === bound.moref && vCenter === bound.vCenterInstanceUUID
    return (!isBound && mayRun(found)) || ![found.moref, ...others].every(isKnown)
  })
}

export function isOwnOutOfServiceTaint({ key, value, effect }: Taint): boolean {
  return key === OUT_OF_SERVICE.key && value === OUT_OF_SERVICE.value && effect === OUT_OF_SERVICE.effect
}

/**
 * Removes our taint from a Node that is Ready again, whatever vCenter says, or cannot say: its machine runs, and no pod could
 * stay there. Where its VM is not shown any more, nothing else would ever remove it.
 *
 * @param taints all that it would have otherwise
 */
export function backInService({ ready }: Pick<Node, 'ready'>, taints: readonly Taint[]): readonly Taint[] {
  return ready?.status === 'True' && taints.some(isOwnOutOfServiceTaint)
    ? taints.filter((taint) => !isOwnOutOfServiceTaint(taint))
    : taints
}

/** The taint, whoever set it. */
function outOfServiceTaint({ taints }: Pick<Node, 'taints'>): Taint | undefined {
  return taints.find(({ key, effect }) => key === OUT_OF_SERVICE.key && effect === OUT_OF_SERVICE.effect)
}

function isControlPlane({ labels }: Node): boolean {
  return labels[LABEL_CONTROL_PLANE] !== undefined
}

function probeAt(wait: number): OutOfService {
  return wait > 0 ? { ...NOT_YET, requeueAfter: wait } : { ...NOT_YET, probeDue: true }
}

/**
 * Keeps a Node while volumes are attached to it. Nothing detaches them while its pods exist, and nobody deletes those while
 * the machine is silent. So the Node gets the out-of-service taint first, and its deletion waits for the detaching.
 */
export function volumesAttached(facts: DeletionFacts): Unmet | undefined {
  const { settings, evidence, node } = facts
  const { waitForVolumes } = settings.lifecycle
  if (waitForVolumes === undefined || evidence.attachments === 0 || leftForVolumes(facts) <= 0)
    return undefined
  const until = `the Node waits ${duration(waitForVolumes)} at most (lifecycle.waitForVolumes)`
  if (evidence.attachments === undefined) {
    return {
      reason: 'VolumesUnknown',
      message: `the VolumeAttachments of the Node cannot be listed: check the RBAC of rollcall-controller; ${until}`,
    }
  }
  const taint = `the taint ${OUT_OF_SERVICE.key}:${OUT_OF_SERVICE.effect}`
  return {
    reason: 'VolumesAttached',
    message: awaitsDetaching(facts)
      ? `${evidence.attachments} VolumeAttachments still name Node ${node.name}; once nothing else keeps it, it gets ${taint}, which has them detached`
      : `${evidence.attachments} VolumeAttachments still name Node ${node.name}; ${taint} has them detached; ${until}`,
  }
}

/**
 * Whether volumes are attached and the Node has no out-of-service taint yet. Our own taint that a clock which was ahead dated
 * into the future is replaced: the Node would wait until that time.
 */
export function awaitsDetaching({ settings, evidence, node, now }: DeletionFacts): boolean {
  const { attachments } = evidence
  const taint = outOfServiceTaint(node)
  return (
    settings.lifecycle.waitForVolumes !== undefined &&
    attachments !== undefined &&
    attachments > 0 &&
    (taint === undefined || (isOwnOutOfServiceTaint(taint) && timeOf(taint) > now))
  )
}

/** How much longer the Node waits for its volumes, milliseconds; infinite before the wait has begun. */
export function leftForVolumes(facts: DeletionFacts): number {
  const { settings, evidence, node, monotonic, now } = facts
  const { waitForVolumes, absentFor } = settings.lifecycle
  if (waitForVolumes === undefined || evidence.absent === undefined || awaitsDetaching(facts))
    return Number.POSITIVE_INFINITY
  const added = timeOf(outOfServiceTaint(node))
  // A person may have set the taint without a time, or with one to come.
  return added <= now
    ? added + waitForVolumes - now
    : evidence.absent.since + absentFor + waitForVolumes - monotonic
}

/** When a taint was added, milliseconds since the epoch; NaN where it does not say. */
function timeOf(taint: Taint | undefined): number {
  return Date.parse(taint?.timeAdded ?? '')
}
