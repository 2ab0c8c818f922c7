import { duration } from './duration.ts'
import { OUT_OF_SERVICE, outOfServiceTaint } from './out-of-service.ts'
import type { DeletionFacts } from './preconditions.ts'
import type { Missing } from './proofs.ts'

/**
 * What keeps a Node for its volumes. Nothing detaches them as long as its pods are there, which nobody deletes while the
 * machine is silent; so the Node is called out of service first, and that is what is waited for.
 */
export function volumesAttached(facts: DeletionFacts): Missing | undefined {
  const { settings, evidence, node } = facts
  const { waitForVolumes } = settings
  if (waitForVolumes === undefined || evidence.attachments === 0 || leftForVolumes(facts) <= 0)
    return undefined
  const until = `it waits for at most ${duration(waitForVolumes)} (lifecycle.waitForVolumes)`
  if (evidence.attachments === undefined) {
    return {
      reason: 'VolumesUnknown',
      message: `the VolumeAttachments of the Node cannot be listed: look at the RBAC of rollcall-controller; ${until}`,
    }
  }
  const taint = `the taint ${OUT_OF_SERVICE.key}:${OUT_OF_SERVICE.effect}`
  return {
    reason: 'VolumesAttached',
    message: awaitsDetaching(facts)
      ? `${evidence.attachments} VolumeAttachments still name Node ${node.name}; when nothing else keeps it, it gets ${taint}, by which they are detached`
      : `${evidence.attachments} VolumeAttachments still name Node ${node.name}, and ${taint} has them detached; ${until}`,
  }
}

/** Whether volumes are attached, and nobody has called the Node out of service. */
export function awaitsDetaching({ settings, evidence, node }: DeletionFacts): boolean {
  const { attachments } = evidence
  return (
    settings.waitForVolumes !== undefined &&
    attachments !== undefined &&
    attachments > 0 &&
    outOfServiceTaint(node) === undefined
  )
}

/** Milliseconds for which the Node waits for its volumes still; without end while that has not begun. */
export function leftForVolumes(facts: DeletionFacts): number {
  const { settings, evidence, node, monotonic, now } = facts
  const { waitForVolumes, absentFor } = settings
  if (waitForVolumes === undefined || evidence.absent === undefined || awaitsDetaching(facts))
    return Number.POSITIVE_INFINITY
  const added = Date.parse(outOfServiceTaint(node)?.timeAdded ?? '')
  // A person may have written the taint without a time.
  return Number.isNaN(added)
    ? evidence.absent.since + absentFor + waitForVolumes - monotonic
    : added + waitForVolumes - now
}
