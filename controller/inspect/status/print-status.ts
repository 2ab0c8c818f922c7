import type { Clock } from '../../../agent/shared/clock.ts'
import { columns, escapeUnprintable, printable } from '../../../agent/shared/printable.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { type TroubleRecord, troublesIn } from '../../kubernetes/leader-troubles.ts'
import {
  believedFor,
  createLeaseStore,
  type Lease,
  type LeaseName,
  type LeaseRecord,
} from '../../kubernetes/lease.ts'
import { age } from '../../lib/format-time.ts'
import { count, counted } from '../../lib/listed.ts'
import { type NodeStatus, STATES } from './node-status.ts'

/** All that `status` says. */
export interface ClusterStatus {
  /** Who leads, or that nobody does. */
  readonly leader: string
  /** Of the leader itself; see {@link LeaderTroubles}. */
  readonly troubles?: LeaderTroubles | undefined
  /** By vCenter, cluster, host and name. */
  readonly nodes: readonly NodeStatus[]
  /** What could not be read, and why. */
  readonly unknown: readonly string[]
}

const HEADER = ['VCENTER', 'CLUSTER', 'HOST', 'NODE', 'IDENTITY', 'ZONE', 'POWER', 'STATE', 'PENDING']
const MAX_LINE = 1024
/** A cell is cut to so many characters: names of strangers may be long. */
const MAX_CELL = 63
/** A node may report any version. */
const MAX_VERSIONS = 5

/** Nodes that no vCenter is known for come last. */
export function inOrder(nodes: readonly NodeStatus[]): readonly NodeStatus[] {
  const keys = ({ vCenter, cluster, host, name }: NodeStatus) => [vCenter, cluster, host, name]
  return nodes.toSorted((a, b) => {
    const theirs = keys(b)
    for (const [index, ours] of keys(a).entries()) {
      const other = theirs[index]
      if (ours === other) continue
      if (ours === undefined || other === undefined) return ours === undefined ? 1 : -1
      return ours.localeCompare(other, 'en', { numeric: true })
    }
    return 0
  })
}

/**
 * For people: a table, how many Nodes are in which state, and what could not be read. Ends with a newline.
 *
 * @param screen where it is printed; without one there is no limit, as for a file or a pipe
 */
export function printStatus(
  { leader, troubles, nodes, unknown }: ClusterStatus,
  screen?: Pick<NodeJS.WriteStream, 'columns' | 'rows'>,
): string {
  const below = [
    summary(nodes),
    ...agents(nodes),
    ...brakes(nodes),
    leader,
    ...[...troubleLines(troubles), ...unknown].map((each) => `! ${each}`),
  ]
  const { shown, note } = fit(nodes, (screen?.rows ?? Number.POSITIVE_INFINITY) - below.length - 3)
  const table = columns([HEADER, ...shown.map(cells)])
  const lines = [...(nodes.length === 0 ? [] : [...table, ...note, '']), ...below]
  const width = Math.min(screen?.columns ?? MAX_LINE, MAX_LINE)
  return `${lines.map((line) => printable(line, width)).join('\n')}\n`
}

/** For programs: one object in one line, and a newline. */
export function statusJSON(status: ClusterStatus): string {
  return `${escapeUnprintable(JSON.stringify(status))}\n`
}

function cells(node: NodeStatus): readonly string[] {
  const { vCenter, cluster, host, name, level, zone, power, state, pending } = node
  const row = [vCenter, cluster, host, name, level, zone, power, state, pending?.reason]
  return row.map((cell) => printable(cell || '-', MAX_CELL))
}

function summary(nodes: readonly NodeStatus[]): string {
  const counts = STATES.flatMap((state) => {
    const { length } = nodes.filter((node) => node.state === state)
    return length === 0 ? [] : [`${length} ${state}`]
  })
  const held = nodes.some(({ pending }) => pending !== undefined)
  const next = held ? '; why: rollcall-controller explain NODE' : ''
  return counts.length === 0
    ? 'there are no Nodes'
    : `${count(nodes.length, 'Node')}: ${counts.join(', ')}${next}`
}

/** Of which version the agents are, and which of them are silent. */
function agents(nodes: readonly NodeStatus[]): readonly string[] {
  const versions = Map.groupBy(nodes, ({ agentVersion }) => agentVersion)
  const silent = nodes.filter(({ pending }) => pending?.condition === 'AgentReports').map(({ name }) => name)
  const counts = [...versions].flatMap(([version, { length }]) =>
    version === undefined ? [] : [`${length} of version ${printable(version, MAX_CELL)}`],
  )
  if (counts.length === 0) return []
  const shown = counts.slice(0, MAX_VERSIONS)
  const more = counts.length > MAX_VERSIONS ? ', and others' : ''
  return [`agents: ${shown.join(', ')}${more}${silent.length === 0 ? '' : `; silent: ${counted(silent)}`}`]
}

