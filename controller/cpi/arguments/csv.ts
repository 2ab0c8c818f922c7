import { failed, ok, type Result } from '../../../agent/shared/result.ts'

/**
 * One line of comma-separated values, as Go's encoding/csv reads it (RFC 4180): a field that begins with a quotation mark
 * ends with one, and has its own doubled; no other field holds any. An empty text has no fields.
 */
export function readCSV(line: string): Result<readonly string[]> {
  if (line === '') return ok([])
  const fields: string[] = []
  const field = /"((?:[^"]|"")*)"(?=,|$)|([^",]*)(?=,|$)/gy
  for (;;) {
    const match = field.exec(line)
    if (match === null)
      return failed('expected values separated by commas, each quoted as a whole or not at all')
    fields.push(match[1]?.replaceAll('""', '"') ?? match[2] ?? '')
    if (field.lastIndex === line.length) return ok(fields)
    field.lastIndex++
  }
}
