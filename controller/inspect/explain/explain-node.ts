import { previousStatus } from '../../loops/node/facts/previous-status.ts'
import { ANNOTATION_DELETION } from '../../types/node.ts'
import { type NodeStatus, statusOf } from '../status/node-status.ts'
import { chainOf } from './chain.ts'
import { deletionItems } from './deletion-items.ts'
import type { ExplainFacts, Explanation } from './facts.ts'

/** Why a Node is as it is: from its machine and its report to vCenter and the decision. Pure. */
export function explainNode(facts: ExplainFacts): Explanation {
  const { node, report, asked, fresh, leader, assumed, unknown, reportsRead } = facts
  const status = statusOf(node, report)
  const { conditions, deletionUnmet: listed } = previousStatus(report, node)
  const pending = conditions?.find(({ type }) => type === 'DeletionPending')
  const written = pending?.status === 'False' ? undefined : pending
  const missing = written !== undefined || fresh?.decision?.probePlan?.missing === true
  return {
    node: node.name,
    summary: reportsRead
      ? summaryOf(status)
      : 'what Rollcall makes of it is not known: NodeReports cannot be read',
    chain: chainOf(facts),
    ...(missing
      ? {
          deletion: deletionItems({
            node,
            leader: written,
            listed,
            asked,
            fresh: fresh?.decision?.deletionUnmet,
          }),
        }
      : {}),
    changes: reportsRead ? changesOf(status, missing) : [],
    leader,
    assumed,
    unknown,
  }
}

function summaryOf({ state, level, vm, vCenter, pending }: NodeStatus): string {
  // The message of a condition stands in the chain.
  const why = pending?.condition === undefined ? pending?.message : pending.reason
  const because = why === undefined ? '' : `: ${why}`
  const known =
    vm === undefined ? '' : ` as VM "${vm}" of vCenter ${vCenter}, identity ${level ?? 'not verified'}`
  switch (state) {
    case 'waiting':
      return `waits for a cloud provider${because}`
    case 'initialized':
      return `is initialized${known}${pending === undefined ? '' : `; needs attention${because}`}`
    case 'doubted':
      return `keeps what was verified before${known}, which cannot be verified now or is contradicted${because}`
    case 'VM off':
      return `is initialized, and its VM is off${because}`
    case 'VM missing':
      return `is kept, as it is unknown whether its VM is gone${because}`
    case 'VM gone':
      return pending?.reason === 'VMGone'
        ? `is deleted${because}`
        : `is kept for now, although its VM is gone${because}`
    case 'deleting':
      return 'is being deleted'
    case 'unmanaged':
      return `is left alone by Rollcall${because || ': it has no report, and does not wait for a cloud provider'}`
  }
}

const LOOKS_AGAIN =
  'it is checked again automatically: at once when a new report or a change in vCenter arrives, otherwise within five minutes'

function changesOf({ name, state, level, pending }: NodeStatus, missing: boolean): readonly string[] {
  if (missing) return changesOfMissing(name)
  const explained = pending === undefined ? [] : [`what to do about ${pending.reason}: docs/reasons.md`]
  switch (state) {
    case 'waiting':
      return pending?.reason === 'NoReport'
        ? [
            `a report of its agent: on the machine "journalctl -u rollcall-agent", or "kubectl -n kube-system get pods -l app.kubernetes.io/name=rollcall-agent --field-selector spec.nodeName=${name}" and the log of that Pod`,
          ]
        : [...explained, LOOKS_AGAIN]
    case 'doubted':
      return [...explained, LOOKS_AGAIN, 'what was verified stands until something contradicts it']
    case 'VM off':
      return ['the VM runs again: the taints that say it is off are taken away, usually within a second']
    case 'initialized':
      return [
        ...explained,
        ...(level === 'proven'
          ? []
          : ['what is missing for the next level of identity is said above, under identity']),
        'its VM is powered off: the Node is tainted',
        'no vCenter knows its VM any more, and its kubelet and its agent are silent: the Node is deleted (docs/lifecycle.md)',
      ]
    case 'unmanaged':
      return ['an agent that reports from it; the taint of Nodes that wait for a cloud provider']
    case 'deleting':
      return [
        'its finalizers are removed: the API server lets it go then',
        'its VM is proven gone, and its kubelet and its agent are silent: it holds no address any more, whatever its finalizers',
      ]
    case 'VM missing':
    case 'VM gone':
      return []
  }
}

function changesOfMissing(name: string): readonly string[] {
  return [
    'its VM is found again, or its kubelet or its agent reports: it is kept',
    `to keep it, whatever is proven: kubectl annotate node ${name} ${ANNOTATION_DELETION}=hold`,
    `to delete it now: kubectl delete node ${name}`,
  ]
}
