import { formatDuration } from './style.ts'

export interface Summary {
  /** How many Nodes there should be. */
  readonly nodes: number
  /** How many are as they should be. */
  readonly right: number
  /** Milliseconds until the first Node could be registered. */
  readonly setUp: number
  /** Milliseconds from registration to the end of the taint, for each Node. */
  readonly times: readonly number[]
  readonly calls: { readonly total: number; readonly operations: Readonly<Record<string, number>> }
  /** While the controller ran. */
  readonly sessions: { readonly soap: number; readonly rest: number }
  readonly total: number
}

/** The demo's last words, as lines. */
export function renderSummary(summary: Summary): string[] {
  const { nodes, right, setUp, times, calls, sessions, total } = summary
  const operations = Object.entries(calls.operations)
    .toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([operation, count]) => `${count} ${operation}`)
  const rows: [string, string][] = [
    [
      'Nodes',
      `${right} of ${nodes} as vCenter says: provider ID, labels, addresses, taint gone, identity proven`,
    ],
    ['initialised', initialised(times)],
    ['vCenter calls', String(calls.total)],
    ...chunk(operations, 4).map((some): [string, string] => ['', some.join(', ')]),
    ['sessions', `${sessions.soap} SOAP, ${sessions.rest} REST`],
    [
      'time',
      `${formatDuration(total)} in all, ${formatDuration(setUp)} of it to start the servers and the controller`,
    ],
  ]
  return rows.map(([name, text]) => `${name.padEnd(15)}${text}`)
}

function initialised(times: readonly number[]): string {
  if (times.length === 0) return 'none'
  const first = formatDuration(Math.min(...times))
  const last = formatDuration(Math.max(...times))
  return `the first ${first} after its registration, the last ${last}`
}

function chunk<T>(list: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, i) => list.slice(i * size, (i + 1) * size))
}
