import { parse } from 'yaml'
import { asObject, decodeGuestinfo, MAX_METADATA, staticAddresses } from '../../../agent/shared/cloud-init.ts'
import { parseBounded, refuseDepth } from '../../../agent/shared/yaml.ts'

/** Far more than a machine has. */
const MOST = 64

/**
 * The addresses that cloud-init's metadata (`guestinfo.metadata`) sets as static, in its order, as written there. None where
 * it cannot be read: whoever deployed the machine wrote it, or its guest.
 */
export function readStaticAddresses(
  metadata: string | undefined,
  encoding: string | undefined,
): readonly string[] {
  if (metadata === undefined) return []
  try {
    const fields = asObject(decoded(metadata, encoding))
    const network = fields?.network
    const inner = fields?.['network.encoding']
    const value =
      typeof network === 'string' ? decoded(network, typeof inner === 'string' ? inner : undefined) : network
    return staticAddresses(value).slice(0, MOST)
  } catch {
    // Any parser error, from a tab to nesting too deep for its stack.
    return []
  }
}

function decoded(text: string, encoding: string | undefined): unknown {
  const plain = decodeGuestinfo('guestinfo.metadata', text, encoding, MAX_METADATA)
  if (!plain.ok) return undefined
  refuseDepth(plain.value)
  return parseBounded(plain.value, parse)
}
