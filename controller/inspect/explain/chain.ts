import type { BoundVM, Condition, ConditionType } from '../../../agent/shared/node-report.ts'
import type { LeaseRecord } from '../../kubernetes/lease.ts'
import { MAX_SKEW } from '../../kubernetes/lease-holder.ts'
import { CLOCK_TROUBLE } from '../../kubernetes/lease-troubles.ts'
import { age } from '../../lib/format.ts'
import { describeBound } from '../../loops/node/decide/bound-vm.ts'
import type { Decision } from '../../loops/node/decide/decision.ts'
import { hasUninitializedTaint } from '../../loops/node/facts/needs-initialization.ts'
import { isAgentless, previousStatus } from '../../loops/node/facts/previous-status.ts'
import { deletionHangs } from '../../loops/node/facts/removal.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import type { NodePlan } from '../plan/node-plan.ts'
import type { LeaderTroubles } from '../status/leader.ts'

/** All that an explanation is made from. */
export interface ExplainFacts {
  readonly node: Node
  /** Undefined where there is none. */
  readonly report: NodeReport | undefined
  readonly reportsRead: boolean
  /** The Lease that its kubelet renews: undefined where there is none, `unread` where it could not be read. */
  readonly kubelet: LeaseRecord | undefined | 'unread'
  /** Who leads, in one line. */
  readonly leader: string
  /** Undefined where that is not known. */
  readonly leads?: boolean
  /** What the leader says of itself. */
  readonly troubles?: LeaderTroubles | undefined
  readonly asked: boolean
  /** What a leader would decide now; undefined where vCenter was not asked, or nothing came of it. */
  readonly fresh: { readonly decision: Decision | undefined; readonly plan: NodePlan } | undefined
  /** What was taken for granted by that look, and may be otherwise. */
  readonly assumed: readonly string[]
  /** What could not be found out, and why. */
  readonly unknown: readonly string[]
  /** Milliseconds since the epoch. */
  readonly now: number
}

/** One link of the chain from the machine to the decision. */
export interface ChainStep {
  readonly name: string
  readonly state: 'ok' | 'no' | 'unknown'
  /** What is so, in plain words. */
  readonly says: readonly string[]
}

/** A kubelet renews its Lease every ten seconds; the node lifecycle controller gives it up after fifty, milliseconds. */
const SILENT_AFTER = 50_000
/** Of a Ready Node, a Lease that seems older than this has times by a clock that is wrong, milliseconds. */
const DOUBTED_AFTER = 180_000

/** The chain of evidence, from the machine to the decision. */
export function chainOf(facts: ExplainFacts): readonly ChainStep[] {
  const { node, report } = facts
  const { vm } = previousStatus(report, node)
  const seen = vm === undefined ? [] : [`last seen as ${describeBound(vm)}${placeOf(vm)}`]
  return [
    nodeStep(facts),
    kubeletStep(facts),
    ...(facts.reportsRead ? [reportStep(facts)] : []),
    ...conditionStep('VM', 'VMFound', facts, seen),
    ...conditionStep('copies', 'VMUnique', facts),
    ...conditionStep('identity', 'IdentityVerified', facts),
    ...conditionStep('topology', 'TopologyResolved', facts),
    ...conditionStep('labels', 'LabelsResolved', facts),
    ...conditionStep('addresses', 'AddressesResolved', facts),
    ...conditionStep('initialized', 'Initialized', facts),
    ...conditionStep('agent', 'AgentReports', facts),
    ...conditionStep('provable', 'DeletionPossible', facts),
    ...conditionStep('deletion', 'DeletionPending', facts),
    ...conditionStep('certificate', 'ServingCertificate', facts),
    ...(facts.fresh === undefined ? [] : [wouldStep(facts.fresh.plan)]),
  ]
}

