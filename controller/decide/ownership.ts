import type { NodeFacts } from './facts.ts'
import { printable } from './printable.ts'
import { judgeProviderID } from './provider-id.ts'
import { no, type Verdict } from './verdict.ts'
import { TAINT_UNINITIALIZED } from './well-known.ts'

export type Ownership =
  /** Ours to decide on, with a valid report. */
  | { readonly kind: 'ours' }
  /** None of our business; nothing is said. */
  | { readonly kind: 'invisible' }
  /** Waits for a report that has not come yet. */
  | { readonly kind: 'waiting'; readonly verdict: Verdict; readonly loud: boolean }
  /** The report or the Node is wrong in itself. */
  | { readonly kind: 'refused'; readonly verdict: Verdict }

/** How long a new Node may be without a report before it is said aloud: an agent starts within this. */
const REPORT_GRACE_MS = 60_000

/**
 * Whether a Node is Rollcall's. Nodes of another provider and those that no agent speaks for are left alone without
 * a word (kubernetes/cloud-provider-vsphere#538), unless they ask for a cloud provider or have an agent.
 */
export function judgeOwnership({ node, report, now }: NodeFacts): Ownership {
  if (node.deleting) return { kind: 'invisible' }
  const uninitialized = node.taints.some(({ key }) => key === TAINT_UNINITIALIZED)
  const foreign = judgeProviderID(node.providerID, undefined) === 'foreign'

  if (report === undefined) {
    if (!uninitialized || foreign) return { kind: 'invisible' }
    return {
      kind: 'waiting',
      verdict: no(
        'NoReport',
        `no NodeReport named ${node.name}: see that rollcall-agent runs on the node and what it logs; restart it if the Node was deleted and registered anew`,
      ),
      loud: now - Date.parse(node.creationTimestamp) >= REPORT_GRACE_MS,
    }
  }
  if (foreign) {
    return {
      kind: 'refused',
      verdict: no(
        'ForeignProviderID',
        `the Node's provider ID ${printable(node.providerID ?? '', 80)} is another provider's and cannot change; start the kubelet without --provider-id and with --cloud-provider=external, delete the Node and let it register anew`,
      ),
    }
  }
  if (!report.spec.ok) {
    return {
      kind: 'refused',
      verdict: no(
        'ReportInvalid',
        `${report.spec.problems.join('; ')}; run the agent version that belongs to this controller`,
      ),
    }
  }
  if (report.spec.spec.nodeUID !== node.uid) {
    return {
      kind: 'refused',
      verdict: no(
        'ReportOfFormerNode',
        `the report is about a Node with UID ${report.spec.spec.nodeUID}, this one's is ${node.uid}; the agent reports anew at its next refresh, restart it to have that at once`,
      ),
    }
  }
  return { kind: 'ours' }
}
