/**
 * Machines that live though their vCenter says that their VM is gone, as where it was unregistered or an old backup of
 * vCenter was restored. They do not count among those that vanish: one that lives must hold nobody. But a vCenter that is
 * wrong about many is not to be believed about the few that are silent as well, as long as the agents of the many report.
 */
import type { BoundVM } from '../../../../../agent/shared/node-report.ts'
import type { LifecycleConfig } from '../../../../config/config.ts'
import { duration } from '../../../../lib/format.ts'
import { ANNOTATION_DELETION, type Node } from '../../../../types/node.ts'
import { isUnseen } from '../../facts/machines.ts'
import { isDecided } from '../../facts/removal.ts'
import type { Unmet } from './absence-proofs.ts'
import { allowedAbsent, type Fleet, quietTime } from './brake.ts'
import type { Evidence } from './evidence.ts'

/**
 * Whether a machine goes on speaking though vCenter has proven its VM absent: vCenter is wrong about it, as where the VM was
 * unregistered. Its Node never counts as absent, and cannot be deleted. A living kubelet writes Ready as True or False;
 * where only the agent speaks, which may be about to end, the machine counts as absent for a while first.
 */
export function livesOn(
  node: Node,
  evidence: Evidence | undefined,
  missingFor: number,
  settings: LifecycleConfig,
): boolean {
  if (evidence?.spokenAt === undefined || isDecided(node)) return false
  if (node.ready?.status === 'True') return !fellSilent(evidence)
  if (evidence.askedAt - evidence.spokenAt >= settings.absentFor) return false
  return node.ready?.status === 'False' || missingFor >= quietTime(settings)
}

/** For how many times `absentFor` the agent of a machine must have been silent: 24 minutes by default. */
const AGENT_SILENT = 6

/**
 * Whether nothing but its kubelet speaks for a machine that is proven absent, for long: its agent, which reports every few
 * minutes, has been silent since. A kubelet's certificate that was copied off a destroyed VM can do that forever. Its own Node
 * is kept all the same, but it says nothing more about its vCenter. A machine that never had an agent is not measured so.
 */
export function speaksByKubeletAlone(
  evidence: Pick<Evidence, 'absent' | 'askedAt' | 'agentHeardAt' | 'request'> | undefined,
  { absentFor }: Pick<LifecycleConfig, 'absentFor'>,
): boolean {
  if (evidence?.absent === undefined || evidence.request.agentSign === undefined) return false
  return evidence.askedAt - evidence.agentHeardAt >= AGENT_SILENT * absentFor
}

/** Longer than a living kubelet takes to renew its Lease, milliseconds: it does so every 10 s. */
const RENEWED = 30_000

/** Whether a machine whose Node is still called Ready is silent: by a sign of life the proof of its absence begins anew. */
function fellSilent({ absent }: Evidence): boolean {
  return absent !== undefined && absent.last - absent.since >= RENEWED
}

/**
 * Whether it will be known of a machine whether it lives, is gone or is there: it has not been probed yet, or is proven
 * absent, and silent, while its Node is Ready. That ends when kube-controller-manager has waited for long enough, which may
 * be long after the others of a wave are no longer Ready. To be asked only where the machine does not live on.
 */
export function isStillUnknown(evidence: Evidence | undefined): boolean {
  return evidence === undefined || evidence.absent !== undefined
}

/** Whether vCenter is wrong about more machines than may vanish at once, so that it is not believed about any other. */
export function tooManyLive(
  living: number,
  { bound }: Pick<Fleet, 'bound'>,
  settings: LifecycleConfig,
): boolean {
  return living > allowedAbsent(bound, settings)
}

/** Whether vCenter was so wrong until lately: somebody may be registering its VMs again, one after the other. */
export function wasDoubted({ doubtedAgo }: Pick<Fleet, 'doubtedAgo'>, settings: LifecycleConfig): boolean {
  return doubtedAgo < quietTime(settings)
}

/** Why the brake holds a Node while vCenter is wrong about too many others, and for a while after. */
export function vCenterDoubted(
  { name }: Pick<Node, 'name'>,
  { vCenter, moref }: Pick<BoundVM, 'vCenter' | 'moref'>,
  settings: LifecycleConfig,
): Unmet {
  const shows = isUnseen({ moref }) ? 'no vCenter shows' : `vCenter ${vCenter} does not show`
  return {
    reason: 'BrakeEngaged',
    message: `the deletion brake is engaged: ${shows} the VMs of more machines that run than lifecycle.maxAbsentShare and maxAbsentMinimum allow, as after the restore of an old backup; it is released ${duration(quietTime(settings))} after those VMs are registered again, or after their Nodes (those whose DeletionPending is NodeReady or SignOfLife) are deleted or annotated ${ANNOTATION_DELETION}=hold, or after their agents have been silent for ${duration(AGENT_SILENT * settings.absentFor)}; or allow the deletion of this Node: kubectl annotate node ${name} ${ANNOTATION_DELETION}=proceed`,
  }
}