function nodeStep({ node, now }: ExplainFacts): ChainStep {
  const { ready, providerID, uid, creationTimestamp, deletionAnnotation, taints } = node
  const hangs = deletionHangs(node)
  const since = ready?.lastTransitionTime ? ` for ${age(ready.lastTransitionTime, now)}` : ''
  return {
    name: 'Node',
    state: ready?.status === 'True' ? 'ok' : 'no',
    says: [
      `registered ${age(creationTimestamp, now)} ago, UID ${uid}; Ready is ${ready?.status ?? 'not reported'}${since}; provider ID ${providerID ?? 'none'}`,
      ...(hasUninitializedTaint(node) ? ['has the taint of Nodes that wait for a cloud provider'] : []),
      ...taints
        .filter(({ key }) => TOLD_TAINTS.test(key))
        .map(({ key, effect }) => `has the taint ${key}:${effect}`),
      ...(deletionAnnotation === undefined ? [] : [`rollcall.dev/deletion=${deletionAnnotation}`]),
      ...(hangs === undefined ? [] : [hangs]),
    ],
  }
}

/** Those that Rollcall sets, and those by which an autoscaler removes a machine. */
const TOLD_TAINTS =
  /^(node\.cloudprovider\.kubernetes\.io\/shutdown|node\.kubernetes\.io\/out-of-service|ToBeDeletedByClusterAutoscaler|karpenter\.sh\/disrupted)$/

function kubeletStep({ node, kubelet, now }: ExplainFacts): ChainStep {
  if (kubelet === 'unread')
    return { name: 'kubelet', state: 'unknown', says: ['its Lease could not be read'] }
  if (kubelet === undefined)
    return {
      name: 'kubelet',
      state: 'unknown',
      says: [
        node.ready?.status === 'True'
          ? 'has no Lease in kube-node-lease, although the Node is Ready: see the log of its kubelet'
          : 'has no Lease in kube-node-lease: it has not run yet',
      ],
    }
  const ago = now - Date.parse(kubelet.renewTime)
  const step = (says: string) => ({ name: 'kubelet', state: 'unknown', says: [says] }) as const
  const at = `renewed its Lease at ${kubelet.renewTime} by its own clock`
  if (ago < -MAX_SKEW)
    return step(`${at}, which is minutes ahead of that of the API server: check NTP on the machine`)
  // The node lifecycle controller sees it renewed, and does not go by its clock.
  if (node.ready?.status === 'True' && ago > DOUBTED_AFTER)
    return step(
      `${at}, which is ${age(kubelet.renewTime, now)} ago, but the Node is Ready: that clock is behind (check NTP on the machine), or no kube-controller-manager runs`,
    )
  const silent = !(ago < SILENT_AFTER)
  const says = `renewed its Lease ${age(kubelet.renewTime, now)} ago`
  return {
    name: 'kubelet',
    state: silent ? 'no' : 'ok',
    says: [silent ? `${says}, and has been silent since` : says],
  }
}

function reportStep(facts: ExplainFacts): ChainStep {
  const { node, report } = facts
  const step = (state: ChainStep['state'], ...says: readonly string[]): ChainStep => ({
    name: 'report',
    state,
    says,
  })
  if (report === undefined) return step('no', `there is no NodeReport named ${node.name}`)
  const { spec, reportedAt } = report
  if (!spec.ok) return step('no', ...spec.problems.map((problem) => `the NodeReport is invalid: ${problem}`))
  const { nodeUID, agentVersion, machine, interfaces, claim, unreadable = [] } = spec.value
  if (isAgentless(spec.value))
    return step('unknown', 'made by the controller: no agent has reported from this node')
  const macs = interfaces.map(({ mac }) => mac).join(', ')
  const when = reportedAt === undefined ? '' : `, ${sayWhen(reportedAt, facts)}`
  return step(
    nodeUID === node.uid ? 'ok' : 'no',
    `of agent ${agentVersion}${when}: BIOS UUID ${machine.serialUUID ?? 'not read'}, MACs ${macs || 'none'}`,
    ...(nodeUID === node.uid ? [] : [`it is about a former Node of this name, UID ${nodeUID}`]),
    claim.written
      ? 'the claim is written into guestinfo'
      : `the claim is not written: ${claim.reason}: ${claim.message}`,
    ...unreadable.map(({ fact, reason, message }) => `it could not read ${fact}: ${reason}: ${message}`),
    ...undecided(report, node.uid),
  )
}

