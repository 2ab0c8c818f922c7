/** Writes what docs/command-line.md says of each of the CPI's flags, from the controller's table of flags. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { FlagRow, Support } from '../controller/cpi/arguments/flags.ts'
import { FLAGS, sentenceOf } from '../controller/cpi/arguments/table.ts'
import { fillTables, table } from './config-reference.ts'
import { runAsProgram } from './entry.ts'

export const DOCS = 'docs/command-line.md'

const KINDS: readonly Support['is'][] = ['supported', 'accepted', 'refused']

/** The text with a table for each kind of support between its markers. */
export function withFlags(text: string): string {
  return fillTables(text, new Map(KINDS.map((support) => [support, tableOf(support)])), DOCS)
}

function tableOf(support: string): string {
  const rows = Object.entries<FlagRow<unknown>>(FLAGS).filter(([, row]) => row.support.is === support)
  if (support === 'supported') {
    const lines = rows.map(([name, row]) => [flag(name, row), standard(row), sentenceOf(row.support)])
    return table(['flag', "the CPI's default", 'Rollcall'], lines)
  }
  const groups = Map.groupBy(rows, ([, row]) => (row.support.is === 'supported' ? '' : row.support.because))
  const lines = [...groups].map(([because, group]) => [
    group.map(([name, row]) => flag(name, row)).join(', '),
    because,
  ])
  return table(['flag', support === 'refused' ? 'next step' : 'because'], lines)
}

function flag(name: string, { shorthand }: FlagRow<unknown>): string {
  const short = shorthand === undefined ? '' : `\`-${shorthand}\`, `
  return `${short}\`--${name}\``
}

function standard({ default: text, own }: FlagRow<unknown>): string {
  return own || text === '' ? '' : `\`${text}\``
}

async function main(): Promise<void> {
  const docs = join(import.meta.dirname, '..', DOCS)
  await writeFile(docs, withFlags(await readFile(docs, 'utf8')))
}

if (import.meta.main) runAsProgram(main)
