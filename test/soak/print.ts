import { percentile } from '../bench/percentile.ts'
import { markdown } from '../bench/table.ts'
import { isInitialized } from '../world/objects.ts'
import type { Replica } from './replicas.ts'
import type { SoakOptions, SoakOutcome } from './soak.ts'
import type { SoakStage } from './stage.ts'
import type { SoakStorm } from './storm.ts'

const seconds = (ms: number) => (ms / 1000).toFixed(0)

/** One line on how it stands, for those who watch. */
export async function progressLine(
  { fleet, ledger, nodes, replicas }: SoakStage,
  storm: SoakStorm,
  at: number,
): Promise<string> {
  const leader = await replicas.leader()
  const all = nodes.all()
  const last = leader?.samples.at(-1)
  return [
    `${seconds(at).padStart(5)} s`,
    `${fleet.guests.size} VMs, ${all.length} Nodes, ${all.filter((node) => !isInitialized(node)).length} not initialized`,
    `${ledger.deletedAfter.length} deleted, ${ledger.wrong.length} wrongly`,
    leader === undefined
      ? 'nobody leads'
      : `${leader.identity} leads, ${last?.anonymous.toFixed(0) ?? '?'} MB`,
    ...storm.active(),
  ].join('; ')
}

export interface FinishedSoak {
  readonly stage: SoakStage
  readonly storm: SoakStorm
  readonly outcome: SoakOutcome
  readonly options: SoakOptions
}

/** The table at the end. */
export function summaryLines({ stage, storm, outcome, options }: FinishedSoak): readonly string[] {
  const { ledger, replicas, fleet, nodes } = stage
  const { early, late } = outcome.memory
  const failures = fleet.failures()
  const minute = (ms: number) => (ms / 60_000).toFixed(1)
  const figure = (what: 'anonymous' | 'descriptors' | 'threads', digits = 0) => [
    early?.[what].toFixed(digits) ?? '-',
    late?.[what].toFixed(digits) ?? '-',
    early === undefined || late === undefined ? '-' : (late[what] / early[what]).toFixed(2),
  ]
  const { times } = outcome
  return [
    '',
    markdown(
      ['what happened', 'times'],
      [...storm.counts]
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([what, count]) => [what, String(count)]),
    ),
    '',
    markdown(
      [
        `${replicas.survivor.identity}, while it led`,
        `minute ${minute(times.early.from)} to ${minute(times.early.to)}`,
        `minute ${minute(times.late.from)} to ${minute(times.late.to)}`,
        'ratio',
      ],
      [
        ['anonymous memory, MB', ...figure('anonymous', 1)],
        ['file descriptors', ...figure('descriptors')],
        ['threads', ...figure('threads')],
      ],
    ),
    processLine(replicas.other),
    '',
    markdown(
      ['result', `${options.nodes} nodes, ${options.minutes} min, seed ${options.seed}`],
      [
        ['machines in all', String(ledger.machines.length)],
        ['Nodes deleted by Rollcall', String(ledger.deletedAfter.length)],
        ['of which wrongly', String(ledger.wrong.length)],
        [
          'from the end of the VM to that of the Node, median, s',
          seconds(percentile(ledger.deletedAfter, 0.5)),
        ],
        ['99 %, s', seconds(percentile(ledger.deletedAfter, 0.99))],
        ['most, s', seconds(percentile(ledger.deletedAfter, 1))],
        ['Nodes held in the end', String(new Set(outcome.held.map(({ node }) => node)).size)],
        ['quiet until all was right, s', seconds(outcome.settledAfter)],
        [
          'sessions in vCenter in the end, SOAP and REST',
          `${outcome.sessions.soap.length} and ${outcome.sessions.rest.length}`,
        ],
        ['gaps in what was watched', String(nodes.gaps())],
        ['failures of kubelets and agents', `${failures.count}`],
      ],
    ),
    ...(failures.count > 0 ? [`the last of these: ${failures.last.slice(0, 300)}`] : []),
  ]
}

/** The replica that is killed now and then has nothing to be compared with. */
function processLine({ identity, samples, restarts }: Replica): string {
  const [first, last] = [samples.at(0), samples.at(-1)]
  if (first === undefined || last === undefined) return `${identity} has just been started anew`
  const minutes = (last.at - first.at) / 60_000
  const { anonymous, descriptors, threads } = last
  return `${identity}, started ${restarts + 1} times, for the last time ${minutes.toFixed(1)} minutes ago: ${anonymous.toFixed(1)} MB, ${descriptors} file descriptors, ${threads} threads`
}

const MOST_TOLD = 10
const MOST_LINES = 30

/** Each problem with what was done to its Node, what went on at the time, and what the controllers said of it. */
export async function brokenLines({
  stage,
  storm,
  problems,
  begin,
}: Pick<FinishedSoak, 'stage' | 'storm'> & {
  readonly problems: readonly { readonly what: string; readonly node?: string }[]
  /** When the storm began, by `performance.now()`. */
  readonly begin: number
}): Promise<readonly string[]> {
  const lines: string[] = []
  const { ledger, replicas } = stage
  const reports = problems.length === 0 ? [] : await stage.reports()
  for (const { what, node } of problems.slice(0, MOST_TOLD)) {
    lines.push('', `PROBLEM: ${what}`)
    if (node === undefined) continue
    const history = [...ledger.history(node), ...storm.disturbances].toSorted((a, b) => a.at - b.at)
    const last = ledger.history(node).at(-1)?.at ?? Number.POSITIVE_INFINITY
    const until = history.filter(({ at }) => at <= last + 60_000).slice(-MOST_LINES)
    for (const entry of until) lines.push(`  ${seconds(entry.at - begin).padStart(5)} s  ${entry.what}`)
    const report = reports.find(({ metadata }) => metadata.name === node)
    for (const { type, status, reason, message } of report?.status?.conditions ?? [])
      lines.push(`  ${type}=${status} ${reason}: ${message}`)
    for (const replica of [replicas.survivor, replicas.other])
      for (const line of replica.said(`"${node}"`).slice(-MOST_LINES))
        lines.push(`  ${replica.identity}: ${line}`)
  }
  if (problems.length > MOST_TOLD) lines.push('', `and ${problems.length - MOST_TOLD} more`)
  return lines
}
