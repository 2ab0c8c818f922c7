import { formatDuration } from './style.ts'
import { type NodeRow, renderTable } from './table.ts'
import type { Terminal } from './terminal.ts'

/** Shows how the Nodes get on. */
export interface Board {
  /** @param elapsed milliseconds since the first Node was registered */
  show(rows: readonly NodeRow[], elapsed: number): void
  /** The last state stays to be seen. A second time it does nothing. */
  end(): void
}

export function createBoard(terminal: Terminal): Board {
  return terminal.live ? liveBoard(terminal) : plainBoard(terminal)
}

/** A table that is drawn over. */
function liveBoard(terminal: Terminal): Board {
  const { style } = terminal
  let last: readonly NodeRow[] = []
  const draw = (rows: readonly NodeRow[], footer: string) => {
    const { columns } = terminal
    // Room for the table, the blank line and the footer, and the line of the cursor.
    const table = renderTable(rows, { columns, rows: terminal.rows - 3, style })
    terminal.draw([...table, '', style('dim', footer.slice(0, columns))])
  }
  return {
    show(rows, elapsed) {
      last = rows
      draw(rows, `${countStates(rows)}, ${formatDuration(elapsed)}`)
    },
    end() {
      // Nothing is drawn over any more, so nothing need be cut.
      const whole = { columns: Number.POSITIVE_INFINITY, rows: Number.POSITIVE_INFINITY, style }
      if (last.length > 0) terminal.draw(renderTable(last, whole))
      last = []
      terminal.settle()
    },
  }
}

/** As "11 initialized, 1 refused, 1 to go". */
function countStates(rows: readonly NodeRow[]): string {
  const initialized = rows.filter(({ state }) => state === 'initialized').length
  const refused = rows.filter(({ state }) => state === 'refused').length
  const left = rows.length - initialized - refused
  const parts = [`${initialized} initialized`]
  if (refused > 0) parts.push(`${refused} refused`)
  if (left > 0) parts.push(`${left} to go`)
  return parts.join(', ')
}

/** A line for each change of state. */
function plainBoard(terminal: Terminal): Board {
  const said = new Map<string, string>()
  return {
    show(rows, elapsed) {
      for (const row of rows) {
        // Of a Node that is initialized the report tells the rest a moment later.
        if (row.state === 'waiting' || (row.state === 'initialized' && row.level === '')) continue
        const news = [row.state, row.level, row.reason].filter((word) => word !== '').join(' ')
        if (said.get(row.name) === news) continue
        said.set(row.name, news)
        terminal.print(plainLine(row, elapsed))
      }
    },
    end() {},
  }
}

function plainLine(row: NodeRow, elapsed: number): string {
  const { name, state, reason, vm, host, zone, addresses, level, type } = row
  const details = state === 'initialized' ? [level, vm, host, zone, addresses, type] : [reason]
  const line = [`+${formatDuration(elapsed)}`.padStart(8), name, state, ...details]
  return line.filter((text) => text !== '').join('  ')
}
