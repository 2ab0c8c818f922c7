import type { FlagRow, Support } from './row.ts'
import { FLAGS } from './table.ts'

/** How a flag is treated, in a sentence. */
export function sentenceOf(support: Support): string {
  if (support.is === 'supported') return support.how
  return support.is === 'refused' ? `Refused: ${support.because}.` : `No effect: ${support.because}.`
}

/** The help for the CPI's form, from the table. */
export function helpOnFlags(): string {
  const rows = Object.entries<FlagRow<unknown>>(FLAGS).map(([name, row]) => {
    const short = row.shorthand === undefined || row.shorthand === name ? '' : `-${row.shorthand}, `
    const dashes = row.shorthand === name ? `-${name}, --${name}` : `${short}--${name}`
    const text = sentenceOf(row.support)
      .replaceAll(/\[(below)\]\([^)]*\)/g, 'docs/command-line.md')
      .replaceAll('`', '')
    return `  ${dashes} ${row.kind.type}\n        ${text}\n`
  })
  return `usage: rollcall-controller --cloud-config FILE [flags of vsphere-cloud-controller-manager]

Initializes the cluster's Nodes, started with the arguments of the vSphere CPI (v1.36.0). What each of them does:

${rows.join('')}`
}
