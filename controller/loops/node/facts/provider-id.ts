import type { Node } from '../../../types/node.ts'
import { canonicalUUID, swapUUID } from '../../../types/uuid.ts'
import { PROVIDER_SCHEME } from '../../../types/well-known.ts'

/** `vsphere://` and the BIOS UUID in lower case, as the CPI writes it. */
export function providerID(biosUUID: string): string {
  return `${PROVIDER_SCHEME}${biosUUID}`
}

/** The UUID in a Node's provider ID, in both byte orders, as the in-tree provider wrote the other one. Empty for another provider's. */
export function providerUUIDs({ providerID }: Pick<Node, 'providerID'>): readonly string[] {
  if (providerID?.startsWith(PROVIDER_SCHEME) !== true) return []
  const uuid = canonicalUUID(providerID.slice(PROVIDER_SCHEME.length))
  return uuid === undefined ? [] : [uuid, swapUUID(uuid)]
}

/**
 * How a Node's provider ID, which nobody can change once it is set, relates to a VM. Upper case and the swapped byte
 * order of the in-tree provider count as the same VM (kubernetes-sigs/vsphere-csi-driver#592).
 *
 * @param biosUUID canonical, or undefined where only the scheme is asked for
 */
export function judgeProviderID(
  existing: string | undefined,
  biosUUID: string | undefined,
): 'absent' | 'ours' | 'foreign' | 'other-vm' {
  if (existing === undefined || existing === '') return 'absent'
  if (!existing.startsWith(PROVIDER_SCHEME)) return 'foreign'
  if (biosUUID === undefined) return 'ours'
  return providerUUIDs({ providerID: existing }).includes(biosUUID) ? 'ours' : 'other-vm'
}
