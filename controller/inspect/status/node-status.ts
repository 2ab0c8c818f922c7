/** What the cluster itself says of one Node, without a question to vCenter. Pure. */
import type { Condition, ConditionType, IdentityLevel } from '../../../agent/shared/node-report.ts'
import { isShutdownTaint } from '../../loops/node/decide/lifecycle/shutdown-taint.ts'
import { hasUninitializedTaint, needsInitialization } from '../../loops/node/facts/needs-initialization.ts'
import {
  addAgent,
  agentVersionOf,
  isAgentless,
  isWindows,
  previousStatus,
  specOf,
} from '../../loops/node/facts/previous-status.ts'
import { judgeProviderID } from '../../loops/node/facts/provider-id.ts'
import { deletionHangs } from '../../loops/node/facts/removal.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import type { Reason } from '../../types/reasons.ts'
import { LABEL_REGION, LABEL_ZONE, TAINT_SHUTDOWN } from '../../types/well-known.ts'

export const STATES = [
  /** It waits for a cloud provider. */
  'waiting',
  'initialized',
  /** It runs on what was verified before, which cannot be verified now or is contradicted. */
  'doubted',
  'VM off',
  /** Whether its VM is gone cannot be told. */
  'VM missing',
  'VM gone',
  /** The API server is deleting it. */
  'deleting',
  /** Rollcall leaves it alone: another provider's, or without a report. */
  'unmanaged',
  /** Reports cannot be read. */
  'unknown',
] as const

export interface NodeStatus {
  readonly name: string
  readonly state: (typeof STATES)[number]
  /** What is pending or holds it, as the leader said it; nothing where all is well. */
  readonly pending:
    | {
        /** That says so; undefined where none does. */
        readonly condition: ConditionType | undefined
        readonly reason: string
        readonly message: string
      }
    | undefined
  readonly level: IdentityLevel | undefined
  readonly vCenter: string | undefined
  readonly datacenter: string | undefined
  readonly cluster: string | undefined
  readonly host: string | undefined
  /** Its name in vCenter. */
  readonly vm: string | undefined
  /** As last decided; undefined where that is not known. */
  readonly power: 'on' | 'off' | 'suspended' | undefined
  readonly zone: string | undefined
  readonly region: string | undefined
  /** Of the condition Ready. */
  readonly ready: string
  /** The version of the agent that reports from it; undefined where none does. */
  readonly agentVersion: string | undefined
  /** The vCenter for which the brake holds it. */
  readonly brakeEngagedFor: string | undefined
}

/** @param read undefined where there is no report, `unread` where reports cannot be read */
export function statusOf(node: Node, read: NodeReport | undefined | 'unread'): NodeStatus {
  const report = read === 'unread' ? undefined : read
  const { vm, identityLevel, topology, brakeEngagedFor, conditions = [] } = previousStatus(report, node)
  return {
    name: node.name,
    ...judge(node, read, conditions),
    level: identityLevel,
    vCenter: vm?.vCenter,
    datacenter: vm?.datacenter,
    cluster: vm?.cluster,
    host: vm?.host,
    vm: vm?.name,
    // Of a VM that the Node was never verified to be, nothing is followed.
    power:
      identityLevel === undefined || contradictsTaint(node, conditions) ? undefined : powerOf(conditions),
    zone: node.labels[LABEL_ZONE] ?? topology?.zone,
    region: node.labels[LABEL_REGION] ?? topology?.region,
    ready: node.ready?.status ?? 'Unknown',
    agentVersion: agentVersionOf(specOf(report, node)),
    brakeEngagedFor,
  }
}

