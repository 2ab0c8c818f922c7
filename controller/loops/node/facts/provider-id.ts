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

/** A VM's UUID or serial number in any spelling, without the scheme. */
const BARE_UUID = /^(vmware-)?([0-9a-f][ -]?){32}$/i

/**
 * How a Node's provider ID, which nobody can change once it is set, relates to a VM. Upper case and the swapped byte
 * order of the in-tree provider count as the same VM (kubernetes-sigs/vsphere-csi-driver#592). `malformed`: it was meant for
 * vSphere, and names no VM.
 *
 * @param biosUUID canonical, or undefined where only the scheme is asked for
 */
export function judgeProviderID(
  existing: string | undefined,
  biosUUID: string | undefined,
): 'absent' | 'ours' | 'foreign' | 'malformed' | 'other-vm' {
  if (existing === undefined || existing === '') return 'absent'
  const uuids = providerUUIDs({ providerID: existing })
  if (uuids.length === 0)
    return /^\s*vsphere:/i.test(existing) || BARE_UUID.test(existing.trim()) ? 'malformed' : 'foreign'
  return biosUUID === undefined || uuids.includes(biosUUID) ? 'ours' : 'other-vm'
}
