import type { Clock } from '../../../agent/shared/clock.ts'
import { API_GROUP, API_VERSION, PLURAL } from '../../../agent/shared/node-report.ts'
import { attempt } from '../../../agent/shared/result.ts'
import { statusOf } from '../../inspect/status/node-status.ts'
import { type ClusterStatus, inOrder } from '../../inspect/status/print-status.ts'
import { readLeader } from '../../inspect/status/read-leader.ts'
import { unread } from '../../kubernetes/api-error.ts'
import { createKubeClient, type KubeClient } from '../../kubernetes/client.ts'
import type { CredentialLocation } from '../../kubernetes/credentials.ts'
import { createInformer } from '../../kubernetes/informer.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import { readList } from '../../kubernetes/list.ts'
import { parseNode, parseNodeReport } from '../../kubernetes/parse-node.ts'
import type { Logger } from '../../lib/log.ts'
import { runTogether } from '../../lib/tasks.ts'
import type { Node, NodeReport } from '../../types/node.ts'

export interface StatusOptions {
  readonly credentials: CredentialLocation
  readonly lease: LeaseName
  readonly version: string
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
}

const NODES = { what: 'Nodes', path: '/api/v1/nodes' }
const REPORTS = { what: 'NodeReports', path: `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}` }
const LEASE = { what: 'the Lease of the leader' }
/** Least time between two pictures, and the time after which the Lease is read again, milliseconds. */
const REDRAW = 1_000
const READ_LEASE = 5_000

/**
 * What the cluster itself says of its Nodes: no vCenter is asked. What the leader found out stands in the reports' status.
 *
 * @throws where Nodes cannot be read, or the signal aborts
 */
export async function status(options: StatusOptions, signal: AbortSignal): Promise<ClusterStatus> {
  const { lease, clock } = options
  return withClient(options, async (client) => {
    const nodes = new Map<string, Node>()
    const reports = new Map<string, NodeReport>()
    const [node, report, leader] = await Promise.all([
      attempt(() => readInto(nodes, NODES, parseNode, client, signal)),
      attempt(() => readInto(reports, REPORTS, parseNodeReport, client, signal)),
      attempt(() => readLeader(client, lease, clock.now(), signal)),
    ])
    signal.throwIfAborted()
    if (!node.ok) throw new Error(unread(NODES.what, node.error), { cause: node.error })
    return {
      nodes: inOrder([...nodes.values()].map((each) => statusOf(each, reports.get(each.name)))),
      leader: leader.ok ? leader.value : WHO_LEADS,
      unknown: [
        ...(report.ok ? [] : [unread(REPORTS.what, report.error)]),
        ...(leader.ok ? [] : [unread(LEASE.what, leader.error)]),
      ],
    }
  })
}

const WHO_LEADS = 'the leader is not known'

/** The same whenever something has changed, until the signal aborts. Failures are reported and tried again. */
export async function watchStatus(
  options: StatusOptions,
  onStatus: (status: ClusterStatus) => void,
  signal: AbortSignal,
): Promise<void> {
  const { lease, clock, random, logger } = options
  await withClient(options, async (client) => {
    let changed = false
    /** By what cannot be read. */
    const failures = new Map<string, string>()
    let leader = WHO_LEADS
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
        const read = await attempt(() => readLeader(client, lease, clock.now(), signal))
        if (read.ok && read.value !== leader) changed = true
        leader = read.ok ? read.value : WHO_LEADS
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
          (leader !== WHO_LEADS || failures.has(LEASE.what))
        if (changed && whole) {
          changed = false
          const rows = [...nodes.values()].map((each) => statusOf(each, reports.get(each.name)))
          onStatus({ nodes: inOrder(rows), leader, unknown: [...failures.values()] })
        }
        await clock.sleep(REDRAW, signal)
      }
    }

    await runTogether([nodes.run, reports.run, readLeases, draw], signal)
  })
}

async function withClient<T>(
  { credentials, clock, version }: Pick<StatusOptions, 'credentials' | 'clock' | 'version'>,
  work: (client: KubeClient) => Promise<T>,
): Promise<T> {
  const client = createKubeClient({ credentials, clock, userAgent: `rollcall-controller/${version}` })
  try {
    return await work(client)
  } finally {
    await client.close()
  }
}

async function readInto<T extends { readonly name: string }>(
  found: Map<string, T>,
  kind: typeof NODES,
  parse: (object: unknown) => T | undefined,
  client: KubeClient,
  signal: AbortSignal,
): Promise<void> {
  const keep = (object: unknown): void => {
    const parsed = parse(object)
    if (parsed !== undefined) found.set(parsed.name, parsed)
  }
  await readList(client, kind, keep, signal)
}
