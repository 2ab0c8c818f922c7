import { distance } from 'fastest-levenshtein'

const MOST_SLIPS = 2

/**
 * The candidate that `word` was most likely meant to be: at most two letters too many, missing or wrong, and no more than
 * half of the word. Case does not count. Undefined where nothing is near.
 */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let limit = Math.min(MOST_SLIPS, Math.floor(word.length / 2))
  for (const candidate of candidates) {
    // A word of a stranger may be very long.
    if (Math.abs(word.length - candidate.length) > limit) continue
    const slips = distance(word.toLowerCase(), candidate.toLowerCase())
    if (slips > limit) continue
    best = candidate
    limit = slips - 1
    if (slips === 0) break
  }
  return best
}
