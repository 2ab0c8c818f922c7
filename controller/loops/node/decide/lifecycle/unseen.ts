import type { DecisionConfig } from '../../../../config/config.ts'
import type { Node } from '../../../../types/node.ts'
import type { KnownNode } from '../../facts/known-node.ts'
import type { NodeMachines } from '../../facts/machines.ts'
import { hasUninitializedTaint } from '../../facts/needs-initialization.ts'

export interface UnseenFacts extends Pick<KnownNode, 'machineUUID'> {
  readonly node: Node
  readonly settings: Pick<DecisionConfig, 'lifecycle'>
}

/**
 * Whether a Node may go although no vCenter has ever shown one of its machines, which is then known by its UUID alone.
 *
 * Never where the Node was verified before: such a machine took it over only recently. Always where the Node still waits
 * for a cloud provider and a witness that the configuration accepts names its VM: nothing was ever scheduled to it, and an
 * autoscaler may remove a VM before any vCenter has shown it. Otherwise as `lifecycle.unbound` says: the Node may run pods,
 * or belong to another provider.
 */
export function mayGoUnseen(
  { bound }: Pick<NodeMachines, 'bound'>,
  { node, machineUUID, settings }: UnseenFacts,
): boolean {
  if (bound) return false
  const named = machineUUID.uuids.length > 0
  return (hasUninitializedTaint(node) && named) || settings.lifecycle.unbound === 'delete'
}
