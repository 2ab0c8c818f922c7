import { columns, printable } from '../../agent/shared/printable.ts'

/** A cell is cut to so many characters: names of strangers may be long. */
const MAX_CELL = 63
const NONE = '-'

/** Lines of equal columns, the header first. Cells are made printable; an absent one is a hyphen. */
export function textTable(
  header: readonly string[],
  rows: readonly (readonly (string | undefined)[])[],
): readonly string[] {
  const cells = rows.map((row) => row.map((cell) => printable(cell || NONE, MAX_CELL)))
  return columns([header, ...cells])
}
