import type { AttackRow, Theme } from './rows/row.ts'

/** The attacks of a theme as docs/attacks.md has them, and what it says below them. */
export function table({ title, rows }: Theme, rest?: string): string {
  return [
    `## ${title}`,
    '',
    '| attacker has | tries | refused by | operator or attacker sees | victim |',
    '| --- | --- | --- | --- | --- |',
    ...withoutRepetition(Object.values(rows).map(cells)).map((row) => `| ${row.join(' | ')} |`),
    '',
    ...(rest === undefined ? [] : [rest, '']),
  ].join('\n')
}

type Cells = readonly [credential: string, tried: string, refusedBy: string, seen: string, victim: string]

function cells(row: AttackRow): Cells {
  const { credential, tried, refusedBy, seen, victim, open, triedBy } = row
  const proof = triedBy === undefined ? '' : `: [test](../${triedBy.file})`
  return open === undefined
    ? [credential, tried, refusedBy, `\`${seen}\``, `${victim}${proof}`]
    : [credential, tried, `**not refused yet**: ${open}`, 'see left', 'see left']
}

/**
 * One row for attacks in succession that differ only in what is tried, or only in who tries it; a cell that says what the one
 * above it says is empty.
 */
function withoutRepetition(rows: readonly Cells[]): Cells[] {
  const merged: Cells[] = []
  for (const row of rows) {
    const last = merged.at(-1)
    const [credential, tried, ...end] = row
    const alike = last !== undefined && end.every((cell, index) => cell === last[index + 2])
    if (alike && last[0] === credential)
      merged[merged.length - 1] = [credential, joined(last[1], tried), ...end]
    else if (alike && last[1] === tried)
      merged[merged.length - 1] = [`${last[0]}<br>${credential}`, tried, ...end]
    else merged.push(row)
  }
  return merged.map((row, index) => {
    const above = merged[index - 1]
    const cell = (column: 0 | 1 | 2 | 3 | 4) => (above?.[column] === row[column] ? '' : row[column])
    return [cell(0), cell(1), cell(2), cell(3), cell(4)]
  })
}

/** The attacks of one row; a variation of the one before, which ends as that does, is only counted. */
function joined(before: string, tried: string): string {
  if (!tried.startsWith('the same')) return `${before}<br>${tried}`
  const [, attack = before, count = '0'] = /^(.*) \(\+(\d+)\)$/s.exec(before) ?? []
  return `${attack} (+${Number(count) + 1})`
}
