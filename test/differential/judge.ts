import type { ComparedNode, NodeDifference } from './compare.ts'
import { explain, type KnownDifference } from './differences.ts'

export interface Judged {
  readonly agreed: number
  readonly explained: number
  /** A line for each difference that no row explains. */
  readonly unexplained: readonly string[]
  readonly shown: ReadonlySet<KnownDifference>
}

/** Counts Nodes by whether the two providers made the same of them, and if not, whether it is known why. */
export function judge(all: readonly ComparedNode[]): Judged {
  const shown = new Set<KnownDifference>()
  const unexplained: string[] = []
  let agreed = 0
  let explained = 0
  for (const compared of all) {
    const { differences } = compared
    const without = differences.filter((difference) => {
      const row = explain(difference, compared)
      if (row !== undefined) shown.add(row)
      return row === undefined
    })
    if (differences.length === 0) agreed++
    else if (without.length === 0) explained++
    unexplained.push(...without.map((difference) => describe(difference, compared)))
  }
  return { agreed, explained, unexplained, shown }
}

function describe({ part, cpi, rollcall }: NodeDifference, { scenario, case: one }: ComparedNode): string {
  const said = `${part}: the CPI ${JSON.stringify(cpi)}, Rollcall ${JSON.stringify(rollcall)}`
  const { name, ...rest } = one
  return `${scenario.name}: ${name} ${JSON.stringify(rest)}: ${said}`
}
