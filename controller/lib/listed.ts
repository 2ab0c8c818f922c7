import { printable } from '../../agent/shared/printable.ts'

/** Most names in one line. */
const MAX_NAMES = 5
const MAX_NAME = 120

/** As `1 Node`, `2 Nodes`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

/** How many there are, and the first few of them: `2 (worker-1, worker-2)`. */
export function counted(names: readonly string[]): string {
  return `${names.length} (${listed(names)})`
}

/** The first few of them, which strangers may have given, and how many more there are. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => printable(name, MAX_NAME))
  const more = names.length - shown.length
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
