import { isDeepStrictEqual } from 'node:util'
import { askRollcall, type Comparable, theirs } from './comparable.ts'
import type { ComparisonOutcome } from './differences.ts'
import { askCPI, type WrittenConfig } from './oracle.ts'

export interface ComparedConfig {
  readonly outcome: ComparisonOutcome
  /** The values of those that take it, the errors of those that do not. */
  readonly cpi: Comparable | string
  readonly rollcall: Comparable | string
}

/** Has both read the files, and says for each how they differ. */
export async function compare(files: readonly WrittenConfig[]): Promise<readonly ComparedConfig[]> {
  const said = await askCPI(files)
  return Promise.all(
    files.map(async (file, index) => {
      const { config, error = 'no answer' } = said[index] ?? {}
      const { config: own, errors } = await askRollcall(file)
      const cpi = config === undefined ? error : theirs(config, file.text)
      const rollcall = own ?? errors.join('\n')
      return { outcome: outcomeOf(cpi, rollcall), cpi, rollcall }
    }),
  )
}

function outcomeOf(cpi: Comparable | string, rollcall: Comparable | string): ComparisonOutcome {
  if (typeof cpi === 'string') return typeof rollcall === 'string' ? 'both refuse' : 'only Rollcall takes it'
  if (typeof rollcall === 'string') return 'only the CPI takes it'
  return isDeepStrictEqual(cpi, rollcall) ? 'same' : 'other values'
}
