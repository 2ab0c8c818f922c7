import { duration } from '../../../../lib/format.ts'
import type { Taint } from '../../../../types/node.ts'
import type { DeletionFacts } from '../node-facts.ts'
import type { Unmet } from './absence-proofs.ts'
import { isOwnOutOfServiceTaint, OUT_OF_SERVICE, outOfServiceTaint } from './out-of-service.ts'

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
