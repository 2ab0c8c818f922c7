import type { NodeReportSpec } from '../../../../agent/shared/node-report.ts'
import { printable } from '../../../../agent/shared/printable.ts'
import { requiredLevel } from '../../../config/config.ts'
import { type ConditionValue, no } from '../../../types/condition-value.ts'
import type { NodeReport } from '../../../types/node.ts'
import { TAINT_UNINITIALIZED } from '../../../types/well-known.ts'
import { hasUninitializedTaint, needsInitialization } from '../facts/needs-initialization.ts'
import { addAgent, agentlessReport, isWindows } from '../facts/previous-status.ts'
import { judgeProviderID } from '../facts/provider-id.ts'
import type { Decision } from './decision.ts'
import { warning } from './node-events.ts'
import type { NodeFacts, Rival } from './node-facts.ts'
import type { RefusalDetails } from './refuse.ts'

/** Whether a Node that has a report is ours to decide on; otherwise the first thing that is wrong with it. */
export function judgeOwnership(
  report: NodeReport,
  { node }: Pick<NodeFacts, 'node'>,
):
  | { readonly kind: 'ours'; readonly spec: NodeReportSpec }
  | ({ readonly kind: 'refused' } & RefusalDetails) {
  const scheme = judgeProviderID(node.providerID, undefined)
  if (scheme === 'foreign') return refused(foreignProviderID(node), { ends: true })
  if (scheme === 'malformed') return refused(malformedProviderID(node), { ends: true })
  if (scheme === 'absent' && !hasUninitializedTaint(node)) return refused(asksForNothing(node))
  if (!report.spec.ok) return refused(invalid(report.spec.problems))
  const { value: spec } = report.spec
  if (spec.nodeUID !== node.uid) return refused(ofFormerNode(spec, node))
  return { kind: 'ours', spec }
}

/** @param ends what was verified before remains valid, unless it is said to end */
function refused(condition: ConditionValue, { ends } = { ends: false }) {
  return { kind: 'refused', type: 'IdentityVerified', condition, ends } as const
}

function foreignProviderID({ providerID = '' }: NodeFacts['node']): ConditionValue {
  return no(
    'ForeignProviderID',
    `the Node's provider ID ${printable(providerID, 80)} is another provider's and cannot change; start the kubelet without --provider-id and with --cloud-provider=external, then delete the Node and restart the kubelet`,
  )
}

/** The kubelet must be corrected first: otherwise it registers the deleted Node again with the same provider ID. */
function malformedProviderID({ name, providerID = '' }: NodeFacts['node']): ConditionValue {
  return no(
    'ProviderIDMalformed',
    `the Node's provider ID ${printable(providerID, 80)} is not vsphere:// and the VM's UUID with its dashes, and cannot change; correct the kubelet's --provider-id or leave it out, and only then: kubectl delete node ${name}, and restart the kubelet`,
  )
}

/**
 * Pods may run on it. And `policy-update-node.yaml` lets the controller set a provider ID only on a Node with this taint:
 * otherwise whoever stole the controller's token could turn any provider's Node into a vSphere Node.
 */
function asksForNothing({ name }: NodeFacts['node']): ConditionValue {
  return no(
    'RegisteredUntainted',
    `the Node was registered without the taint ${TAINT_UNINITIALIZED}, so pods may run there unverified; start its kubelet with --cloud-provider=external, then run: kubectl taint node ${name} ${TAINT_UNINITIALIZED}=true:NoSchedule`,
  )
}

function invalid(problems: readonly string[]): ConditionValue {
  return no(
    'ReportInvalid',
    `${problems.join('; ')}; run the agent version that matches this controller, and apply its CRD`,
  )
}

function ofFormerNode({ nodeUID }: NodeReportSpec, { uid }: NodeFacts['node']): ConditionValue {
  return no(
    'ReportOfFormerNode',
    `the report is about a Node with UID ${nodeUID}, this one has ${uid}; wait for the agent's next refresh, or restart it`,
  )
}

