/** Writes the tables of docs/attacks.md from the rows that the suite runs. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runAsProgram } from '../../build/entry.ts'
import { rest, themes } from './rows/all.ts'
import { type AttackRow, NOTHING, type Refuser, type Theme } from './rows/row.ts'

export const PAGE = join(import.meta.dirname, '../../docs/attacks.md')

const END = '## What is not refused'

/** The page with its tables, from its first section up to what is not refused, as they should be. */
export function withTables(page: string): string {
  const tables = Object.entries(themes).map(([name, theme]) => table(theme, rest[name]))
  return `${page.slice(0, page.indexOf('\n## ') + 1)}${tables.join('\n')}\n${page.slice(page.indexOf(END))}`
}

/** The attacks of a theme as docs/attacks.md has them, and what it says below them. */
function table({ title, rows }: Theme, rest?: string): string {
  return [
    `## ${title}`,
    '',
    '| attacker has | tries | ends |',
    '| --- | --- | --- |',
    ...withoutRepetition(Object.values(rows).map(cells)).map((row) => `| ${row.join(' | ')} |`),
    '',
    ...(rest === undefined ? [] : [rest, '']),
  ].join('\n')
}

type Cells = readonly [credential: string, tried: string, end: string]

/** The words of the docs where they are not those of the rows. */
const REFUSED_BY: Partial<Record<Refuser, string>> = { 'nobody needs to': 'no effect' }

/** The reason of the controller's, by which an operator finds it in docs/reasons.md; of all others only who refuses. */
function cells({ credential, tried, refusedBy, seen, victim, open, triedBy }: AttackRow): Cells {
  const proof = triedBy === undefined ? '' : ` ([test](../${triedBy.file}))`
  const hurt = victim === NOTHING ? '' : `. Victim: ${victim}`
  const bySight = seen.includes(' ') ? seen : `\`${seen}\``
  const by = refusedBy === 'controller' ? bySight : (REFUSED_BY[refusedBy] ?? refusedBy)
  const end = open === undefined ? `${by}${hurt}${proof}` : `**not refused yet**: ${open}`
  return [credential, tried, end]
}

/**
 * One row for attacks that end alike. A cell that says what the one above it says is empty. Attacks that are variations of
 * the one before stay where they are.
 */
function withoutRepetition(rows: readonly Cells[]): Cells[] {
  const varied = rows.some(([, tried]) => tried.startsWith(SAME))
  const merged: Cells[] = []
  for (const row of rows) {
    const [credential, tried, end] = row
    const at = merged.findLastIndex(
      (each, index) =>
        each[2] === end &&
        (index === merged.length - 1 || !varied) &&
        (each[0] === credential || tried.startsWith(SAME) || each[1] === tried),
    )
    const before = merged[at]
    if (before === undefined) merged.push(row)
    else if (before[0] === credential || tried.startsWith(SAME))
      merged[at] = [before[0], joined(before[1], tried), end]
    else merged[at] = [`${before[0]}<br>${credential}`, tried, end]
  }
  return merged.map((row, index) => {
    const above = merged[index - 1]
    const cell = (column: 0 | 1 | 2) => (above?.[column] === row[column] ? '' : row[column])
    return [cell(0), cell(1), cell(2)]
  })
}

const SAME = 'the same'

/** The attacks of one row; a variation of the one before, which ends as that does, is only counted. */
function joined(before: string, tried: string): string {
  if (!tried.startsWith(SAME)) return `${before}<br>${tried}`
  const [, attack = before, count = '0'] = /^(.*) \(\+(\d+)\)$/s.exec(before) ?? []
  return `${attack} (+${Number(count) + 1})`
}

async function main(): Promise<void> {
  await writeFile(PAGE, withTables(await readFile(PAGE, 'utf8')))
}

if (import.meta.main) runAsProgram(main)
