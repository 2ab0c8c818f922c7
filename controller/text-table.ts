import { printable } from './printable.ts'

/** A cell is cut to so many characters: names of strangers may be long. */
const MAX_CELL = 63
const NONE = '-'

/** Lines of equal columns, the header first. Cells are made printable; an absent one is a hyphen. */
export function textTable(
  header: readonly string[],
  rows: readonly (readonly (string | undefined)[])[],
): readonly string[] {
  const cells = rows.map((row) => row.map((cell) => printable(cell || NONE, MAX_CELL)))
  const widths = header.map((title, column) =>
    Math.max(title.length, ...cells.map((row) => row[column]?.length ?? 0)),
  )
  return [header, ...cells].map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  )
}
