import type { Result } from './result.ts'
import { shapeOfText } from './tree.ts'

/** The words of YAML 1.1, which the CPI reads, and of its INI form. */
export function parseFlag(text: string): Result<boolean> {
  if (/^(true|yes|on|y|1)$/i.test(text)) return { ok: true, value: true }
  if (/^(false|no|off|n|0)$/i.test(text)) return { ok: true, value: false }
  return { ok: false, message: `expected true or false, got ${shapeOfText(text)}` }
}
