/** What must be so of the demo's Nodes: each check answers with one sentence for each thing that is not. */
import type { Condition } from '../../agent/shared/node-report.ts'
import type { VcsimVM } from '../servers/control.ts'
import {
  type EventObject,
  isInitialized,
  isShutDown,
  type NodeObject,
  type ReportObject,
} from '../world/objects.ts'

/** What the API server has at one moment, by name. */
export interface Snapshot {
  readonly nodes: ReadonlyMap<string, NodeObject>
  readonly reports: ReadonlyMap<string, Pick<ReportObject, 'status'>>
}

/** A VM as the simulator has it, and the Node that it should become. */
export interface ExpectedNode {
  readonly name: string
  readonly vm: VcsimVM
  readonly address: string
  readonly zone: string
  readonly instanceType: string
}

export const REGION = 'region-1'
/** What the forger must be refused for: the VM itself says which Node it is. */
export const REFUSED_BECAUSE = 'ClaimedByAnotherNode'
/** A privilege that is named together with the object where it is missing, in the words of a condition. */
export const NAMES_PRIVILEGE = /the account lacks .*System\.Read on \w+ ".+"/
/** Milliseconds. What is minutes in production is seconds here, by configuration alone. */
export const ABSENT_FOR = 3_000
/** A second, and then some for a machine that has other things to do. */
const TAINTED_WITHIN = 3_000
const DELETED_WITHIN = ABSENT_FOR + 10_000
/** How long the privileges are away: more than twice what a deletion takes. */
export const HOLD = 2.5 * ABSENT_FOR

type Event = Pick<EventObject, 'type' | 'reason'> & { readonly involvedObject: { readonly name: string } }

/** Compares a Node and its report with what the simulator says of the VM. */
export function checkNode(
  { name, vm: wanted, address, zone, instanceType }: ExpectedNode,
  node: NodeObject | undefined,
  report: Pick<ReportObject, 'status'> | undefined,
): string[] {
  if (!node) return ['the Node is not there']
  const { vm, identityLevel, conditions = [] } = report?.status ?? {}
  const problems: string[] = []
  if (!isInitialized(node)) {
    const untrue = conditions
      .filter(({ status }) => status !== 'True')
      .map(({ type, reason, message }) => `${type}: ${reason}, ${message}`)
    problems.push(`still has the taint${untrue.length === 0 ? '' : ` (${untrue.join('; ')})`}`)
  }
  const expect = (what: string, is: string, got: string | undefined, why?: string) => {
    if (got !== is)
      problems.push(`${what} is ${got ?? 'missing'}, expected ${is}${why === undefined ? '' : ` (${why})`}`)
  }
  const labels: Partial<Record<string, string>> = node.metadata.labels
  const expectLabel = (label: string, is: string) => expect(`label ${label}`, is, labels[label])
  expect('provider ID', `vsphere://${wanted.uuid}`, node.spec.providerID)
  // Each label and the beta name under which older workloads look for it.
  for (const prefix of ['topology', 'failure-domain.beta']) {
    expectLabel(`${prefix}.kubernetes.io/zone`, zone)
    expectLabel(`${prefix}.kubernetes.io/region`, REGION)
  }
  for (const prefix of ['node', 'beta']) expectLabel(`${prefix}.kubernetes.io/instance-type`, instanceType)
  const addresses = node.status.addresses?.map(({ type, address }) => `${type} ${address}`).join(', ')
  expect('list of addresses', `Hostname ${name}, InternalIP ${address}, ExternalIP ${address}`, addresses)
  if (!report) return [...problems, 'there is no NodeReport']
  const level = conditions.find(({ type }) => type === 'IdentityVerified')
  expect('identity level', 'proven', identityLevel, level?.message)
  expect('bound VM', wanted.ref, vm?.moref)
  expect('VM name', wanted.name, vm?.name)
  expect('host', wanted.host, vm?.host)
  return problems
}

/** Checks that the forger got nothing and was told why, and that its victim was left alone. */
export function checkForger(
  name: string,
  victim: string,
  {
    before,
    after,
    events,
  }: { readonly before: Snapshot; readonly after: Snapshot; readonly events: readonly Event[] },
): string[] {
  const node = after.nodes.get(name)
  const { conditions = [], identityLevel, vm } = after.reports.get(name)?.status ?? {}
  const current = conditions.find(({ type }) => type === 'IdentityVerified')
  const said = current === undefined ? 'missing' : `${current.status}, ${current.reason}`
  const wanted = `False, ${REFUSED_BECAUSE}`
  const warned = events.some(({ type, reason }) => type === 'Warning' && reason === REFUSED_BECAUSE)
  const same = (then: object | undefined, now: object | undefined) =>
    then !== undefined && JSON.stringify(then) === JSON.stringify(now)
  return failed([
    [node !== undefined, `${name}: the Node is not there`],
    [!isInitialized(node), `${name}: lost the taint`],
    [node?.spec.providerID === undefined, `${name}: got the provider ID ${node?.spec.providerID}`],
    [said === wanted, `${name}: its condition IdentityVerified is ${said}, expected ${wanted}`],
    [identityLevel === undefined, `${name}: its identity level is ${identityLevel}`],
    [vm === undefined, `${name}: it was bound to the VM ${vm?.name}`],
    [warned, `${name}: no Warning ${REFUSED_BECAUSE} is on its Node`],
    ...(['nodes', 'reports'] as const).map((what): [boolean, string] => [
      same(before[what].get(victim), after[what].get(victim)),
      `${victim}: its ${what === 'nodes' ? 'Node' : 'NodeReport'} is not what it was before ${name} came`,
    ]),
  ])
}

