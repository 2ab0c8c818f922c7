import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { GrantedRight } from './rights.ts'

const HEADER = '| who | may | on | where | what for |'

/**
 * The rights that the table in docs/security.md names. What stands in backticks counts: verbs, the resource with the name
 * of the one object after it, the namespace; an empty first cell means the row above.
 */
export async function rightsInDocs(): Promise<GrantedRight[]> {
  const text = await readFile(join(import.meta.dirname, '../../docs/security.md'), 'utf8')
  const all = text.split('\n')
  const start = all.indexOf(HEADER)
  if (start < 0) throw new Error(`docs/security.md has no table with the header "${HEADER}"`)
  const rows = all.slice(start + 2)
  let who: string[] = []
  return rows
    .slice(
      0,
      rows.findIndex((row) => !row.startsWith('|')),
    )
    .flatMap((row) => {
      const [whoCell, may, on, where] = row.split('|').slice(1).map(words)
      if (whoCell?.length) who = whoCell
      const [resource = '', name] = on ?? []
      const [namespace] = where ?? []
      return who.flatMap((subject) =>
        (may ?? []).map((verb) => ({
          who: subject,
          verb,
          on: resource,
          ...(name === undefined ? {} : { name }),
          ...(namespace === undefined ? {} : { namespace }),
        })),
      )
    })
}

const words = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, word]) => word ?? '')