/** How long ago that was, where it can be told by one clock. */
function sayWhen(reportedAt: string, facts: ExplainFacts): string {
  const at = Date.parse(reportedAt)
  const present = presentThere(facts)
  if (present !== undefined && at - present <= MAX_SKEW) return `${age(reportedAt, present)} ago`
  const ahead = at - facts.now > MAX_SKEW ? ', which is minutes ahead of that of the API server' : ''
  return `at ${reportedAt} by its own clock${ahead}`
}

/**
 * The present time by the machine's clock, which both the agent and the kubelet write: a kubelet that lives has just renewed its
 * Lease. Undefined where that is not known.
 */
function presentThere({ node, kubelet, now }: ExplainFacts): number | undefined {
  // Without a kubelet's Lease the clocks are taken to agree.
  if (kubelet === undefined) return now
  if (kubelet === 'unread') return undefined
  const renewed = Date.parse(kubelet.renewTime)
  if (Math.abs(now - renewed) <= MAX_SKEW) return now
  return node.ready?.status === 'True' && Number.isFinite(renewed) ? renewed : undefined
}

function undecided({ status, generation }: NodeReport, uid: string): readonly string[] {
  if (status.nodeUID !== uid) return ['no leader has decided on it yet, or could not write what it decided']
  const { observedGeneration } = status
  return observedGeneration === undefined || observedGeneration >= generation
    ? []
    : ['it has changed since a leader last decided on it']
}

function conditionStep(
  name: string,
  type: ConditionType,
  facts: ExplainFacts,
  more: readonly string[] = [],
): readonly ChainStep[] {
  const { node, report, fresh } = facts
  const find = (conditions: readonly Condition[] = []) => conditions.find((each) => each.type === type)
  const written = find(previousStatus(report, node).conditions)
  const current = find(fresh?.decision?.status?.conditions)
  const changed =
    current !== undefined &&
    (current.status !== written?.status || current.reason !== written.reason) &&
    !REASONS_OF_LEADER.has(written?.reason ?? '')
  if (written === undefined && !changed && more.length === 0) return []
  return [
    {
      name,
      state: written === undefined ? 'unknown' : stateOf(written),
      says: [
        ...(written === undefined ? [] : [`${wordsOf(written)} (${lastsFor(written, facts)})`]),
        ...more,
        ...(changed ? [`asked now: ${wordsOf(current)}`] : []),
      ],
    },
  ]
}

/** If the leader's clock is off, the time that it wrote says nothing about how long ago that was. */
function lastsFor({ lastTransitionTime: since }: Condition, { troubles, now }: ExplainFacts): string {
  const isOff =
    Date.parse(since) - now > MAX_SKEW || troubles?.troubles.some(({ key }) => key === CLOCK_TROUBLE) === true
  return isOff ? `since ${since} by the leader's clock` : `for ${age(since, now)}`
}

/** What only the leader can know: a look at vCenter says nothing against it. */
const REASONS_OF_LEADER: ReadonlySet<string> = new Set([
  'PolicyNotInForce',
  'NodePatchRefused',
  'NodeWritesSlow',
  'ReportRefused',
  'DeletionRefused',
  'AgentSilent',
])

function stateOf({ type, status }: Condition): ChainStep['state'] {
  if (status === 'Unknown') return 'unknown'
  // The only condition that is bad when True.
  return (status === 'True') === (type !== 'DeletionPending') ? 'ok' : 'no'
}

function wordsOf({ reason, message }: Condition): string {
  return `${reason}: ${message}`
}

function placeOf(vm: Pick<BoundVM, 'datacenter' | 'cluster' | 'host'>): string {
  const places = (['datacenter', 'cluster', 'host'] as const).filter((each) => vm[each] !== undefined)
  return places.map((each) => `, ${each} ${vm[each]}`).join('')
}

/** What the leader would do now. */
function wouldStep({ changes }: NodePlan): ChainStep {
  const says = changes.map(({ what, from, to }) => {
    if (to === undefined) return `would remove ${what}: ${from}`
    return from === undefined ? `would set ${what}: ${to}` : `would change ${what}: ${from} -> ${to}`
  })
  return { name: 'plan', state: 'ok', says: says.length === 0 ? ['would change nothing'] : says }
}
