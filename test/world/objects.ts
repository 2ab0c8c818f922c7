/** The API objects that these tests look at, as far as they look. */
import type {
  Condition,
  ConditionType,
  NodeReportSpec,
  NodeReportStatus,
} from '../../agent/shared/node-report.ts'
import type { AnyObject, Recording } from './recorder.ts'

const UNINITIALIZED = 'node.cloudprovider.kubernetes.io/uninitialized'

export interface NodeObject extends AnyObject {
  metadata: AnyObject['metadata'] & {
    labels: Record<string, string>
    annotations?: Record<string, string>
    deletionTimestamp?: string
  }
  spec: {
    providerID?: string
    taints?: { key: string; effect: string; value?: string; timeAdded?: string }[]
  }
  status: {
    addresses?: { type: string; address: string }[]
    conditions?: { type: string; status: string }[]
  }
}

export interface ReportObject extends AnyObject {
  metadata: AnyObject['metadata'] & { generation: number }
  spec: NodeReportSpec
  status?: NodeReportStatus
}

export interface EventObject extends AnyObject {
  involvedObject: { kind: string; name: string; uid: string }
  type: 'Normal' | 'Warning'
  reason: string
  message: string
  count: number
  source: { component: string }
}

export function isInitialized(node: NodeObject | undefined): boolean {
  return node !== undefined && !node.spec.taints?.some(({ key }) => key === UNINITIALIZED)
}

/** Whether no pods are to come because the machine is off. */
export function isShutDown(node: NodeObject | undefined): boolean {
  return hasTaint(node, { key: 'node.cloudprovider.kubernetes.io/shutdown', effect: 'NoSchedule' })
}

/** Whether just this taint stands, as it is written here. */
export function hasTaint(
  node: NodeObject | undefined,
  { key, effect, value }: { key: string; effect: string; value?: string; timeAdded?: string },
): boolean {
  return (
    node?.spec.taints?.some(
      (taint) => taint.key === key && taint.effect === effect && taint.value === value,
    ) === true
  )
}

export function address(node: NodeObject | undefined, type: 'InternalIP' | 'ExternalIP'): string | undefined {
  return node?.status.addresses?.find((entry) => entry.type === type)?.address
}

/** Status of the Ready condition. */
export function ready(node: NodeObject | undefined): string | undefined {
  return node?.status.conditions?.find(({ type }) => type === 'Ready')?.status
}

/** As the label on the Node says. */
export function level(node: NodeObject | undefined): string | undefined {
  return node?.metadata.labels['rollcall.node-restriction.kubernetes.io/identity-level']
}

export function condition(report: ReportObject | undefined, type: ConditionType): Condition | undefined {
  return report?.status?.conditions?.find((entry) => entry.type === type)
}

/** Events about one Node, as they stand last. */
export function eventsOf(events: Recording<EventObject>, node: string): EventObject[] {
  const names = new Set(events.versions.map(({ object }) => object.metadata.name))
  return [...names]
    .map((name) => events.last(name))
    .filter((event) => event !== undefined)
    .filter(({ involvedObject }) => involvedObject.kind === 'Node' && involvedObject.name === node)
}
