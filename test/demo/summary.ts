import { formatDuration, wrap } from './screen.ts'

/** What the demo has to say at its end; times are milliseconds. */
export interface Summary {
  /** How many Nodes there should be, and how many are as they should be. */
  readonly nodes: number
  readonly right: number
  /** Whether the forger was refused and its victim left alone. */
  readonly forger: keyof typeof FORGER
  /** Until the first Node could be registered. */
  readonly setUp: number
  /** From registration to the end of the taint, for each Node. */
  readonly initialized: readonly number[]
  /** From a VM's end to its Node's, and from power-off to taint; undefined where it was not seen. */
  deletedAfter?: number
  taintedAfter?: number
  /** Until all Nodes were there. */
  readonly calls: { readonly total: number; readonly operations: Readonly<Record<string, number>> }
  /** While the controller ran. */
  readonly sessions: { readonly soap: number; readonly rest: number }
  readonly total: number
}

const FORGER = {
  refused: '1 forger refused',
  wrong: 'a forger was not refused as it should be',
  'not tried': 'the forger did not come',
} as const
const MARGIN = 15

/** Renders the demo's last words; the list of calls goes on in the next line before it is too long. */
export function renderSummary(summary: Summary, columns: number): string[] {
  const { nodes, right, setUp, initialized, deletedAfter, taintedAfter, calls, sessions, total } = summary
  const [first, last] = [Math.min(...initialized), Math.max(...initialized)].map(formatDuration)
  const operations = Object.entries(calls.operations)
    .toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([operation, count]) => `${count} ${operation.replace('/rest/com/vmware/cis/', '')}`)
  const lines = wrap(operations, columns - MARGIN, ', ')
  const ended =
    deletedAfter === undefined || taintedAfter === undefined
      ? 'not shown to the end'
      : `1 Node deleted ${formatDuration(deletedAfter)} after its VM, 1 tainted ${formatDuration(taintedAfter)} after power-off`
  const rows: [string, string][] = [
    [
      'Nodes',
      `${right === nodes ? 'all' : `${right} of`} ${nodes} proven, and initialized as vCenter says; ${FORGER[summary.forger]}`,
    ],
    [
      'initialized',
      initialized.length === 0 ? 'none' : `the first ${first} after its registration, the last ${last}`,
    ],
    ['vCenter calls', `${calls.total} until all of that was so`],
    ...lines.map((line, i): [string, string] => ['', i < lines.length - 1 ? `${line},` : line]),
    ['lifecycle', ended],
    ['sessions', `${sessions.soap} SOAP, ${sessions.rest} REST`],
    [
      'time',
      `${formatDuration(total)} in all, ${formatDuration(setUp)} of it to build and start the servers and the controller`,
    ],
  ]
  return rows.map(([name, text]) => `${name.padEnd(MARGIN)}${text}`)
}
