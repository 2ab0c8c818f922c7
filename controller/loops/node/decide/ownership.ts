import type { NodeReportSpec } from '../../../../agent/shared/node-report.ts'
import { printable } from '../../../../agent/shared/printable.ts'
import type { NodeReport } from '../../../types/node.ts'
import { TAINT_UNINITIALIZED } from '../../../types/well-known.ts'
import { hasUninitializedTaint } from '../facts/needs-initialization.ts'
import { judgeProviderID } from '../facts/provider-id.ts'
import { type ConditionValue, no } from './condition-value.ts'
import type { NodeFacts } from './node-facts.ts'
import type { RefusalDetails } from './refuse.ts'

export type Ownership =
  /** Ours to decide on, with a valid report. */
  | { readonly kind: 'ours'; readonly report: NodeReport; readonly spec: NodeReportSpec }
  /** The report or the Node is invalid. */
  | ({ readonly kind: 'refused'; readonly report: NodeReport } & RefusalDetails)

/** Whether a Node that has a report is ours to decide on; otherwise the first thing that is wrong with it. */
export function judgeOwnership(report: NodeReport, { node }: Pick<NodeFacts, 'node'>): Ownership {
  const scheme = judgeProviderID(node.providerID, undefined)
  if (scheme === 'foreign') return refused(report, foreignProviderID(node), { ends: true })
  if (scheme === 'malformed') return refused(report, malformedProviderID(node), { ends: true })
  if (scheme === 'absent' && !hasUninitializedTaint(node)) return refused(report, asksForNothing(node))
  if (!report.spec.ok) return refused(report, invalid(report.spec.problems))
  const { value: spec } = report.spec
  if (spec.nodeUID !== node.uid) return refused(report, ofFormerNode(spec, node))
  return { kind: 'ours', report, spec }
}

/** @param ends what was verified before remains valid, unless it is said to end */
function refused(report: NodeReport, condition: ConditionValue, { ends } = { ends: false }): Ownership {
  return { kind: 'refused', report, type: 'IdentityVerified', condition, ends }
}

function foreignProviderID({ providerID = '' }: NodeFacts['node']): ConditionValue {
  return no(
    'ForeignProviderID',
    `the Node's provider ID ${printable(providerID, 80)} is another provider's and cannot change; start the kubelet without --provider-id and with --cloud-provider=external, then delete the Node and restart the kubelet`,
  )
}

/** The kubelet must be corrected first: otherwise it registers the deleted Node again with the same provider ID. */
export function malformedProviderID({ name, providerID = '' }: NodeFacts['node']): ConditionValue {
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
