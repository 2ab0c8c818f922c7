import type { Traffic } from '../servers/vcsim.ts'
import type { AdmissionFigure } from './admission.ts'
import type { AgentFigures } from './agent.ts'
import type { BenchmarkRun } from './initialize.ts'

/** Rows of text as a Markdown table, numbers to the right. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, i) => Math.max(title.length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => (i < 1 ? cell.padEnd(widths[i] ?? 0) : cell.padStart(widths[i] ?? 0))).join(' | ')} |`
  const rule = `| ${widths.map((width, i) => (i < 1 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`)).join(' | ')} |`
  return [line(head), rule, ...rows.map(line)].join('\n')
}

export function initializeTable(runs: readonly BenchmarkRun[]): string {
  return markdown(
    [
      'provider',
      'nodes',
      'first, s',
      'all initialized, s',
      'API server until then / until all is written, ms a Node',
      'API writes',
      'vCenter calls',
      'MB sent/inflated',
      'sessions SOAP/REST',
      'peak RSS, MB',
      'peak anonymous, MB',
      'CPU, s',
      'untainted without address',
    ],
    runs.map(
      ({
        provider,
        nodes,
        firstSeconds,
        seconds,
        apiServer,
        writes,
        calls,
        bytes,
        sessions,
        usage,
        early,
        wrong,
      }) => [
        wrong.length > 0 ? `${provider} (${wrong.length} WRONG)` : provider,
        String(nodes),
        firstSeconds.toFixed(1),
        seconds.toFixed(1),
        `${apiServer.initialized.toFixed(1)}/${apiServer.recorded.toFixed(1)}`,
        String(writes),
        String(calls),
        megabytes(bytes),
        `${sessions.soap}/${sessions.rest}`,
        usage.peakResident.toFixed(0),
        usage.peakAnonymous.toFixed(0),
        usage.cpuSeconds.toFixed(1),
        String(early.length),
      ],
    ),
  )
}

export function quietTable(runs: readonly BenchmarkRun[]): string {
  return markdown(
    [
      'provider',
      'nodes',
      'watched, s',
      'vCenter calls',
      'calls in 5 min',
      'MB an hour, sent/inflated',
      'CPU, s an hour',
      'anonymous, MB',
    ],
    runs.flatMap(({ provider, nodes, quiet }) =>
      quiet === undefined
        ? []
        : [
            [
              provider,
              String(nodes),
              String(quiet.seconds),
              String(quiet.calls),
              ((quiet.calls * 300) / quiet.seconds).toFixed(0),
              megabytes(quiet.bytes, 3600 / quiet.seconds),
              ((quiet.cpuSeconds * 3600) / quiet.seconds).toFixed(0),
              quiet.anonymous.toFixed(0),
            ],
          ],
    ),
  )
}

export function admissionTable(figures: readonly AdmissionFigure[]): string {
  return markdown(
    ['writer', 'labels', 'taints', 'without our manifests, ms', 'with them, ms', 'times'],
    figures.map(({ writer, labels, taints, bare, ours }) => [
      writer,
      String(labels),
      String(taints),
      bare.toFixed(2),
      ours.toFixed(2),
      (ours / bare).toFixed(2),
    ]),
  )
}

export function agentTable(figures: AgentFigures): string {
  return markdown(
    ['agent', 'figure', 'budget'],
    [
      ['exec to report sent, median, ms', figures.reportMedian.toFixed(0), '150'],
      ['exec to report sent, worst, ms', figures.reportWorst.toFixed(0), ''],
      ['anonymous memory at rest, MB', figures.anonymous.toFixed(1), '15'],
      ['resident memory at rest, MB', figures.resident.toFixed(1), ''],
      ['CPU at rest, s an hour', figures.cpuSecondsPerHour.toFixed(2), '1'],
      ['binary, MB', figures.binaryMB.toFixed(0), '115'],
    ],
  )
}

/** Calls by operation, the most frequent first; in brackets what their answers took, kB as sent and inflated. */
export function operationsLine({ provider, nodes, ...start }: BenchmarkRun): string {
  const quiet = start.quiet && `\n  quiet: ${operationsOf(start.quiet)}`
  return `${provider}, ${nodes} nodes: ${operationsOf(start)}${quiet ?? ''}`
}

function operationsOf({ operations, bytes }: Pick<BenchmarkRun, 'operations' | 'bytes'>): string {
  return Object.entries(operations)
    .sort(([, a], [, b]) => b - a)
    .map(([operation, count]) => {
      const { wire, inflated } = bytes[operation] ?? { wire: 0, inflated: 0 }
      return `${count} ${operation} (${(wire / 1e3).toFixed(0)}/${(inflated / 1e3).toFixed(0)})`
    })
    .join(', ')
}

/** Of all answers, as sent and inflated. */
function megabytes(bytes: Readonly<Record<string, Traffic>>, factor = 1): string {
  const { wire, inflated } = trafficOf(bytes)
  return `${((wire * factor) / 1e6).toFixed(1)}/${((inflated * factor) / 1e6).toFixed(1)}`
}

/** The sum over all operations. */
export function trafficOf(bytes: Readonly<Record<string, Traffic>>): Traffic {
  const sum = (part: keyof Traffic) => Object.values(bytes).reduce((total, each) => total + each[part], 0)
  return { wire: sum('wire'), inflated: sum('inflated') }
}
