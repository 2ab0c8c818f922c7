import type { Result } from './result.ts'
import { shapeOfText } from './tree.ts'

/**
 * SHA-1 or SHA-256 of certificates in hex, with commas between: while a certificate is being renewed, the old one's and
 * the new one's. Colons or none, either case (the CPI takes a single one, and insists on upper case and colons).
 *
 * @returns lower-case hex without colons, each once, at least one
 */
export function parseThumbprints(text: string): Result<readonly string[]> {
  const parts = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
  // Nothing but commas is no list of none: nobody would be trusted.
  const written = parts.length === 0 ? [text] : parts
  const found = new Set<string>()
  for (const [index, part] of written.entries()) {
    const checked = parseThumbprint(part)
    if (!checked.ok) {
      const which = written.length === 1 ? '' : `number ${index + 1} of ${written.length} is wrong: `
      return { ok: false, message: `${which}${checked.message}` }
    }
    found.add(checked.value)
  }
  return { ok: true, value: [...found] }
}

function parseThumbprint(text: string): Result<string> {
  const hex = text.replaceAll(':', '').toLowerCase()
  if (!/^[0-9a-f]*$/.test(hex)) return wrong(shapeOfText(text))
  if (hex.length !== 40 && hex.length !== 64) return wrong(`${hex.length} of them`)
  return { ok: true, value: hex }
}

function wrong(got: string): Result<never> {
  return {
    ok: false,
    message: `expected the SHA-1 (40 hex digits) or SHA-256 (64) of vCenter's certificate, got ${got}: take it from "openssl x509 -noout -fingerprint -sha256"`,
  }
}