/** How long a new Node may be without a report before a warning: an agent starts within this time. */
const REPORT_GRACE_MS = 60_000

const UNMANAGED: Decision = { state: 'unmanaged', events: [], requeue: false }

/**
 * What becomes of a Node that has no report. Nodes of another provider and Nodes without an agent are left alone silently
 * (kubernetes/cloud-provider-vsphere#538), unless they wait for a cloud provider.
 */
export function decideUnreported({
  node,
  rivals,
  settings,
  now,
}: Pick<NodeFacts, 'node' | 'rivals' | 'settings' | 'now'>): Decision {
  const scheme = judgeProviderID(node.providerID, undefined)
  // No report is needed to see this, and without an agent nothing else would say it.
  if (scheme === 'malformed') return awaitReport(malformedProviderID(node), 0)
  const tainted = hasUninitializedTaint(node)
  if (scheme === 'foreign' || (!tainted && scheme === 'absent')) return UNMANAGED
  if (requiredLevel(node, settings.identity) === 'asserted') return createReport(node)
  if (!tainted) return unspokenFor(rivals, node, settings)
  if (settings.lifecycle.unbound === 'delete' && node.ready?.status === 'Unknown') return createReport(node)
  return awaitReport(noReport(node), graceLeft(node, now))
}

/**
 * Makes the report of a Node that needs one by this controller: either it may do without an agent, or it never had one and its
 * machine may be gone, which the report is then the place to tell.
 */
function createReport(node: NodeFacts['node']): Decision {
  const state = needsInitialization(node) ? 'waiting' : 'initialized'
  return { state, create: agentlessReport(node), events: [], requeue: false }
}

/** @param saidIn milliseconds until the condition is worth an Event; 0 for now */
function awaitReport(condition: ConditionValue, saidIn: number): Decision {
  return {
    state: 'waiting',
    refusal: { condition: 'Initialized', reason: condition.reason },
    ...(saidIn === 0
      ? { events: [warning(condition)], requeue: true }
      : { events: [], requeue: false, requeueAfter: saidIn }),
  }
}

function noReport(node: NodeFacts['node']): ConditionValue {
  return no(
    'NoReport',
    isWindows(node)
      ? `no agent reports from this Node, and the configuration requires one: ${addAgent(node)}`
      : `no NodeReport named ${node.name}; check that rollcall-agent runs on the node and what it logs, restart it if the Node was registered again, or delete the Node if its machine is gone; if there is no agent, ${addAgent(node)}`,
  )
}

/** Milliseconds; never more than the whole, should the clocks differ. */
function graceLeft({ creationTimestamp }: NodeFacts['node'], now: number): number {
  const left = Date.parse(creationTimestamp) + REPORT_GRACE_MS - now
  return Math.min(Math.max(left, 0), REPORT_GRACE_MS)
}

/**
 * A Node that somebody has initialized and for which no agent reports, or whose report was deleted. It is left alone while
 * its kubelet calls it Ready, with two exceptions: its provider ID is that of a verified Node, or its machine must be known
 * in case it vanishes (`lifecycle.unbound: delete`).
 */
function unspokenFor(
  rivals: readonly Rival[],
  node: NodeFacts['node'],
  { lifecycle }: NodeFacts['settings'],
): Decision {
  const holder = rivals.find(({ boundTo }) => boundTo !== undefined)
  if (holder === undefined) {
    const silent = node.ready?.status === 'Unknown'
    return silent || lifecycle.unbound === 'delete' ? createReport(node) : UNMANAGED
  }
  const condition = no(
    'VMHasAnotherNode',
    `the provider ID is that of Node ${holder.name}'s VM, and no agent reports from here; delete this Node unless its machine was renamed, and find out who registered it`,
  )
  return awaitReport(condition, 0)
}
