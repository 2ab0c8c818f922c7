import { requiredLevel } from '../../../config/config.ts'
import { hasUninitializedTaint } from '../facts/needs-initialization.ts'
import { addAgent, isWindows } from '../facts/previous-status.ts'
import { judgeProviderID } from '../facts/provider-id.ts'
import { type ConditionValue, no } from './condition-value.ts'
import type { NodeFacts, Rival } from './node-facts.ts'
import { malformedProviderID } from './ownership.ts'

/** What becomes of a Node without a report. */
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

/** How long a new Node may be without a report before a warning: an agent starts within this time. */
const REPORT_GRACE_MS = 60_000

/**
 * Whether a Node that has no report is Rollcall's. Nodes of another provider and Nodes without an agent are left alone silently
 * (kubernetes/cloud-provider-vsphere#538), unless they wait for a cloud provider.
 */
export function judgeUnreported({
  node,
  rivals,
  settings,
  now,
}: Pick<NodeFacts, 'node' | 'rivals' | 'settings' | 'now'>): WithoutReport {
  const scheme = judgeProviderID(node.providerID, undefined)
  // No report is needed to see this, and without an agent nothing else would say it.
  if (scheme === 'malformed') return { kind: 'waiting', condition: malformedProviderID(node), saidIn: 0 }
  const tainted = hasUninitializedTaint(node)
  if (scheme === 'foreign' || (!tainted && scheme === 'absent')) return { kind: 'unmanaged' }
  if (requiredLevel(node, settings.identity) === 'asserted') return { kind: 'agentless' }
  if (!tainted) return unspokenFor(rivals, node, settings)
  if (settings.lifecycle.unbound === 'delete' && node.ready?.status === 'Unknown')
    return { kind: 'agentless' }
  return { kind: 'waiting', condition: noReport(node), saidIn: graceLeft(node, now) }
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
