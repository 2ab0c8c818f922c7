import type { Fate, FlagRow } from './row.ts'
import { FLAGS } from './table.ts'

/** What becomes of each flag, in a sentence. */
export function sentenceOf(fate: Fate): string {
  if (fate.is === 'served') return fate.how
  return fate.is === 'refused' ? `Refused: ${fate.because}.` : `No effect: ${fate.because}.`
}

/** The help for the CPI's form, from the table. */
export function helpOnFlags(): string {
  const rows = Object.entries<FlagRow<unknown>>(FLAGS).map(([name, row]) => {
    const short = row.shorthand === undefined || row.shorthand === name ? '' : `-${row.shorthand}, `
    const dashes = row.shorthand === name ? `-${name}, --${name}` : `${short}--${name}`
    const text = sentenceOf(row.fate)
      .replaceAll(/\[(below)\]\([^)]*\)/g, 'docs/command-line.md')
      .replaceAll('`', '')
    return `  ${dashes} ${row.kind.type}\n        ${text}\n`
  })
  return `usage: rollcall-controller --cloud-config FILE [flags of vsphere-cloud-controller-manager]

Initialises the cluster's Nodes, started with the arguments of the vSphere CPI (v1.36.0). What becomes of each:

${rows.join('')}`
}
