import { formatDuration, type Ink, type Style } from './style.ts'
import type { NodeState, NodeView } from './view.ts'

/** A Node and, once it is initialized, the milliseconds since it was registered. */
export interface NodeRow extends NodeView {
  readonly after?: number
}

export interface TableOptions {
  /** Lines are cut to so many characters. */
  readonly columns: number
  /** No more than so many lines; what is finished is left out first. */
  readonly rows: number
  readonly style: Style
}

interface Column {
  readonly title: string
  readonly text: (row: NodeRow) => string
  /** The width before anything is known, so that nothing jumps. */
  readonly least: number
}

const NONE = '·'

const COLUMNS: readonly Column[] = [
  { title: 'NODE', text: ({ name }) => name, least: 9 },
  { title: 'STATE', text: ({ state }) => state, least: 11 },
  { title: 'LEVEL', text: ({ level }) => level, least: 8 },
  { title: 'VM', text: ({ vm }) => vm, least: 14 },
  { title: 'HOST', text: ({ host }) => host, least: 9 },
  { title: 'ZONE', text: ({ zone }) => zone, least: 6 },
  { title: 'ADDRESSES', text: ({ addresses }) => addresses, least: 10 },
  { title: 'AFTER', text: ({ after }) => (after === undefined ? '' : formatDuration(after)), least: 6 },
  { title: 'TYPE', text: ({ type, reason }) => type || reason, least: 4 },
]

const INKS: Readonly<Record<NodeState, Ink>> = {
  waiting: 'dim',
  tainted: 'yellow',
  checking: 'cyan',
  refused: 'red',
  initialized: 'green',
}

/** The Nodes as lines of equal columns, the header first. */
export function renderTable(rows: readonly NodeRow[], options: TableOptions): string[] {
  const { style, columns } = options
  const widths = COLUMNS.map(({ title, text, least }) =>
    Math.max(least, title.length, ...rows.map((row) => text(row).length)),
  )
  const { shown, note } = fit(rows, options.rows)
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, i) => cell.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd()
      .slice(0, columns)
  const head = style('dim', line(COLUMNS.map(({ title }) => title)))
  const body = shown.map((row) => {
    const text = line(COLUMNS.map((column) => column.text(row) || NONE))
    return paintState(text, row.state, widths[0] ?? 0, style)
  })
  return [head, ...body, ...(note === '' ? [] : [style('dim', note)])]
}

/** The state stands in the second column. */
function paintState(line: string, state: NodeState, before: number, style: Style): string {
  const start = before + 2
  const end = start + state.length
  return `${line.slice(0, start)}${style(INKS[state], line.slice(start, end))}${line.slice(end)}`
}

function fit(rows: readonly NodeRow[], lines: number): { shown: readonly NodeRow[]; note: string } {
  if (rows.length + 1 <= lines) return { shown: rows, note: '' }
  const room = Math.max(1, lines - 2)
  const unfinished = rows.filter(({ state }) => state !== 'initialized')
  const finished = rows.filter(({ state }) => state === 'initialized')
  const names = new Set([...unfinished, ...finished.toReversed()].slice(0, room).map(({ name }) => name))
  return {
    shown: rows.filter(({ name }) => names.has(name)),
    note: `and ${rows.length - names.size} more`,
  }
}
