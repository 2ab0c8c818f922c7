import type { Result } from './result.ts'
import { shapeOfText } from './tree.ts'

/** A whole number in digits alone. */
export function parseInteger(text: string, min: number, max: number): Result<number> {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return { ok: true, value }
  return { ok: false, message: `expected a whole number from ${min} to ${max}, got ${shapeOfText(text)}` }
}

/**
 * A part of a whole, as `20%` or `0.2`. A whole number other than 0 is refused: of `1` nobody could say whether all or a
 * hundredth is meant.
 *
 * @returns 0 to 1
 */
export function parseShare(text: string): Result<number> {
  const [, percent, fraction] = /^(?:(\d{1,3}(?:\.\d*)?)\s*%|(\d?\.\d+|0))$/.exec(text) ?? []
  const value = percent === undefined ? Number(fraction) : Number(percent) / 100
  if (value >= 0 && value <= 1) return { ok: true, value }
  const near = /^\d{1,2}$|^100$/.test(text) ? `: did you mean "${Number(text)}%"?` : ''
  return {
    ok: false,
    message: `expected a share from 0% to 100%, as 20% or 0.2, got ${shapeOfText(text)}${near}`,
  }
}
