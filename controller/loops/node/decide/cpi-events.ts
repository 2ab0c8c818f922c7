/** The Events that the CPI's controllers record, for those who watch for them; ours, which say more, stand beside them. */
import type { NodeEvent } from './node-events.ts'

/** As of cloud-provider's node controller, once a Node is initialized. */
export const SYNCED: NodeEvent = {
  type: 'Normal',
  reason: 'Synced',
  message: 'Node synced successfully',
  component: 'cloud-node-controller',
}

/** As of cloud-provider's node lifecycle controller; recorded here once the Node is deleted. */
export function deletingNode(name: string): NodeEvent {
  return {
    type: 'Normal',
    reason: 'DeletingNode',
    message: `Deleting node ${name} because it does not exist in the cloud provider`,
    component: 'cloud-node-lifecycle-controller',
  }
}
