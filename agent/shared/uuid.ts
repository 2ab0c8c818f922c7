/** A UUID as reports, provider IDs and vCenter have it. */
export const CANONICAL_UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Lower case, trimmed; undefined for anything that is no UUID in its usual form. */
export function canonicalUUID(text: string): string | undefined {
  const lower = text.trim().toLowerCase()
  return CANONICAL_UUID.test(lower) ? lower : undefined
}

/**
 * The same UUID with its first three groups in the other byte order. SMBIOS 2.6 and later store them little-endian,
 * so the kernel's `product_uuid` and vCenter's `config.uuid` differ by this swap (kubernetes/kubernetes#58927).
 *
 * @param uuid canonical
 */
export function swapUUID(uuid: string): string {
  const byte = (at: number) => uuid.slice(at, at + 2)
  return `${byte(6)}${byte(4)}${byte(2)}${byte(0)}-${byte(11)}${byte(9)}-${byte(16)}${byte(14)}${uuid.slice(18)}`
}

/** Whether two canonical UUIDs are the same up to byte order. */
export function sameMachineUUID(a: string, b: string): boolean {
  return a === b || a === swapUUID(b)
}
