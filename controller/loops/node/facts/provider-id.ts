import { didYouMean } from '../../../../agent/shared/did-you-mean.ts'
import { canonicalUUID, swapUUID } from '../../../../agent/shared/uuid.ts'
import type { Node } from '../../../types/node.ts'
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

/** The scheme with what stood around it in a script or a unit file. */
const MEANT_FOR_VSPHERE = /^[\s"'`{[(<]*vsphere/i
const SCHEME = /^\s*([a-z][a-z0-9+.-]*):\/\//i
/** A UUID in any spelling, or in its place a variable that nobody expanded, or what a program writes for nothing. */
const UUID_OR_VARIABLE = /([0-9a-f][ :_-]?){32}|[${]\w*|^([<%@].*[>%@]|null|nil|none|undefined)$/i

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
  if (uuids.length === 0) {
    const [, scheme] = SCHEME.exec(existing) ?? []
    const isMeant =
      MEANT_FOR_VSPHERE.test(existing) ||
      (scheme === undefined ? UUID_OR_VARIABLE.test(existing) : didYouMean(scheme, ['vsphere']) !== undefined)
    return isMeant ? 'malformed' : 'foreign'
  }
  return biosUUID === undefined || uuids.includes(biosUUID) ? 'ours' : 'other-vm'
}
