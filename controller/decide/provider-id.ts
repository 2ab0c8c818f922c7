import { canonicalUUID, sameMachineUUID } from './uuid.ts'
import { PROVIDER_SCHEME } from './well-known.ts'

/** `vsphere://` and the BIOS UUID in lower case, as the CPI writes it. */
export function providerID(biosUUID: string): string {
  return `${PROVIDER_SCHEME}${biosUUID}`
}

export type ProviderIDMatch = 'absent' | 'ours' | 'foreign' | 'other-vm'

/**
 * How a Node's provider ID, which nobody can change once it is set, relates to a VM. Upper case and the swapped byte
 * order of the in-tree provider count as the same VM (kubernetes-sigs/vsphere-csi-driver#592).
 *
 * @param biosUUID canonical, or undefined where only the scheme is asked for
 */
export function judgeProviderID(existing: string | undefined, biosUUID: string | undefined): ProviderIDMatch {
  if (existing === undefined || existing === '') return 'absent'
  if (!existing.startsWith(PROVIDER_SCHEME)) return 'foreign'
  if (biosUUID === undefined) return 'ours'
  const uuid = canonicalUUID(existing.slice(PROVIDER_SCHEME.length))
  return uuid !== undefined && sameMachineUUID(uuid, biosUUID) ? 'ours' : 'other-vm'
}
