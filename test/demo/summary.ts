import { formatDuration } from './style.ts'

export interface Summary {
  /** How many Nodes there should be. */
  readonly nodes: number
  /** How many are as they should be. */
  readonly right: number
  /** Whether the forger was refused and its victim left alone. */
  readonly forger: 'refused' | 'wrong' | 'not tried'
  /** Milliseconds until the first Node could be registered. */
  readonly setUp: number
  /** Milliseconds from registration to the end of the taint, for each Node. */
  readonly times: readonly number[]
  /** Milliseconds from a VM's end to its Node's, and from power-off to taint; undefined where it was not seen. */
  readonly ending: { readonly deletedAfter?: number; readonly taintedAfter?: number } | undefined
  /** Until then. */
  readonly calls: { readonly total: number; readonly operations: Readonly<Record<string, number>> }
  /** While the controller ran. */
  readonly sessions: { readonly soap: number; readonly rest: number }
  readonly total: number
}

const MARGIN = 15

/** The demo's last words, as lines; the list of calls goes on in the next line before it is too long. */
export function renderSummary(summary: Summary, columns: number): string[] {
  const { setUp, times, ending, calls, sessions, total } = summary
  const operations = Object.entries(calls.operations)
    .toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([operation, count]) => `${count} ${operation.replace('/rest/com/vmware/cis/', '')}`)
  const rows: [string, string][] = [
    ['Nodes', `${proven(summary)}; ${FORGER[summary.forger]}`],
    ['initialized', initialized(times)],
    ['vCenter calls', `${calls.total} until all of that was so`],
    ...wrap(operations, columns - MARGIN).map((line): [string, string] => ['', line]),
    ['lifecycle', lifecycle(ending)],
    ['sessions', `${sessions.soap} SOAP, ${sessions.rest} REST`],
    [
      'time',
      `${formatDuration(total)} in all, ${formatDuration(setUp)} of it to build and start the servers and the controller`,
    ],
  ]
  return rows.map(([name, text]) => `${name.padEnd(MARGIN)}${text}`)
}

const FORGER: Readonly<Record<Summary['forger'], string>> = {
  refused: '1 forger refused',
  wrong: 'a forger was not refused as it should be',
  'not tried': 'the forger did not come',
}

function proven({ nodes, right }: Summary): string {
  return `${right === nodes ? 'all' : `${right} of`} ${nodes} proven, and initialized as vCenter says`
}

function initialized(times: readonly number[]): string {
  if (times.length === 0) return 'none'
  const first = formatDuration(Math.min(...times))
  const last = formatDuration(Math.max(...times))
  return `the first ${first} after its registration, the last ${last}`
}

function lifecycle({ deletedAfter, taintedAfter }: Summary['ending'] & object = {}): string {
  if (deletedAfter === undefined || taintedAfter === undefined) return 'not shown to the end'
  return `1 Node deleted ${formatDuration(deletedAfter)} after its VM, 1 tainted ${formatDuration(taintedAfter)} after power-off`
}

function wrap(items: readonly string[], width: number): string[] {
  const lines: string[] = []
  for (const item of items) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + item.length + 3 <= width)
      lines[lines.length - 1] = `${last}, ${item}`
    else lines.push(item)
  }
  return lines.map((line, i) => (i < lines.length - 1 ? `${line},` : line))
}