function judge(
  node: Node,
  report: NodeReport | undefined | 'unread',
  conditions: readonly Condition[],
): Pick<NodeStatus, 'state' | 'pending'> {
  if (node.deleting) return { state: 'deleting', pending: keptBy(node) }
  if (report === 'unread') return { state: 'unknown', pending: undefined }
  if (report === undefined) return withoutReport(node)
  const find = (type: ConditionType) => conditions.find((each) => each.type === type)
  const deletion = find('DeletionPending')
  if (deletion !== undefined && deletion.status !== 'False')
    return { state: deletion.status === 'True' ? 'VM gone' : 'VM missing', pending: pendingOf(deletion) }
  const initialized = find('Initialized')
  if (needsInitialization(node)) {
    const pending = initialized?.status === 'False' ? pendingOf(initialized) : undefined
    return { state: 'waiting', pending: pending ?? undecided(node, report, conditions) }
  }
  const doubted = [find('VMFound'), find('IdentityVerified')].find((each) => each?.status !== 'True')
  if (doubted !== undefined) return { state: 'doubted', pending: pendingOf(doubted) }
  const found = find('VMFound')
  const power = powerOf(conditions)
  if (found !== undefined && (power === 'off' || power === 'suspended')) {
    // Where it is not accepted, the Node has no taint that says so.
    const refused = initialized?.status !== 'True' ? initialized : undefined
    return { state: 'VM off', pending: pendingOf(refused ?? found) }
  }
  if (contradictsTaint(node, conditions))
    return {
      state: 'initialized',
      pending: {
        condition: undefined,
        reason: 'NotDecidedYet' satisfies Reason,
        message: `the Node has the taint ${TAINT_SHUTDOWN}, and its report says that its VM runs: the report is old, or the taint is somebody else's`,
      },
    }
  // It runs, and something is to be told all the same.
  const told = (
    [
      'VMUnique',
      'AddressesResolved',
      'TopologyResolved',
      'LabelsResolved',
      'Initialized',
      'DeletionPossible',
      'AgentReports',
      'ServingCertificate',
    ] as const
  )
    .map(find)
    .find((each) => each !== undefined && each.status !== 'True' && each.reason !== 'NotConfigured')
  return { state: 'initialized', pending: told ? pendingOf(told) : undecided(node, report, conditions) }
}

function keptBy(node: Node): NodeStatus['pending'] {
  const message = node.finalizers.length === 0 ? undefined : deletionHangs(node)
  const reason: Reason = 'FinalizersRemain'
  return message === undefined ? undefined : { condition: undefined, reason, message }
}

function withoutReport(node: Node): Pick<NodeStatus, 'state' | 'pending'> {
  const scheme = judgeProviderID(node.providerID, undefined)
  if (scheme === 'foreign') {
    const message = "its provider ID is another provider's"
    return { state: 'unmanaged', pending: { condition: undefined, reason: 'ForeignProviderID', message } }
  }
  if (scheme === 'malformed') {
    const message = "its provider ID is not vsphere:// and a UUID: correct the kubelet's --provider-id"
    return { state: 'waiting', pending: { condition: undefined, reason: 'ProviderIDMalformed', message } }
  }
  if (!hasUninitializedTaint(node)) return { state: 'unmanaged', pending: undefined }
  const message = isWindows(node)
    ? `there is no NodeReport with its name: ${addAgent(node)}`
    : `there is no NodeReport with its name: check its agent, or ${addAgent(node)}`
  return { state: 'waiting', pending: { condition: undefined, reason: 'NoReport', message } }
}

/** The Node is written before its report, and the report may be refused. */
function contradictsTaint(node: Node, conditions: readonly Condition[]): boolean {
  return node.taints.some(isShutdownTaint) && powerOf(conditions) === 'on'
}

/** Why a report has no conditions that are about this Node. */
function undecided(
  node: Node,
  { spec }: NodeReport,
  conditions: readonly Condition[],
): NodeStatus['pending'] {
  if (conditions.length > 0) return undefined
  const say = (reason: Reason, message: string) => ({ condition: undefined, reason, message })
  if (!spec.ok) return say('ReportInvalid', spec.problems.join('; '))
  if (isAgentless(spec.value))
    return say('NoReport', `no agent reports from it, and nothing was verified: ${addAgent(node)}`)
  if (spec.value.nodeUID !== node.uid)
    return say(
      'ReportOfFormerNode',
      `the report is about a former Node of this name, UID ${spec.value.nodeUID}`,
    )
  return say('NotDecidedYet', 'no leader has decided on its report yet, or could not write what it decided')
}

function pendingOf({ type, reason, message }: Condition): NodeStatus['pending'] {
  return { condition: type, reason, message }
}

const POWER: Readonly<Partial<Record<string, NodeStatus['power']>>> = {
  VMFound: 'on',
  VMRuns: 'on',
  VMPoweredOff: 'off',
  VMSuspended: 'suspended',
}

function powerOf(conditions: readonly Condition[]): NodeStatus['power'] {
  const found = conditions.find(({ type }) => type === 'VMFound')
  // Of a VM that is not found, the last that was said is not what is so now.
  if (found?.status !== 'True' || conditions.some(isMissing)) return undefined
  return Object.hasOwn(POWER, found.reason) ? POWER[found.reason] : undefined
}

function isMissing({ type, status }: Condition): boolean {
  return type === 'DeletionPending' && status !== 'False'
}
