/** Writes docs/attacks.md from the rows that the suite runs. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runAsProgram } from '../../build/entry.ts'
import { rest, themes } from './rows/all.ts'
import { type AttackRow, NOTHING, type Refuser, type Theme } from './rows/row.ts'

export const PAGE = join(import.meta.dirname, '../../docs/attacks.md')

const END = '## What is not refused'

/** The page with its sections up to what is not refused as they should be. */
export function withAttacks(page: string): string {
  const sections = Object.entries(themes).map(([name, theme]) => section(theme, rest[name]))
  return `${page.slice(0, page.indexOf('\n## ') + 1)}${sections.join('\n')}\n${page.slice(page.indexOf(END))}`
}

/** The attacks of a theme by what the attacker has, and what the page says below them. */
function section({ title, rows }: Theme, rest?: string): string {
  const lines: string[] = []
  const attacks = merged(Object.values(rows).map(cells))
  for (const [index, [credential, tried, end]] of attacks.entries()) {
    const before = attacks[index - 1]?.[0] === credential
    const after = attacks[index + 1]?.[0] === credential
    if (!before && after) lines.push(`- *${credential}*`)
    lines.push(before || after ? `  - ${tried}: ${end}` : `- *${credential}*: ${tried}: ${end}`)
  }
  return [`## ${title}`, '', ...lines, '', ...(rest === undefined ? [] : [rest, ''])].join('\n')
}

type Cells = readonly [credential: string, tried: string, end: string]

/** The words of the docs where they are not those of the rows. */
const REFUSED_BY: Partial<Record<Refuser, string>> = { 'nobody needs to': 'no effect' }

/** The reason of the controller's, by which an operator finds it in docs/reasons.md; of all others only who refuses. */
function cells({ credential, tried, refusedBy, seen, victim, open, triedBy }: AttackRow): Cells {
  const proof = triedBy === undefined ? '' : ` ([test](../${triedBy.file}))`
  const hurt = victim === NOTHING ? '' : `; victim: ${victim}`
  const bySight = seen.includes(' ') ? seen : `\`${seen}\``
  const by = refusedBy === 'controller' ? bySight : (REFUSED_BY[refusedBy] ?? refusedBy)
  const end = open === undefined ? `**${by}**${hurt}${proof}` : `**not refused yet**: ${open}`
  return [credential, tried, end]
}

/** One row for attacks that end alike; variations of the one before stay behind it. */
function merged(rows: readonly Cells[]): Cells[] {
  const varied = rows.some(([, tried]) => tried.startsWith(SAME))
  const found: Cells[] = []
  for (const row of rows) {
    const [credential, tried, end] = row
    const at = found.findLastIndex(
      (each, index) =>
        each[2] === end &&
        (index === found.length - 1 || !varied) &&
        (each[0] === credential || tried.startsWith(SAME) || each[1] === tried),
    )
    const before = found[at]
    if (before === undefined) found.push(row)
    else if (before[0] === credential || tried.startsWith(SAME))
      found[at] = [before[0], joined(before[1], tried), end]
    else found[at] = [`${before[0]}; ${credential}`, tried, end]
  }
  return found
}

const SAME = 'the same'

/** The attacks of one row; a variation of the one before, which ends as that does, is only counted. */
function joined(before: string, tried: string): string {
  if (!tried.startsWith(SAME)) return `${before}; ${tried}`
  const [, attack = before, count = '0'] = /^(.*) \(\+(\d+)\)$/s.exec(before) ?? []
  return `${attack} (+${Number(count) + 1})`
}

async function main(): Promise<void> {
  await writeFile(PAGE, withAttacks(await readFile(PAGE, 'utf8')))
}

if (import.meta.main) runAsProgram(main)
