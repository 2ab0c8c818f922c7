import { fail, fine, type Verdict, warn } from '../../agent/shared/diagnosis.ts'
import type { IdentityConfig } from '../config/config.ts'
import { isAgentless } from '../decide/agentless.ts'
import { requiredLevel } from '../node/level.ts'
import { judgeProviderID } from '../node/provider-id.ts'
import { hasUninitializedTaint } from '../node/uninitialized.ts'
import type { Node, NodeReport } from '../types/node.ts'
import type { NodeFacts } from './facts.ts'
import type { Looked } from './look.ts'
import { count, listed, verdictOf } from './words.ts'

/** An agent reports every five minutes at the latest, unless it is told otherwise. */
const SILENT_AFTER = 15 * 60_000

const NEXT = 'look at the Pod or the unit of the agent on them, and run "rollcall-agent doctor" there'

/**
 * Whether each Node that needs an agent has one that reports.
 *
 * @param identity undefined where the configuration is wrong: then each vSphere Node counts as needing one
 */
export function judgeAgents(
  seen: Looked<NodeFacts>,
  identity: IdentityConfig | undefined,
  now: number,
): Verdict {
  return verdictOf(seen, ({ nodes, reports }) => {
    const ours = nodes.filter(isOurs)
    const needing = ours.filter(
      (node) => identity === undefined || requiredLevel(node, identity) !== 'asserted',
    )
    const silent = needing.filter(({ name }) => !isFromAgent(reports.get(name)))
    if (silent.length > 0)
      return fail(`${namesOf(silent)} of ${ours.length} have no report of an agent; ${NEXT}`)
    const former = needing.filter((node) => isOfFormerNode(node, reports.get(node.name)))
    if (former.length > 0)
      return fail(
        `the reports of ${namesOf(former)} are about Nodes that were registered before; restart the agents there`,
      )
    const stale = needing.filter((node) => isStale(node, reports.get(node.name), now))
    if (stale.length > 0)
      return warn(
        `${namesOf(stale)} of ${ours.length} are Ready, and have not reported for 15 minutes; ${NEXT}`,
      )
    const without = ours.length - needing.length
    const exempt = without === 0 ? '' : `; ${without} need none by the configuration`
    return fine(
      `${count(needing.length, 'Node')} of ${ours.length} ${needing.length === 1 ? 'has' : 'have'} an agent that reports${exempt}`,
    )
  })
}

function namesOf(nodes: readonly Node[]): string {
  return `${count(nodes.length, 'Node')} (${listed(nodes.map(({ name }) => name))})`
}

function isOurs(node: Node): boolean {
  const scheme = judgeProviderID(node.providerID, undefined)
  return !node.deleting && scheme !== 'foreign' && (scheme === 'ours' || hasUninitializedTaint(node))
}

function isFromAgent(report: NodeReport | undefined): boolean {
  return report !== undefined && !(report.spec.ok && isAgentless(report.spec.spec))
}

function isOfFormerNode({ uid }: Node, report: NodeReport | undefined): boolean {
  return report?.spec.ok === true && report.spec.spec.nodeUID !== uid
}

/** A machine that is off cannot report. */
function isStale({ ready }: Node, report: NodeReport | undefined, now: number): boolean {
  const at = Date.parse(report?.reportedAt ?? '')
  return ready?.status === 'True' && now - at > SILENT_AFTER
}
