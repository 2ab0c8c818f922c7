/** What must be so of the demo's Nodes: one sentence for each thing that is not. */
import type { VcsimVM } from '../servers/control.ts'
import { condition, isInitialized, isShutDown, type NodeObject, type ReportObject } from '../world/objects.ts'

/** What the API server has at one moment, by name. */
export interface Snapshot {
  readonly nodes: ReadonlyMap<string, NodeObject>
  readonly reports: ReadonlyMap<string, ReportObject>
}

/** A VM as the simulator has it, and the Node that it should become. */
export interface ExpectedNode {
  readonly name: string
  readonly vm: VcsimVM
  readonly address: string
  readonly zone: string
  readonly instanceType: string
}

const REGION = 'region-1'
/** What the forger must be refused for: the VM itself says which Node it is. */
export const REFUSED_BECAUSE = 'ClaimedByAnotherNode'

type Values = Readonly<Record<string, string | boolean | undefined>>

/** Compares what is with what should be, by the names of what should be. */
function mismatches(of: string, is: Values, wanted: Values): string[] {
  return Object.entries(wanted).flatMap(([what, value]) =>
    is[what] === value ? [] : [`${of}: ${what} is ${is[what] ?? 'missing'}, expected ${value ?? 'none'}`],
  )
}

/** Compares a Node and its report with what the simulator says of the VM. */
export function checkNode(
  { name, vm, address, zone, instanceType }: ExpectedNode,
  { nodes, reports }: Snapshot,
): string[] {
  const node = nodes.get(name)
  if (node === undefined) return [`${name}: the Node is not there`]
  const { vm: bound, identityLevel: level, conditions = [] } = reports.get(name)?.status ?? {}
  const untrue = conditions.flatMap(({ type, status, reason, message }) =>
    status === 'True' ? [] : [`${type}: ${reason}, ${message}`],
  )
  const addresses = node.status.addresses?.map((entry) => `${entry.type} ${entry.address}`).join(', ')
  const is = {
    ...node.metadata.labels,
    ...{ providerID: node.spec.providerID, addresses, level, VM: bound?.moref, VMName: bound?.name },
    host: bound?.host,
  }
  const wanted = {
    // Each label and the beta name under which older workloads look for it.
    'topology.kubernetes.io/zone': zone,
    'failure-domain.beta.kubernetes.io/zone': zone,
    'topology.kubernetes.io/region': REGION,
    'failure-domain.beta.kubernetes.io/region': REGION,
    'node.kubernetes.io/instance-type': instanceType,
    'beta.kubernetes.io/instance-type': instanceType,
    providerID: `vsphere://${vm.uuid}`,
    addresses: `Hostname ${name}, InternalIP ${address}, ExternalIP ${address}`,
    level: 'proven',
    ...{ VM: vm.ref, VMName: vm.name, host: vm.host },
  }
  const taint = isInitialized(node) ? [] : [`${name}: still has the taint (${untrue.join('; ')})`]
  return [...taint, ...mismatches(name, is, wanted)]
}

/** Checks that the forger got nothing and was told why, and that its victim was left alone. */
export function checkForger(name: string, victim: string, before: Snapshot, after: Snapshot): string[] {
  const seen = ({ nodes, reports }: Snapshot) => ({
    Node: JSON.stringify(nodes.get(victim)),
    NodeReport: JSON.stringify(reports.get(victim)),
  })
  const [node, report] = [after.nodes.get(name), after.reports.get(name)]
  const { status, reason } = condition(report, 'IdentityVerified') ?? {}
  const is = {
    tainted: node !== undefined && !isInitialized(node),
    providerID: node?.spec.providerID,
    IdentityVerified: `${status}, ${reason}`,
    level: report?.status?.identityLevel,
    VM: report?.status?.vm?.name,
  }
  const nothing = { providerID: undefined, level: undefined, VM: undefined }
  return [
    ...mismatches(name, is, { tainted: true, IdentityVerified: `False, ${REFUSED_BECAUSE}`, ...nothing }),
    ...mismatches(victim, seen(after), seen(before)),
  ]
}

/** Checks that of these Nodes one was deleted and one tainted, and nothing happened to all others. */
export function checkEnding(destroyed: string, off: string, before: Snapshot, after: Snapshot): string[] {
  return [...new Set([...before.nodes.keys(), ...after.nodes.keys()])].flatMap((name) => {
    const [was, is] = [before.nodes.get(name), after.nodes.get(name)]
    if (was === undefined) return [`${name}: the Node is new`]
    if (name === destroyed)
      return is === undefined ? [] : [`${name}: the Node is there though its VM is gone`]
    if (is === undefined) return [`${name}: the Node was deleted though its VM exists`]
    const changed = differences(was, is).filter((path) => name !== off || path !== 'spec.taints')
    return [
      ...(changed.length === 0 ? [] : [`${name}: these have changed: ${changed.join(', ')}`]),
      ...mismatches(name, { isShutDown: isShutDown(is) }, { isShutDown: name === off }),
    ]
  })
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
