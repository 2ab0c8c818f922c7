/** What several scenes have in common. */
import type { LifecycleConfig } from '../../../controller/config/config.ts'
import type { EventDetails } from '../../../controller/kubernetes/event-recorder.ts'
import type { FixedScene } from '../scene.ts'

/** Metrics of the leader. */
export const BRAKE = 'rollcall_deletion_brake_engaged{vcenter="vc-1"}'
export const DELETED = 'rollcall_nodes_deleted_total{vcenter="vc-1"}'
export const MISSING = 'rollcall_vms_missing{vcenter="vc-1"}'

/** The brake is out of the way, so that something else is what holds. */
export const NO_BRAKE: Partial<LifecycleConfig> = { maxAbsentMinimum: 100 }

/** The Events that say that the brake holds a Node, engaged or not. */
export function brakeEvents({ events }: FixedScene<string>, nodeName: string): readonly EventDetails[] {
  return events(nodeName).filter(({ reason }) => reason.startsWith('Brake'))
}
