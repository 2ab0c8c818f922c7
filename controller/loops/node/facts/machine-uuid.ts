import type { IdentityLevel } from '../../../../agent/shared/node-report.ts'
import type { DecisionConfig } from '../../../config/config.ts'
import { requiredLevel } from '../../../config/identity-level.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { canonicalUUID, swapUUID } from '../../../types/uuid.ts'

/** The BIOS UUIDs by which to search for a Node's VM. */
export interface MachineUUID {
  /** Who names the UUIDs: an agent (`reported`) or the kubelet (`asserted`). */
  readonly witness: Extract<IdentityLevel, 'asserted' | 'reported'>
  /** Canonical, in each byte order that vCenter may have. Empty where nothing usable is known. */
  readonly uuids: readonly string[]
}

/**
 * The agent's `product_serial`, which is in vCenter's byte order. Without one, where the Node may stay at `asserted`,
 * the kubelet's `systemUUID` in both byte orders: nothing tells which one the firmware used
 * (kubernetes/kubernetes#58927).
 */
export function machineUUID(
  node: Pick<Node, 'labels' | 'systemUUID'> | undefined,
  report: NodeReport | undefined,
  identity: DecisionConfig['identity'],
): MachineUUID {
  const serial = report?.spec.ok === true ? report.spec.value.machine.serialUUID : undefined
  if (serial !== undefined) return { witness: 'reported', uuids: [serial] }
  if (node === undefined || requiredLevel(node, identity) !== 'asserted')
    return { witness: 'reported', uuids: [] }
  const asserted = canonicalUUID(node.systemUUID)
  if (asserted === undefined || isBlankUUID(asserted)) return { witness: 'asserted', uuids: [] }
  return { witness: 'asserted', uuids: [...new Set([asserted, swapUUID(asserted)])] }
}

/** What firmware reports if it was given no UUID. */
export function isBlankUUID(uuid: string): boolean {
  return /^(0+|f+)$/.test(uuid.replaceAll('-', ''))
}
