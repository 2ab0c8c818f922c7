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

/** The same of figures, a row each: the columns by their titles. */
function tableOf<T>(figures: readonly T[], columns: Readonly<Record<string, (one: T) => string>>): string {
  const row = (one: T) => Object.values(columns).map((text) => text(one))
  return markdown(Object.keys(columns), figures.map(row))
}

export function initializeTable(runs: readonly BenchmarkRun[]): string {
  return tableOf(runs, {
    provider: ({ provider, wrong }) => (wrong.length > 0 ? `${provider} (${wrong.length} WRONG)` : provider),
    nodes: ({ nodes }) => String(nodes),
    'first, s': ({ firstSeconds }) => firstSeconds.toFixed(1),
    'all initialized, s': ({ seconds }) => seconds.toFixed(1),
    'API server until then / until all is written, ms a Node': ({ apiServer }) =>
      `${apiServer.initialized.toFixed(1)}/${apiServer.recorded.toFixed(1)}`,
    'API writes': ({ writes }) => String(writes),
    'vCenter calls': ({ calls }) => String(calls),
    'MB sent/inflated': ({ bytes }) => megabytes(bytes),
    'sessions SOAP/REST': ({ sessions }) => `${sessions.soap}/${sessions.rest}`,
    'peak RSS, MB': ({ usage }) => usage.peakResident.toFixed(0),
    'peak anonymous, MB': ({ usage }) => usage.peakAnonymous.toFixed(0),
    'CPU, s': ({ usage }) => usage.cpuSeconds.toFixed(1),
    'untainted without address': ({ early }) => String(early.length),
  })
}

export function quietTable(runs: readonly BenchmarkRun[]): string {
  const watched = runs.flatMap(({ quiet, ...run }) => (quiet === undefined ? [] : [{ ...run, quiet }]))
  return tableOf(watched, {
    provider: ({ provider }) => provider,
    nodes: ({ nodes }) => String(nodes),
    'watched, s': ({ quiet }) => String(quiet.seconds),
    'vCenter calls': ({ quiet }) => String(quiet.calls),
    'calls in 5 min': ({ quiet }) => ((quiet.calls * 300) / quiet.seconds).toFixed(0),
    'MB an hour, sent/inflated': ({ quiet }) => megabytes(quiet.bytes, 3600 / quiet.seconds),
    'CPU, s an hour': ({ quiet }) => ((quiet.cpuSeconds * 3600) / quiet.seconds).toFixed(0),
    'anonymous, MB': ({ quiet }) => quiet.anonymous.toFixed(0),
  })
}

export function admissionTable(figures: readonly AdmissionFigure[]): string {
  return tableOf(figures, {
    writer: ({ writer }) => writer,
    labels: ({ labels }) => String(labels),
    taints: ({ taints }) => String(taints),
    'without our manifests, ms': ({ bare }) => bare.toFixed(2),
    'with them, ms': ({ ours }) => ours.toFixed(2),
    times: ({ ours, bare }) => (ours / bare).toFixed(2),
  })
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
