import { type AttackRow, NOTHING, type Theme } from './rows/row.ts'

/** The attacks of a theme as docs/attacks.md has them, and what it says below them. */
export function table({ title, rows }: Theme, rest?: string): string {
  return [
    `## ${title}`,
    '',
    '| attacker has | tries | refused by, and what is seen |',
    '| --- | --- | --- |',
    ...withoutRepetition(Object.values(rows).map(cells)).map((row) => `| ${row.join(' | ')} |`),
    '',
    ...(rest === undefined ? [] : [rest, '']),
  ].join('\n')
}

type Cells = readonly [credential: string, tried: string, end: string]

function cells({ credential, tried, refusedBy, seen, victim, open, triedBy }: AttackRow): Cells {
  const proof = triedBy === undefined ? '' : ` ([test](../${triedBy.file}))`
  const hurt = victim === NOTHING ? '' : `. Victim: ${victim}`
  const end = open === undefined ? `${refusedBy}: \`${seen}\`${hurt}${proof}` : `**not refused yet**: ${open}`
  return [credential, tried, end]
}

/** One row for attacks in succession that end alike. A cell that says what the one above it says is empty. */
function withoutRepetition(rows: readonly Cells[]): Cells[] {
  const merged: Cells[] = []
  for (const row of rows) {
    const last = merged.at(-1)
    const [credential, tried, end] = row
    if (last?.[2] === end && (last[0] === credential || tried.startsWith(SAME)))
      merged[merged.length - 1] = [last[0], joined(last[1], tried), end]
    else if (last?.[2] === end && last[1] === tried)
      merged[merged.length - 1] = [`${last[0]}<br>${credential}`, tried, end]
    else merged.push(row)
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
