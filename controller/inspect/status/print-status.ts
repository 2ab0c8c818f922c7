import { columns, escapeUnprintable, printable } from '../../../agent/shared/printable.ts'
import { count, counted, listed } from '../../lib/format.ts'
import { type LeaderTroubles, troubleLines, unsaid } from './leader.ts'
import { type NodeStatus, STATES } from './node-status.ts'

/** All that `status` says. */
export interface ClusterStatus {
  /** Who leads, or that nobody does. */
  readonly leader: string
  /** Whether somebody leads; undefined where that is not known. */
  readonly leads?: boolean | undefined
  /** Of the leader itself; see {@link LeaderTroubles}. */
  readonly troubles?: LeaderTroubles | undefined
  /** By vCenter, cluster, host and name. */
  readonly nodes: readonly NodeStatus[]
  /** How many Nodes there are, shown or not. */
  readonly of: number
  /** What could not be read, and why. */
  readonly unknown: readonly string[]
  /** What a reader should know besides. */
  readonly notes: readonly string[]
}

/** Which Nodes are shown. */
export interface NodeFilter {
  /** All where there are none. */
  readonly names: readonly string[]
  readonly vCenter: string | undefined
  readonly zone: string | undefined
  readonly notReady: boolean
}

export const ALL_NODES: NodeFilter = { names: [], vCenter: undefined, zone: undefined, notReady: false }

/** The Nodes that fit. Where no Node has what is asked for, a note says what there is. */
export function chosen(
  nodes: readonly NodeStatus[],
  { names, vCenter, zone, notReady }: NodeFilter,
): Pick<ClusterStatus, 'nodes' | 'of' | 'notes'> {
  const found = nodes.filter(
    (node) =>
      (names.length === 0 || names.includes(node.name)) &&
      (vCenter === undefined || node.vCenter === vCenter) &&
      (zone === undefined || node.zone === zone) &&
      (!notReady || node.ready !== 'True' || node.state === 'waiting'),
  )
  const of = nodes.length
  const there = (what: string, asked: string, values: readonly (string | undefined)[]) => {
    const known = [...new Set(values.filter((value) => value !== undefined))].sort()
    return `no Node is known to be in ${what} ${asked}${known.length === 0 ? '' : `, only in ${listed(known)}`}`
  }
  const [vCenters, zones] = [nodes.map((node) => node.vCenter), nodes.map((node) => node.zone)]
  return {
    nodes: found,
    of,
    notes: [
      ...(vCenter === undefined || vCenters.includes(vCenter) ? [] : [there('vCenter', vCenter, vCenters)]),
      ...(zone === undefined || zones.includes(zone) ? [] : [there('zone', zone, zones)]),
    ],
  }
}

const HEADER = ['VCENTER', 'CLUSTER', 'HOST', 'NODE', 'IDENTITY', 'ZONE', 'POWER', 'STATE', 'PENDING']
const WIDE = ['READY', 'AGENT', 'DATACENTER', 'VM', 'REGION', 'MESSAGE']
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
 * @param wide with all that is known of each Node
 */
export function printStatus(
  { leader, leads, troubles, nodes, of, unknown, notes }: ClusterStatus,
  screen?: Pick<NodeJS.WriteStream, 'columns' | 'rows'>,
  wide = false,
): string {
  const below = [
    summary(nodes, of),
    ...agents(nodes),
    ...brakes(nodes),
    leads === false ? `! ${leader}` : leader,
    ...unsaid(leads, troubles),
    ...[...troubleLines(troubles), ...notes, ...unknown].map((each) => `! ${each}`),
  ]
  const { shown, note } = fit(nodes, (screen?.rows ?? Number.POSITIVE_INFINITY) - below.length - 3)
  const table = wide
    ? columns([[...HEADER, ...WIDE], ...shown.map((node) => [...cells(node), ...moreCells(node)])])
    : columns([HEADER, ...shown.map(cells)])
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

function moreCells({ ready, agentVersion, datacenter, vm, region, pending }: NodeStatus): readonly string[] {
  const message = printable(pending?.message || '-', MAX_LINE)
  return [
    ...[ready, agentVersion, datacenter, vm, region].map((cell) => printable(cell || '-', MAX_CELL)),
    message,
  ]
}

function summary(nodes: readonly NodeStatus[], of: number): string {
  const counts = STATES.flatMap((state) => {
    const { length } = nodes.filter((node) => node.state === state)
    return length === 0 ? [] : [`${length} ${state}`]
  })
  const held = nodes.some(({ pending }) => pending !== undefined)
  const next = held ? '; why: rollcall-controller explain NODE' : ''
  if (of === 0) return 'there are no Nodes'
  if (nodes.length === 0) return `none of ${count(of, 'Node')} fits`
  const shown = nodes.length === of ? count(of, 'Node') : `${nodes.length} of ${count(of, 'Node')}`
  return `${shown}: ${counts.join(', ')}${next}`
}

/** Of which version the agents are, and which of them are silent. */
export function agents(nodes: readonly NodeStatus[]): readonly string[] {
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

/** For which vCenters deletions are held back. */
export function brakes(nodes: readonly NodeStatus[]): readonly string[] {
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
