/** Where Rollcall means to differ from the CPI. docs/differences.md has the same, in this order. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runAsProgram } from '../../build/entry.ts'
import type { ComparedNode, NodeDifference } from './compare-nodes.ts'
import { IN_ADDRESSES } from './differences/addresses.ts'
import { IN_FILES } from './differences/in-files.ts'
import { IN_LABELS } from './differences/labels.ts'
import { IN_LIFECYCLE } from './differences/lifecycle.ts'
import { IN_MACHINES } from './differences/machines.ts'
import type { Difference, NodeRow } from './differences/row.ts'

/** On a Node. */
export const ON_NODES: readonly NodeRow[] = [...IN_LABELS, ...IN_MACHINES, ...IN_ADDRESSES, ...IN_LIFECYCLE]

/** The row that says why they differ there; undefined where none does. */
export function explain(difference: NodeDifference, compared: ComparedNode): NodeRow | undefined {
  return ON_NODES.find((row) => row.explains(difference, compared))
}

export const PAGE = join(import.meta.dirname, '../../docs/differences.md')

/** Returns the page's text with its tables as they should be. */
export function withTables(page: string): string {
  const files = withTable(page, 'differences', 'in the file', IN_FILES)
  return withTable(files, 'node', 'on a Node', ON_NODES)
}

/** Writes the table between `<!-- generated: NAME -->` and `<!-- end -->`. */
function withTable(page: string, name: string, where: string, rows: readonly Difference[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  const header = [where, 'the CPI', 'Rollcall']
  const table = [
    line(header),
    line(header.map(() => '---')),
    ...rows.map(({ what, cpi, rollcall, because }) =>
      line([what, cpi, because === undefined ? rollcall : `${rollcall}. ${because}`]),
    ),
  ].join('\n')
  return page.replace(
    new RegExp(`(<!-- generated: ${name} -->\\n)[\\s\\S]*?(\\n<!-- end -->)`),
    (_, begin: string, end: string) => `${begin}${table}${end}`,
  )
}

async function main(): Promise<void> {
  await writeFile(PAGE, withTables(await readFile(PAGE, 'utf8')))
}

if (import.meta.main) runAsProgram(main)
