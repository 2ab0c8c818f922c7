import { isDeepStrictEqual } from 'node:util'
import { REPORTS_PATH, timestamp } from '../../../agent/shared/node-report.ts'
import { attempt, failed, ok } from '../../../agent/shared/result.ts'
import { doctor } from '../../inspect/doctor/doctor.ts'
import { suggestNode } from '../../inspect/explain/explain-node.ts'
import { compareWithOurs, type Leader, readLeader } from '../../inspect/status/leader.ts'
import { statusOf } from '../../inspect/status/node-status.ts'
import {
  type ClusterStatus,
  chosen,
  inOrder,
  type NodeFilter,
  printStatus,
  statusJSON,
} from '../../inspect/status/print-status.ts'
import { statusPage } from '../../inspect/status/status-page.ts'
import { unread } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { operatorCredentials } from '../../kubernetes/credentials.ts'
import { createInformer } from '../../kubernetes/informer.ts'
import { readAll } from '../../kubernetes/list.ts'
import { parseNode, parseNodeReport } from '../../kubernetes/parse-node.ts'
import { runTogether } from '../../lib/tasks.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import { nodeName } from '../command-line/options.ts'
import { command, partsOf, withClient } from './command.ts'
import { INSPECTION_OPTIONS, inspectionFlags, inspectionParts } from './doctor.ts'

const NODES = { what: 'Nodes', path: '/api/v1/nodes' }
const REPORTS = { what: 'NodeReports', path: REPORTS_PATH }
const LEASE = { what: 'the Lease of the leader' }
/** Least time between two pictures, and the time after which the Lease and the clock are read again, milliseconds. */
const REDRAW = 1_000
const READ_LEASE = 5_000

const WHO_LEADS = 'the leader is not known'
/** Moves to the top of the terminal, and clears everything below. */
const CLEAR = '\u001b[H\u001b[J'

type Parts = ReturnType<typeof partsOf> & { readonly client: KubeClient; readonly filter: NodeFilter }

/**
 * Prints all Nodes, once or again and again, as the cluster itself knows them: no vCenter is asked. Only a page has what
 * `doctor` finds as well.
 */
export const STATUS = command({
  does: 'shows all Nodes, or those that are named or fit, by vCenter, cluster and host, as the cluster itself knows them; with --output html as a page for people without kubectl, with what doctor finds; exit code 1 if something could not be read, or there is no such Node',
  operand: { name: 'NODE', many: true },
  required: [],
  optional: ['watch', 'vcenter', 'zone', 'not-ready', 'output', ...INSPECTION_OPTIONS],
  words: { output: ['table', 'wide', 'json', 'html'] },
  parse(values) {
    const flags = inspectionFlags(values)
    if (!flags.ok) return flags
    const form = values.get('output')
    if (form === 'html' && values.has('watch'))
      return failed('--watch: a page is made once; leave it out, or choose another --output')
    const filter: NodeFilter = {
      names: (values.get('operand') ?? '').split(' ').flatMap((name) => nodeName(name) || []),
      vCenter: values.get('vcenter'),
      zone: values.get('zone'),
      notReady: values.has('not-ready'),
    }
    return ok({
      ...flags.value,
      filter,
      wide: form === 'wide',
      html: form === 'html',
      watch: values.has('watch'),
    })
  },
  async start(flags, surroundings, signal) {
    const { clock, environment, stdout } = surroundings
    // Failures are listed below the table.
    const parts = partsOf(flags, surroundings, 'error')
    const print = (status: ClusterStatus): void => {
      if (flags.output === 'json') stdout.write(statusJSON(status))
      else if (!flags.watch) stdout.write(printStatus(status, undefined, flags.wide))
      else if (stdout.isTTY) stdout.write(`${CLEAR}${printStatus(status, stdout, flags.wide)}`)
      else stdout.write(`${printStatus(status, undefined, flags.wide)}\n`)
    }
    return withClient(operatorCredentials(flags, environment), surroundings, async (client) => {
      const { filter } = flags
      if (flags.watch) {
        await watch({ ...parts, client, filter }, print, signal)
        return 0
      }
      const [status, checks] = await Promise.all([
        look({ ...parts, client, filter }, signal),
        flags.html ? doctor(inspectionParts(flags, surroundings), signal) : undefined,
      ])
      if (checks === undefined) print(status)
      else stdout.write(statusPage({ ...parts, ...flags, status, checks, at: timestamp(clock.now()) }))
      return status.unknown.length === 0 ? 0 : 1
    })
  },
})

