import { didYouMean } from '../did-you-mean.ts'
import { spelling } from './known-settings.ts'
import type { Result } from './result.ts'
import { shapeOfText } from './tree.ts'

/** One of a few words; case, `-` and `_` do not matter. */
export function parseChoice<const T extends string>(text: string, choices: readonly T[]): Result<T> {
  const found = choices.find((choice) => spelling(choice) === spelling(text))
  if (found !== undefined) return { ok: true, value: found }
  const near = didYouMean(text, choices)
  const next = near === undefined ? '' : `: did you mean "${near}"?`
  return { ok: false, message: `expected ${choices.join(', ')}, got ${shapeOfText(text)}${next}` }
}
