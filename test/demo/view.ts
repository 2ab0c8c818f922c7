import type { NodeReportStatus } from '../../agent/shared/node-report.ts'

/** A Node as the API server shows it, as far as the demo looks. */
export interface ObservedNode {
  readonly metadata: {
    readonly name: string
    readonly labels?: Readonly<Record<string, string>>
    readonly resourceVersion?: string
    readonly managedFields?: unknown
  }
  readonly spec: {
    readonly providerID?: string
    readonly taints?: readonly { readonly key: string; readonly effect?: string }[]
  }
  readonly status: {
    readonly addresses?: readonly { readonly type: string; readonly address: string }[]
    readonly conditions?: readonly { readonly type: string }[]
  }
}

export interface ObservedReport {
  readonly metadata: { readonly name: string }
  readonly status?: NodeReportStatus
}

/** `checking`: its agent has reported, and nothing is decided yet. */
export type NodeState = 'waiting' | 'tainted' | 'checking' | 'refused' | 'initialized'

/** What people see of a Node on its way. */
export interface NodeView {
  readonly name: string
  readonly state: NodeState
  readonly vm: string
  readonly host: string
  readonly zone: string
  readonly type: string
  readonly addresses: string
  readonly level: string
  /** Why it is refused. */
  readonly reason: string
}

export const UNINITIALIZED = 'node.cloudprovider.kubernetes.io/uninitialized'
const SHUTDOWN = 'node.cloudprovider.kubernetes.io/shutdown'

/** What the Node itself says counts; what only the report knows comes from there. */
export function viewOf(
  name: string,
  node: ObservedNode | undefined,
  report: ObservedReport | undefined,
): NodeView {
  const status = report?.status
  const labels = node?.metadata.labels ?? {}
  const initialized = status?.conditions?.find(({ type }) => type === 'Initialized')
  return {
    name,
    state: stateOf(node, report),
    vm: status?.vm?.name ?? '',
    host: status?.vm?.host ?? '',
    zone: labels['topology.kubernetes.io/zone'] ?? '',
    type: labels['node.kubernetes.io/instance-type'] ?? '',
    addresses: internalAddresses(node),
    level: status?.identityLevel ?? '',
    reason: initialized?.status === 'False' ? initialized.reason : '',
  }
}

function stateOf(node: ObservedNode | undefined, report: ObservedReport | undefined): NodeState {
  if (!node) return 'waiting'
  if (!node.spec.taints?.some(({ key }) => key === UNINITIALIZED)) return 'initialized'
  if (!report) return 'tainted'
  const initialized = report.status?.conditions?.find(({ type }) => type === 'Initialized')
  return initialized?.status === 'False' ? 'refused' : 'checking'
}

function internalAddresses(node: ObservedNode | undefined): string {
  const addresses = node?.status.addresses ?? []
  return addresses
    .filter(({ type }) => type === 'InternalIP')
    .map(({ address }) => address)
    .join(' ')
}

/** Whether there is nothing more to wait for. */
export function isDone(view: NodeView): boolean {
  return view.state === 'initialized' && view.level === 'proven'
}

/** Whether no pods are to come because the machine is off. */
export function isShutDown(node: ObservedNode | undefined): boolean {
  const taints = node?.spec.taints ?? []
  return taints.some(({ key, effect }) => key === SHUTDOWN && effect === 'NoSchedule')
}
