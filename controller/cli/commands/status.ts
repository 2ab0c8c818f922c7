import { isDeepStrictEqual } from 'node:util'
import { API_GROUP, API_VERSION, PLURAL } from '../../../agent/shared/node-report.ts'
import { attempt, ok } from '../../../agent/shared/result.ts'
import { statusOf } from '../../inspect/status/node-status.ts'
import {
  type ClusterStatus,
  inOrder,
  type Leader,
  printStatus,
  readLeader,
  statusJSON,
} from '../../inspect/status/print-status.ts'
import { unread } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { operatorCredentials } from '../../kubernetes/credentials.ts'
import { createInformer } from '../../kubernetes/informer.ts'
import { readAll } from '../../kubernetes/list.ts'
import { parseNode, parseNodeReport } from '../../kubernetes/parse-node.ts'
import { runTogether } from '../../lib/tasks.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import { peopleFlags } from '../command-line/options.ts'
import { command, partsOf, withClient } from './command.ts'

const NODES = { what: 'Nodes', path: '/api/v1/nodes' }
const REPORTS = { what: 'NodeReports', path: `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}` }
const LEASE = { what: 'the Lease of the leader' }
/** Least time between two pictures, and the time after which the Lease is read again, milliseconds. */
const REDRAW = 1_000
const READ_LEASE = 5_000

const WHO_LEADS = 'the leader is not known'
/** Moves to the top of the terminal, and clears everything below. */
const CLEAR = '\u001b[H\u001b[J'

type Parts = ReturnType<typeof partsOf> & { readonly client: KubeClient }

/** Prints all Nodes, once or again and again, as the cluster itself knows them: no vCenter is asked. */
export const STATUS = command({
  does: 'shows all Nodes by vCenter, cluster and host, as the cluster itself knows them; exit code 1 if something could not be read',
  required: [],
  optional: ['watch', 'kubeconfig', 'context', 'output', 'lease-namespace', 'lease-name'],
  parse(values) {
    const flags = peopleFlags(values)
    return flags.ok ? ok({ ...flags.value, watch: values.has('watch') }) : flags
  },
  async start(flags, surroundings, signal) {
    const { environment, stdout } = surroundings
    // Failures are listed below the table.
    const parts = partsOf(flags, surroundings, 'error')
    const print = (status: ClusterStatus): void => {
      if (flags.output === 'json') stdout.write(statusJSON(status))
      else if (!flags.watch) stdout.write(printStatus(status))
      else if (stdout.isTTY) stdout.write(`${CLEAR}${printStatus(status, stdout)}`)
      else stdout.write(`${printStatus(status)}\n`)
    }
    return withClient(operatorCredentials(flags, environment), surroundings, async (client) => {
      if (flags.watch) {
        await watch({ ...parts, client }, print, signal)
        return 0
      }
      const status = await look({ ...parts, client }, signal)
      print(status)
      return status.unknown.length === 0 ? 0 : 1
    })
  },
})

/** @throws where Nodes cannot be read, or the signal aborts */
async function look({ client, lease, clock }: Parts, signal: AbortSignal): Promise<ClusterStatus> {
  const [nodes, reports, leader] = await Promise.all([
    attempt(() => readAll(client, NODES, parseNode, signal)),
    attempt(() => readAll(client, REPORTS, parseNodeReport, signal)),
    attempt(() => readLeader(client, lease, clock, signal)),
  ])
  signal.throwIfAborted()
  if (!nodes.ok) throw new Error(unread(NODES.what, nodes.error), { cause: nodes.error })
  const reportOf = (name: string) => (reports.ok ? reports.value.get(name) : undefined)
  return {
    nodes: inOrder([...nodes.value.values()].map((each) => statusOf(each, reportOf(each.name)))),
    leader: leader.ok ? leader.value.text : WHO_LEADS,
    ...(leader.ok ? { troubles: leader.value.troubles } : {}),
    unknown: [
      ...(reports.ok ? [] : [unread(REPORTS.what, reports.error)]),
      ...(leader.ok ? [] : [unread(LEASE.what, leader.error)]),
    ],
  }
}

/** Looks whenever something has changed, until the signal aborts. Failures are reported and tried again. */
async function watch(
  { client, lease, clock, random, logger }: Parts,
  onStatus: (status: ClusterStatus) => void,
  signal: AbortSignal,
): Promise<void> {
  let changed = false
  /** By what cannot be read. */
  const failures = new Map<string, string>()
  let leader: Pick<Leader, 'text'> & Partial<Leader> = { text: WHO_LEADS }
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
      const read = await attempt(() => readLeader(client, lease, clock, signal))
      if (read.ok && !isDeepStrictEqual(read.value, leader)) changed = true
      leader = read.ok ? read.value : { text: WHO_LEADS }
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
        const rows = [...nodes.values()].map((each) => statusOf(each, reports.get(each.name)))
        const { text, troubles } = leader
        onStatus({ nodes: inOrder(rows), leader: text, troubles, unknown: [...failures.values()] })
      }
      await clock.sleep(REDRAW, signal)
    }
  }

  await runTogether([nodes.run, reports.run, readLeases, draw], signal)
}
