const CANONICAL = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Lower case, trimmed; undefined for anything that is no UUID in its usual form. */
export function canonicalUUID(text: string): string | undefined {
  const lower = text.trim().toLowerCase()
  return CANONICAL.test(lower) ? lower : undefined
}

/**
 * The same UUID with its first three groups in the other byte order. SMBIOS 2.6 and later store them little-endian,
 * so the kernel's `product_uuid` and vCenter's `config.uuid` differ by this swap (kubernetes/kubernetes#58927).
 *
 * @param uuid canonical
 */
export function swapUUID(uuid: string): string {
  let swapped = ''
  // Asked for several times at each change of a Node, so nothing is made but the text.
  for (const byte of SWAPPED_BYTES) swapped += uuid.slice(byte, byte + 2)
  return `${swapped.slice(0, 8)}-${swapped.slice(8, 12)}-${swapped.slice(12)}${uuid.slice(18)}`
}

/** Where the bytes of the first three groups are in a canonical UUID, in the other order. */
const SWAPPED_BYTES = [6, 4, 2, 0, 11, 9, 16, 14]

/** Whether two canonical UUIDs are the same up to byte order. */
export function sameMachineUUID(a: string, b: string): boolean {
  return a === b || a === swapUUID(b)
}
