/**
 * The candidate that `word` was most likely meant to be: at most two typing slips away (a letter too many, missing,
 * wrong, or two exchanged), fewer for short words. Case does not count. Undefined where nothing is near.
 * By hand, because the libraries at hand count two exchanged letters as two slips.
 */
export function didYouMean(word: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let limit = Math.min(2, Math.floor(word.length / 3))
  for (const candidate of candidates) {
    const slips = distance(word.toLowerCase(), candidate.toLowerCase())
    if (slips > limit) continue
    best = candidate
    limit = slips - 1
    if (slips === 0) break
  }
  return best
}

/** Optimal string alignment distance. Words that differ much in length are not worth the work. */
function distance(a: string, b: string): number {
  if (Math.abs(a.length - b.length) > 2) return Number.POSITIVE_INFINITY
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const next = [row]
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1]
      const exchanged = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1]
      next.push(
        Math.min(
          at(last, column) + 1,
          at(next, column - 1) + 1,
          at(last, column - 1) + (same ? 0 : 1),
          exchanged ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    before = last
    last = next
  }
  return at(last, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY
}
