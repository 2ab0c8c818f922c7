/** A cluster of which half of the VMs vanish at once: what the brake is for. */
import type { ControllerProcessOptions } from '../world/controller.ts'
import type { CrowdMember } from '../world/crowd.ts'
import { deletionPending, QUICK, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import type { Stage } from '../world/stage.ts'

export const HALF_LIFECYCLE = {
  ...QUICK,
  absentFor: '2s',
} as const satisfies ControllerProcessOptions['lifecycle']
export const BRAKE = 'rollcall_deletion_brake_engaged{vcenter="main"}'
export const DELETED = 'rollcall_nodes_deleted_total{vcenter="main"}'

export interface Half {
  readonly members: readonly CrowdMember[]
  /** Those whose VMs vanish, and are not ready. */
  readonly names: readonly string[]
  readonly refs: readonly string[]
  /** How many Nodes there are. */
  kept(): number
}

/**
 * Brings up Nodes for all VMs, with a controller that is running already.
 *
 * @param count how many VMs are to vanish; by default half of them
 */
export async function openHalf(stage: Stage, count = stage.vms.length / 2): Promise<Half> {
  const members = await stage.crowd(stage.vms.length)
  const vanishing = members.slice(0, count)
  await watched(stage)
  const names = vanishing.map(({ name }) => name)
  await loseHeartbeats(stage.cluster, ...names)
  return {
    members,
    names,
    refs: vanishing.map(({ vm }) => vm.ref),
    kept: () => members.filter(({ name }) => stage.nodes.last(name) !== undefined).length,
  }
}

/** Waits until these are kept by the brake and by nothing else: all that time brings is there. */
export async function heldByBrake(stage: Stage, names: readonly string[]): Promise<void> {
  const message = /is gone, and the Node is kept for now: the deletion brake is engaged: [^;]+; [^;]+$/
  const wanted = { status: 'True', reason: 'BrakeEngaged', message } as const
  await Promise.all(names.map((name) => deletionPending(stage, name, wanted)))
}
