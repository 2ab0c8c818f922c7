import type { NodeReportSpec } from '../../../../agent/shared/node-report.ts'
import { printable } from '../../../../agent/shared/printable.ts'
import { requiredLevel } from '../../../config/config.ts'
import type { NodeReport } from '../../../types/node.ts'
import { TAINT_UNINITIALIZED } from '../../../types/well-known.ts'
import { hasUninitializedTaint } from '../facts/needs-initialization.ts'
import { addAgent, isWindows } from '../facts/previous-status.ts'
import { judgeProviderID } from '../facts/provider-id.ts'
import { type ConditionValue, no } from './condition-value.ts'
import type { NodeFacts, Rival } from './node-facts.ts'
import type { RefusalDetails } from './refuse.ts'

/** There is no report to decide on, or the Node is not ours. */
export type WithoutReport =
  /** Not our Node: it is left alone. */
  | { readonly kind: 'unmanaged' }
  /**
   * A Node that needs a report made by this controller: either it may do without an agent, or it never had one and its
   * machine may be gone, which the report is then the place to tell.
   */
  | { readonly kind: 'agentless' }
  /** Waits for a report that has not come yet. */
  | {
      readonly kind: 'waiting'
      readonly condition: ConditionValue
      /** Milliseconds until that is worth an Event; 0 for now. */
      readonly saidIn: number
    }

export type Ownership =
  | WithoutReport
  /** Ours to decide on, with a valid report. */
  | { readonly kind: 'ours'; readonly report: NodeReport; readonly spec: NodeReportSpec }
  /** The report or the Node is invalid. */
  | ({ readonly kind: 'refused'; readonly report: NodeReport } & RefusalDetails)

/** How long a new Node may be without a report before a warning: an agent starts within this time. */
const REPORT_GRACE_MS = 60_000

/**
 * Whether a Node is Rollcall's. Nodes of another provider and Nodes without an agent are left alone silently
 * (kubernetes/cloud-provider-vsphere#538), unless they wait for a cloud provider or have a report.
 */
export function judgeOwnership({ node, report, rivals, settings, now }: NodeFacts): Ownership {
  const scheme = judgeProviderID(node.providerID, undefined)
  const foreign = scheme === 'foreign'

  if (report === undefined) {
    // No report is needed to see this, and without an agent nothing else would say it.
    if (scheme === 'malformed') return { kind: 'waiting', condition: malformedProviderID(node), saidIn: 0 }
    const tainted = hasUninitializedTaint(node)
    if (foreign || (!tainted && scheme === 'absent')) return { kind: 'unmanaged' }
    if (requiredLevel(node, settings.identity) === 'asserted') return { kind: 'agentless' }
    if (!tainted) return unspokenFor(rivals, node, settings)
    if (settings.lifecycle.unbound === 'delete' && node.ready?.status === 'Unknown')
      return { kind: 'agentless' }
    return {
      kind: 'waiting',
      condition: no(
        'NoReport',
        isWindows(node)
          ? `no agent reports from this Node, and the configuration requires one: ${addAgent(node)}`
          : `no NodeReport named ${node.name}; check that rollcall-agent runs on the node and what it logs, restart it if the Node was registered again, or delete the Node if its machine is gone; if there is no agent, ${addAgent(node)}`,
      ),
      saidIn: graceLeft(node, now),
    }
  }
  if (foreign) {
    const condition = no(
      'ForeignProviderID',
      `the Node's provider ID ${printable(node.providerID ?? '', 80)} is another provider's and cannot change; start the kubelet without --provider-id and with --cloud-provider=external, then delete the Node and restart the kubelet`,
    )
    return refused(report, condition, { ends: true })
  }
  if (scheme === 'malformed') return refused(report, malformedProviderID(node), { ends: true })
  if (scheme === 'absent' && !hasUninitializedTaint(node)) return refused(report, asksForNothing(node))
  if (!report.spec.ok) {
    const condition = no(
      'ReportInvalid',
      `${report.spec.problems.join('; ')}; run the agent version that matches this controller, and apply its CRD`,
    )
    return refused(report, condition)
  }
  const { value: spec } = report.spec
  if (spec.nodeUID !== node.uid) {
    const condition = no(
      'ReportOfFormerNode',
      `the report is about a Node with UID ${spec.nodeUID}, this one has ${node.uid}; wait for the agent's next refresh, or restart it`,
    )
    return refused(report, condition)
  }
  return { kind: 'ours', report, spec }
}

/** Milliseconds; never more than the whole, should the clocks differ. */
function graceLeft({ creationTimestamp }: NodeFacts['node'], now: number): number {
  const left = Date.parse(creationTimestamp) + REPORT_GRACE_MS - now
  return Math.min(Math.max(left, 0), REPORT_GRACE_MS)
}

/** @param ends what was verified before stands, unless it is said to end */
function refused(report: NodeReport, condition: ConditionValue, { ends } = { ends: false }): Ownership {
  return { kind: 'refused', report, type: 'IdentityVerified', condition, ends }
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

/**
 * A Node that somebody has initialized and for which no agent reports, or whose report was deleted. It is left alone while
 * its kubelet calls it Ready, with two exceptions: its provider ID is that of a verified Node, or its machine must be known
 * in case it vanishes (`lifecycle.unbound: delete`).
 */
function unspokenFor(
  rivals: readonly Rival[],
  node: NodeFacts['node'],
  { lifecycle }: NodeFacts['settings'],
): WithoutReport {
  const holder = rivals.find(({ boundTo }) => boundTo !== undefined)
  if (holder === undefined) {
    const silent = node.ready?.status === 'Unknown'
    return { kind: silent || lifecycle.unbound === 'delete' ? 'agentless' : 'unmanaged' }
  }
  const condition = no(
    'VMHasAnotherNode',
    `the provider ID is that of Node ${holder.name}'s VM, and no agent reports from here; delete this Node unless its machine was renamed, and find out who registered it`,
  )
  return { kind: 'waiting', condition, saidIn: 0 }
}
