import type { Checked } from './checked.ts'
import { shapeOfText } from './tree.ts'

/**
 * A certificate's SHA-1 or SHA-256 in hex, colons or none, either case (the CPI insists on upper case and colons).
 *
 * @returns lower-case hex without colons
 */
export function parseThumbprint(text: string): Checked<string> {
  const hex = text.replaceAll(':', '').toLowerCase()
  if (!/^[0-9a-f]*$/.test(hex)) return wrong(shapeOfText(text))
  if (hex.length !== 40 && hex.length !== 64) return wrong(`${hex.length} of them`)
  return { ok: true, value: hex }
}

function wrong(got: string): Checked<never> {
  return {
    ok: false,
    message: `expected the SHA-1 (40 hex digits) or SHA-256 (64) of vCenter's certificate, got ${got}: take it from "openssl x509 -noout -fingerprint -sha256"`,
  }
}