function brakes(nodes: readonly NodeStatus[]): readonly string[] {
  const held = Map.groupBy(nodes, ({ brakeEngagedFor }) => brakeEngagedFor)
  return [...held].flatMap(([vCenter, { length }]) =>
    vCenter === undefined
      ? []
      : [`the brake on deletions is engaged for ${count(length, 'Node')} of vCenter ${vCenter}`],
  )
}

/** Where the screen is too small, what is well is left out first. */
function fit(
  nodes: readonly NodeStatus[],
  lines: number,
): { readonly shown: readonly NodeStatus[]; readonly note: readonly string[] } {
  if (nodes.length <= lines) return { shown: nodes, note: [] }
  const rank = ({ pending }: NodeStatus) => (pending === undefined ? 1 : 0)
  const names = new Set(
    nodes
      .toSorted((a, b) => rank(a) - rank(b))
      .slice(0, Math.max(1, lines - 1))
      .map(({ name }) => name),
  )
  return {
    shown: nodes.filter(({ name }) => names.has(name)),
    note: [`and ${nodes.length - names.size} more`],
  }
}

/** Clocks of one cluster, and of a laptop, that differ by more than this have other worries, milliseconds. */
const MAX_SKEW = 60_000

/** What the leader has written of its own troubles, or the last one before it stopped. */
export type LeaderTroubles = Pick<TroubleRecord, 'at' | 'troubles'>

export interface Leader {
  /** Who leads, in one line. */
  readonly text: string
  readonly leads: boolean
  readonly troubles: LeaderTroubles | undefined
}

/** Milliseconds in which a leader renews its Lease, with time to spare. */
const RENEWS = 4_000

/**
 * Who leads, and what troubles it. A Lease that looks old is read once more: where it has been renewed meanwhile, its holder
 * leads, and only the clocks differ.
 *
 * @throws as `KubeClient.request`
 */
export async function readLeader(
  client: KubeClient,
  lease: LeaseName,
  clock: Clock,
  signal: AbortSignal,
): Promise<Leader> {
  const store = createLeaseStore(client, lease.namespace, lease.name)
  const first = await store.get(signal)
  if (isHeld(first?.record, clock.now()) || !first?.record.holder) return leaderOf(first, lease, clock.now())
  await clock.sleep(RENEWS, signal)
  const second = await store.get(signal)
  const renewed = second !== undefined && second.record.renewTime !== first.record.renewTime
  return leaderOf(second, lease, renewed ? Date.parse(second.record.renewTime) : clock.now())
}

/** @param found undefined where there is no such Lease */
export function leaderOf(
  found: Pick<Lease, 'record' | 'annotations'> | undefined,
  lease: LeaseName,
  now: number,
): Leader {
  const record = found && troublesIn(found.annotations)
  const leads = isHeld(found?.record, now)
  // A leader that has only just begun has written nothing yet.
  const troubles = leads && record?.by !== found?.record.holder ? undefined : record
  return { text: leaderText(found?.record, lease, now), leads, troubles }
}

function isHeld(record: LeaseRecord | undefined, now: number): boolean {
  if (record === undefined || record.holder === '') return false
  return Date.parse(record.renewTime) + believedFor(record) + MAX_SKEW >= now
}

/** One line for each, with the times by the leader's clock. */
export function troubleLines({ at, troubles }: LeaderTroubles = { at: '', troubles: [] }): readonly string[] {
  return troubles.map(({ message, since }) => `${message} (since ${since}; the leader wrote this at ${at})`)
}

/** @param record undefined where there is no such Lease */
export function leaderText(record: LeaseRecord | undefined, lease: LeaseName, now: number): string {
  const held = `the Lease ${lease.namespace}/${lease.name}`
  if (record === undefined) return `no replica has ever held ${held}: check that rollcall-controller runs`
  const { holder, renewTime } = record
  if (holder === '')
    return `no replica holds ${held}, since ${age(renewTime, now)}: check that rollcall-controller runs; this is the state that the last leader left`
  if (!isHeld(record, now))
    return `${holder} held ${held} until ${renewTime}, and none has since, for ${age(renewTime, now)}: check that rollcall-controller runs; this is the state at that time`
  return `${holder} leads, and holds ${held}`
}
