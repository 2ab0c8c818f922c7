import type { AttackRow, Theme } from './rows/row.ts'

/** The attacks of a theme as docs/attacks.md has them, and what it says below them. */
export function table({ title, rows }: Theme, rest?: string): string {
  return [
    `## ${title}`,
    '',
    '| attacker has | tries | refused by | operator or attacker sees | victim |',
    '| --- | --- | --- | --- | --- |',
    ...Object.values(rows).map((row) => `| ${cells(row).join(' | ')} |`),
    '',
    ...(rest === undefined ? [] : [rest, '']),
  ].join('\n')
}

function cells(row: AttackRow): string[] {
  const { credential, tried, refusedBy, seen, victim, open, triedBy } = row
  const proof = triedBy === undefined ? '' : `: [test](../${triedBy.file})`
  return open === undefined
    ? [credential, tried, refusedBy, `\`${seen}\``, `${victim}${proof}`]
    : [credential, tried, `**not refused yet**: ${open}`, '', 'see left']
}
