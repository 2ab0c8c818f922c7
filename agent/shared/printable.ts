/** What a terminal would act on rather than show: control, format and line-separating characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Makes text safe for terminals and the API server: conditions and Events quote strangers' names, which must not be able to
 * control a terminal. At most `max` UTF-16 units, never half a character.
 */
export function printable(text: string, max: number): string {
  const clean = text.replace(UNPRINTABLE, '\u{fffd}')
  if (clean.length <= max) return clean
  const cut = clean.slice(0, max - 3)
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}...`
}

/** The same, without the characters that part a text into lines and columns. */
const UNPRINTABLE_IN_LINES = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/**
 * Makes a whole output safe for terminals, and loses nothing: what a terminal would act on becomes an escape such as
 * `\u009b`, which in JSON means the same. JSON itself escapes only what is below U+0020.
 */
export function escapeUnprintable(text: string): string {
  return text.replace(UNPRINTABLE_IN_LINES, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`
    }).join(''),
  )
}

/** Lines in which all columns but the last are as wide as their longest cell, with two spaces between them. */
export function columns(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = []
  for (const row of rows)
    for (const [column, cell] of row.slice(0, -1).entries())
      widths[column] = Math.max(widths[column] ?? 0, cell.length)
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
}