/** @throws where Nodes cannot be read, or the signal aborts */
export async function look(
  { client, lease, filter, clock }: Parts,
  signal: AbortSignal,
): Promise<ClusterStatus> {
  const [nodes, reports, { notes, leader }] = await Promise.all([
    attempt(() => readAll(client, NODES, parseNode, signal)),
    attempt(() => readAll(client, REPORTS, parseNodeReport, signal)),
    lookAtLeader({ client, lease, clock }, signal),
  ])
  signal.throwIfAborted()
  if (!nodes.ok) throw new Error(unread(NODES.what, nodes.error), { cause: nodes.error })
  const reportOf = (name: string) => (reports.ok ? reports.value.get(name) : undefined)
  return {
    ...shownOf([...nodes.value.values()], reports.ok ? reportOf : () => 'unread', filter, notes),
    leader: leader.ok ? leader.value.text : WHO_LEADS,
    ...(leader.ok ? { leads: leader.value.leads, troubles: leader.value.troubles } : {}),
    unknown: [
      ...absentOf(filter, [...nodes.value.values()], reportOf),
      ...(reports.ok ? [] : [unread(REPORTS.what, reports.error)]),
      ...(leader.ok ? [] : [unread(LEASE.what, leader.error)]),
    ],
  }
}

/** The Nodes that fit, in their order, and what a reader should know besides. */
function shownOf(
  nodes: readonly Node[],
  reportOf: (name: string) => NodeReport | undefined | 'unread',
  filter: NodeFilter,
  notes: readonly string[],
): Pick<ClusterStatus, 'nodes' | 'of' | 'notes'> {
  const found = chosen(inOrder(nodes.map((each) => statusOf(each, reportOf(each.name)))), filter)
  return { ...found, notes: [...notes, ...found.notes] }
}

/** The names that no Node has, with what was probably meant. */
function absentOf(
  { names }: NodeFilter,
  nodes: readonly Node[],
  reportOf: (name: string) => NodeReport | undefined,
): readonly string[] {
  return names
    .filter((name) => !nodes.some((node) => node.name === name))
    .map((name) => `there is no Node ${name}${suggestNode(name, nodes, reportOf)}`)
}

/** Who leads, by the clock of the API server, and what is to be said of ours. */
async function lookAtLeader(
  { client, lease, clock }: Pick<Parts, 'client' | 'lease' | 'clock'>,
  signal: AbortSignal,
) {
  const { skew, notes } = await compareWithOurs(client, clock, signal)
  const theirs = { ...clock, now: () => clock.now() + skew }
  return { notes, leader: await attempt(() => readLeader(client, lease, theirs, signal)) }
}

/** Looks whenever something has changed, until the signal aborts. Failures are reported and tried again. */
async function watch(
  { client, lease, filter, clock, random, logger }: Parts,
  onStatus: (status: ClusterStatus) => void,
  signal: AbortSignal,
): Promise<void> {
  let changed = false
  /** By what cannot be read. */
  const failures = new Map<string, string>()
  let leader: Pick<Leader, 'text'> & Partial<Leader> = { text: WHO_LEADS }
  let notes: readonly string[] = []
  const tell = ({ what }: { readonly what: string }, error: unknown): void => {
    if (error === undefined) failures.delete(what)
    else failures.set(what, unread(what, error))
    changed = true
  }
  const follow = <T extends Node | NodeReport>(
    kind: typeof NODES,
    parse: (object: unknown) => T | undefined,
  ) =>
    createInformer({
      client,
      path: kind.path,
      parse,
      onChange: () => {
        changed = true
      },
      onSynced: () => tell(kind, undefined),
      onFailing: (error) => tell(kind, error),
      clock,
      random,
      logger,
    })
  const nodes = follow(NODES, parseNode)
  const reports = follow(REPORTS, parseNodeReport)

  async function readLeases(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { notes: said, leader: read } = await lookAtLeader({ client, lease, clock }, signal)
      if (read.ok && !isDeepStrictEqual(read.value, leader)) changed = true
      leader = read.ok ? read.value : { text: WHO_LEADS }
      notes = said
      if (!read.ok || failures.has(LEASE.what)) tell(LEASE, read.ok ? undefined : read.error)
      await clock.sleep(READ_LEASE, signal)
    }
  }

  async function draw(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      // Half a list would be misleading.
      const whole =
        (nodes.synced || failures.has(NODES.what)) &&
        (reports.synced || failures.has(REPORTS.what)) &&
        (leader.text !== WHO_LEADS || failures.has(LEASE.what))
      if (changed && whole) {
        changed = false
        const all = [...nodes.values()]
        const { text, leads, troubles } = leader
        onStatus({
          ...shownOf(all, reports.synced ? reports.get : () => 'unread', filter, notes),
          leader: text,
          leads,
          troubles,
          unknown: [...(nodes.synced ? absentOf(filter, all, reports.get) : []), ...failures.values()],
        })
      }
      await clock.sleep(REDRAW, signal)
    }
  }

  await runTogether([nodes.run, reports.run, readLeases, draw], signal)
}