/** What was seen of the ending; times are milliseconds. */
export interface EndingEvidence {
  readonly before: Snapshot
  readonly after: Snapshot
  readonly events: readonly Event[]
  /** From the VM's end to the Node's, and what DeletionPending said meanwhile. */
  readonly deletedAfter: number
  readonly said: readonly Pick<Condition, 'reason'>[]
  /** From power-off to the taint. */
  readonly taintedAfter: number
  /** TopologyResolved of the one that moved. */
  readonly moved: Pick<Condition, 'reason'>
  /** How long the privileges were away, and what each DeletionPending said then, by name. */
  readonly lostFor: number
  readonly whileLost: ReadonlyMap<string, Pick<Condition, 'message'>>
}

/** Checks that to each Node that has happened which should, and nothing to all others. */
export function checkEnding(
  { destroyed: gone, poweredOff: off, moved }: Readonly<Record<'destroyed' | 'poweredOff' | 'moved', string>>,
  { before, after, events, ...seen }: EndingEvidence,
): string[] {
  const hasEvent = (node: string, of: Event['type'], wanted: string) =>
    events.some(
      ({ type, reason, involvedObject: { name } }) => type === of && reason === wanted && name === node,
    )
  const [took, tainted] = [Math.round(seen.deletedAfter), Math.round(seen.taintedAfter)]
  const { reason } = seen.moved
  return failed([
    [!after.nodes.has(gone), `${gone}: the Node is there though its VM is gone`],
    [hasEvent(gone, 'Normal', 'NodeDeleted'), `${gone}: no Event NodeDeleted says why it was deleted`],
    [
      seen.said.some((each) => each.reason === 'NotConfirmed'),
      `${gone}: DeletionPending never said what was missing`,
    ],
    [took >= ABSENT_FOR, `${gone}: the Node was deleted after ${took} ms, before ${ABSENT_FOR} ms were over`],
    [took <= DELETED_WITHIN, `${gone}: the Node was deleted after ${took} ms, expected ${DELETED_WITHIN}`],
    [isShutDown(after.nodes.get(off)), `${off}: has no shutdown taint though its VM is off`],
    [hasEvent(off, 'Warning', 'VMShutDown'), `${off}: no Warning VMShutDown says why it is tainted`],
    [tainted <= TAINTED_WITHIN, `${off}: was tainted after ${tainted} ms, expected ${TAINTED_WITHIN}`],
    [reason === 'TopologyChanged', `${moved}: TopologyResolved says ${reason}, not TopologyChanged`],
    [seen.lostFor >= HOLD, `the privileges were away for ${Math.round(seen.lostFor)} ms, expected ${HOLD}`],
    ...[...before.nodes].flatMap(([name, was]): [boolean, string][] => {
      if (name === gone) return []
      const is = after.nodes.get(name)
      if (is === undefined) return [[false, `${name}: the Node was deleted though its VM exists`]]
      const changed = differences(was, is).filter((path) => name !== off || path !== 'spec.taints')
      // One that is bound to nothing need not name a privilege.
      const named =
        was.spec.providerID === undefined || NAMES_PRIVILEGE.test(seen.whileLost.get(name)?.message ?? '')
      return [
        [changed.length === 0, `${name}: these have changed: ${changed.join(', ')}`],
        [named, `${name}: DeletionPending did not name the missing privilege`],
      ]
    }),
    ...[...after.nodes.keys()].map((name): [boolean, string] => [
      before.nodes.has(name),
      `${name}: the Node is new`,
    ]),
  ])
}

function failed(checks: readonly (readonly [holds: boolean, problem: string])[]): string[] {
  return checks.flatMap(([holds, problem]) => (holds ? [] : [problem]))
}

/**
 * Lists where two states of a Node differ, as "spec.taints"; nothing where they are the same, byte for byte. Left out are
 * what changes with every write, and the condition Ready, which the demo writes in the place of kubelets.
 */
export function differences(before: NodeObject, after: NodeObject): string[] {
  const [was, is] = [parts(before), parts(after)]
  return [...new Set([...was.keys(), ...is.keys()])].filter((part) => was.get(part) !== is.get(part))
}

function parts({ metadata, spec, status }: NodeObject): ReadonlyMap<string, string> {
  const { resourceVersion: _, managedFields: __, ...kept } = metadata
  const conditions = (status.conditions ?? []).filter(({ type }) => type !== 'Ready')
  const sections = { metadata: kept, spec, status: { ...status, conditions } }
  return new Map(
    Object.entries(sections).flatMap(([section, fields]) =>
      Object.entries(fields).map(([key, value]) => [`${section}.${key}`, JSON.stringify(value)]),
    ),
  )
}
