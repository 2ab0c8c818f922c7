import type { Traffic } from '../servers/vcsim.ts'
import type { AdmissionFigure, PatchWriter } from './admission.ts'
import type { BenchmarkRun } from './initialize.ts'
import { percentile } from './percentile.ts'
import { markdown, trafficOf } from './table.ts'

/** What the same Nodes take without a provider. */
export interface Floors {
  /** Seconds that the two writes to each Node take by themselves: with our manifests, and on a bare API server. */
  readonly floor: number
  readonly bareFloor: number
  /** Seconds that the reports of the agents take by themselves. */
  readonly reports: number
}

/** All that was measured with so many Nodes, on one API server. */
export interface Measured extends Floors {
  readonly nodes: number
  /** From the controller's start. */
  readonly start: BenchmarkRun
  /** From the first report. */
  readonly arrival: BenchmarkRun
}

/** A figure that may be no more than its budget. */
export interface Budgeted {
  readonly figure: string
  readonly value: number
  readonly budget: number
}

/** Of so many Nodes at once, the floor tells how fast the machine is; of few, it is the start that counts. */
const MANY = 1_000
const RATIO = 3
/** Where the agents report meanwhile, their writes are part of the floor, and take a larger part of the time. */
const RATIO_BESIDE_REPORTS = 2
/** Times the seconds of 1,000 Nodes. */
const GROWTH: Readonly<Record<number, number>> = { 5000: 5.5, 10000: 9 }
const RESIDENT: Readonly<Record<number, number>> = { 1000: 140, 5000: 220, 10000: 240 }
const API_SERVER = { initialized: 12, recorded: 18 }
const ALONE = 200
/**
 * MB as sent for each thousand VMs. Before answers were asked for compressed, and without what had not changed, a resync of 1,000
 * VMs took 10.7: the start may take half of one, an hour a tenth of its twelve. Inflated, an hour takes more.
 */
const TRAFFIC = { start: 5.35, hour: 12.84 }
/** Of so many Nodes, what vCenter sends has a budget. */
const MEASURED_TRAFFIC: ReadonlySet<number> = new Set([1_000, 10_000])

/** Times the write without our manifests. */
const ADMISSION: Readonly<Record<PatchWriter, number>> = {
  'a kubelet, its heartbeat': 1.1,
  'an administrator': 1.1,
  'the controller': 1.3,
}
/** The same of a Node with more labels or taints than anybody needs. */
const ADMISSION_OF_HUGE = 1.5

export function admissionBudgets(figures: readonly AdmissionFigure[]): readonly Budgeted[] {
  return figures.map(({ labels, taints, writer, bare, ours }) => ({
    figure: `${writer}: a write to a Node with ${labels} labels and ${taints} taints, times the bare one`,
    value: ours / bare,
    budget: labels + taints > 100 ? ADMISSION_OF_HUGE : ADMISSION[writer],
  }))
}

/**
 * The figures that there are budgets for.
 *
 * @param after a start with 1,000 Nodes after all others, as the one before them may have met a faster or slower machine
 */
export function budgeted(all: readonly Measured[], after?: BenchmarkRun): readonly Budgeted[] {
  const before = all.find(({ nodes }) => nodes === 1_000)?.start
  const thousand = before && (before.seconds + (after ?? before).seconds) / 2
  return all.flatMap(({ nodes, floor, bareFloor, reports, start, arrival }) => {
    const [resident, growth] = [RESIDENT[nodes], GROWTH[nodes]]
    return [
      ...(nodes === 1
        ? [{ figure: 'one Node alone, from its report, ms', value: arrival.seconds * 1000, budget: ALONE }]
        : []),
      ...(nodes >= MANY
        ? [
            {
              figure: `${nodes} Nodes from the start, times the bare floor`,
              value: start.seconds / bareFloor,
              budget: RATIO,
            },
            {
              figure: `${nodes} Nodes from the start, times the floor`,
              value: start.seconds / floor,
              budget: RATIO,
            },
            {
              figure: `${nodes} Nodes from the first report, times the floor and the reports alone`,
              value: arrival.seconds / (floor + reports),
              budget: RATIO_BESIDE_REPORTS,
            },
            {
              figure: `${nodes} Nodes: API server until all are initialized, ms a Node`,
              value: start.apiServer.initialized,
              budget: API_SERVER.initialized,
            },
            {
              figure: `${nodes} Nodes: API server until all statuses are written, ms a Node`,
              value: start.apiServer.recorded,
              budget: API_SERVER.recorded,
            },
          ]
        : []),
      ...(resident === undefined
        ? []
        : [
            {
              figure: `${nodes} Nodes: resident memory, MB`,
              value: Math.max(start.usage.peakResident, arrival.usage.peakResident),
              budget: resident,
            },
          ]),
      ...(MEASURED_TRAFFIC.has(nodes) ? trafficFigures(start) : []),
      ...(growth === undefined || thousand === undefined
        ? []
        : [
            {
              figure: `${nodes} Nodes from the start, times 1000 Nodes`,
              value: start.seconds / thousand,
              budget: growth,
            },
          ]),
    ]
  })
}

/** The middle one of each, or the lower one of two: the machine is slow or quick for a minute, and a high floor flatters. */
export function typicalFloors(all: readonly Floors[]): Floors {
  const typical = (floor: keyof Floors) =>
    percentile(
      all.map((floors) => floors[floor]),
      0.5,
    )
  return { floor: typical('floor'), bareFloor: typical('bareFloor'), reports: typical('reports') }
}

/** What vCenter sends; in an hour, as far as somebody looked on. */
function trafficFigures({ nodes, bytes, quiet }: BenchmarkRun): readonly Budgeted[] {
  const figure = (when: string, { wire, inflated }: Traffic, factor: number, budget: number): Budgeted => ({
    figure: `${nodes} Nodes: from vCenter ${when}, MB as sent (inflated: ${digits((inflated * factor) / 1e6)})`,
    value: (wire * factor) / 1e6,
    budget: (budget * nodes) / 1_000,
  })
  return [
    figure('until all are initialized', trafficOf(bytes), 1, TRAFFIC.start),
    ...(quiet === undefined
      ? []
      : [figure('in a quiet hour', trafficOf(quiet.bytes), 3600 / quiet.seconds, TRAFFIC.hour)]),
  ]
}

export function isKept({ value, budget }: Budgeted): boolean {
  return value <= budget
}

export function budgetTable(figures: readonly Budgeted[]): string {
  return markdown(
    ['figure', 'measured', 'budget', 'part', ''],
    figures.map((each) => [
      each.figure,
      digits(each.value),
      String(each.budget),
      `${((100 * each.value) / each.budget).toFixed(0)} %`,
      isKept(each) ? 'pass' : 'MISS',
    ]),
  )
}

function digits(value: number): string {
  return value < 10 ? value.toFixed(2) : value.toFixed(value < 100 ? 1 : 0)
}
