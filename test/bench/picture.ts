/** What was measured of each provider, as an SVG picture. */
import type { BenchmarkRun } from './initialize.ts'

/** One figure of a run. */
interface Panel {
  readonly title: string
  readonly of: (run: BenchmarkRun) => number | undefined
}

const PANELS: readonly Panel[] = [
  { title: 'Seconds until all Nodes are initialized', of: ({ seconds }) => seconds },
  { title: 'vCenter calls until then', of: ({ calls }) => calls },
  { title: 'Writes to the API server until then', of: ({ writes }) => writes },
  {
    title: 'vCenter calls in a quiet hour',
    of: ({ quiet }) => (quiet === undefined ? undefined : (quiet.calls * 3600) / quiet.seconds),
  },
  { title: 'Peak of resident memory, MB', of: ({ usage }) => usage.peakResident },
  { title: 'CPU seconds until all Nodes are initialized', of: ({ usage }) => usage.cpuSeconds },
]

const COLORS = ['#0f62fe', '#8d8d8d', '#c6c6c6']
const PANEL = { width: 440, height: 210, columns: 2 }
const MARGIN = { top: 34, left: 16, right: 16, bottom: 26 }
const HEADER = 40
/** The lowest bar, so that none of them vanishes. */
const LEAST_HEIGHT = 2

/** Bars by the number of Nodes, one of each provider, on a logarithmic scale with the figures written above. */
export function picture(runs: readonly BenchmarkRun[]): string {
  const providers = [...new Set(runs.map(({ provider }) => provider))]
  const rows = Math.ceil(PANELS.length / PANEL.columns)
  const width = PANEL.columns * PANEL.width
  const height = HEADER + rows * PANEL.height
  const legend = providers.map(
    (provider, index) =>
      `<rect x="${MARGIN.left + index * 170}" y="14" width="12" height="12" fill="${colorOf(index)}"/>` +
      text(MARGIN.left + index * 170 + 18, 24, provider, 'start'),
  )
  const panels = PANELS.map((panel, index) => {
    const x = (index % PANEL.columns) * PANEL.width
    const y = HEADER + Math.floor(index / PANEL.columns) * PANEL.height
    return `<g transform="translate(${x} ${y})">${drawPanel(panel, runs, providers)}</g>`
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12" fill="#161616">`,
    `<rect width="${width}" height="${height}" fill="#ffffff"/>`,
    ...legend,
    ...panels,
    '</svg>',
    '',
  ].join('\n')
}

function drawPanel(
  { title, of }: Panel,
  runs: readonly BenchmarkRun[],
  providers: readonly string[],
): string {
  const counts = [...new Set(runs.map(({ nodes }) => nodes))]
  const values = runs.map(of).filter((value): value is number => value !== undefined && value > 0)
  // A tenth of the least, so that a factor of ten is a step of the same height everywhere.
  const [bottom, top] = [Math.min(...values) / 10, Math.max(...values)]
  const room = PANEL.height - MARGIN.top - MARGIN.bottom
  const base = PANEL.height - MARGIN.bottom
  const group = (PANEL.width - MARGIN.left - MARGIN.right) / counts.length
  const bar = Math.min(44, (group - 16) / providers.length)
  const bars = counts.flatMap((nodes, at) => [
    text(MARGIN.left + group * (at + 0.5), base + 17, `${nodes} Nodes`),
    ...providers.flatMap((provider, index) => {
      const run = runs.find((each) => each.provider === provider && each.nodes === nodes)
      const value = run === undefined ? undefined : of(run)
      if (value === undefined) return []
      const share = value <= 0 ? 0 : Math.log(value / bottom) / Math.log(top / bottom)
      const height = Math.max(LEAST_HEIGHT, share * (room - 14))
      const x = MARGIN.left + group * (at + 0.5) + (index - providers.length / 2) * bar
      return [
        `<rect x="${x.toFixed(1)}" y="${(base - height).toFixed(1)}" width="${(bar - 3).toFixed(1)}" height="${height.toFixed(1)}" fill="${colorOf(index)}"/>`,
        text(x + (bar - 3) / 2, base - height - 4, short(value)),
      ]
    }),
  ])
  const rule = `<path d="M${MARGIN.left} ${base}H${PANEL.width - MARGIN.right}" stroke="#8d8d8d"/>`
  return [text(MARGIN.left, 18, title, 'start', 'bold'), ...bars, rule].join('\n')
}

function text(x: number, y: number, written: string, anchor = 'middle', weight = 'normal'): string {
  const escaped = written.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" font-weight="${weight}">${escaped}</text>`
}

function short(value: number): string {
  if (value >= 10) return Math.round(value).toLocaleString('en')
  return value.toFixed(1)
}

function colorOf(index: number): string {
  return COLORS[index % COLORS.length] ?? '#000000'
}
