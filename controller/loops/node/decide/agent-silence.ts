import { duration } from '../../../lib/format-time.ts'
import { needsInitialization } from '../facts/needs-initialization.ts'
import { isAgentless, silentAfter, specOf } from '../facts/previous-status.ts'
import { no, yes } from './condition-value.ts'
import { type Draft, say } from './draft.ts'
import type { NodeFacts } from './node-facts.ts'

/**
 * The draft that says whether the agent of an initialized Node still reports. Written only when it has fallen silent, and once
 * more when it reports again. A machine that is off, or whose kubelet is silent as well, is not the agent's fault.
 */
export function judgeAgent(
  draft: Draft,
  { node, report, previous, agentContact }: Pick<NodeFacts, 'node' | 'report' | 'previous' | 'agentContact'>,
): Draft {
  const spec = specOf(report, node)
  if (agentContact === undefined || spec === undefined || isAgentless(spec) || needsInitialization(node))
    return draft
  const patience = silentAfter(spec)
  if (agentContact.silentFor >= patience)
    return node.ready?.status === 'True'
      ? say(draft, {
          AgentReports: no(
            'AgentSilent',
            `its agent has not reported since ${report?.reportedAt}, although the Node is Ready and three reports were due within ${duration(patience)}; look at its Pod or unit, and run "rollcall-agent doctor" there`,
          ),
        })
      : draft
  const wasSilent = previous.conditions?.some(
    ({ type, status }) => type === 'AgentReports' && status !== 'True',
  )
  return wasSilent === true && agentContact.isHeard
    ? say(draft, { AgentReports: yes('AgentReports', 'its agent reports again') })
    : draft
}
