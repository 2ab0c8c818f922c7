import { fail, fine, skip, warn } from '../../../agent/shared/diagnosis.ts'
import { requiredLevel } from '../../config/config.ts'
import { listed } from '../../lib/format.ts'
import { hasUninitializedTaint } from '../../loops/node/facts/needs-initialization.ts'
import {
  addAgent,
  isAgentless,
  isWindows,
  previousStatus,
  silentAfter,
} from '../../loops/node/facts/previous-status.ts'
import { judgeProviderID } from '../../loops/node/facts/provider-id.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import { clusterCheck } from './cluster.ts'

/** At least: the clocks there may differ from ours. */
const SILENT_AFTER = 15 * 60_000

const NEXT = 'look at the agent\'s Pod or unit there, and run "rollcall-agent doctor"'
/** How the controller is started cannot be seen from here. */
const UNLESS =
  'unless the controller is started with the CPI\'s arguments, for which "identity.require" is asserted by default: write "require: reported" or "require: asserted" under "identity"'

export const AGENTS = {
  nodes: clusterCheck({
    name: 'agents',
    look: ({ nodes }) => nodes(),
    /** Whether each Node that needs an agent has one that reports. */
    judge({ nodes, reports, crd }, { configured, now }) {
      if (!crd) return skip('not checked, because of "CRD"')
      const ours = nodes.filter(isOurs)
      const needing = ours.filter(
        (node) => configured === undefined || requiredLevel(node, configured.identity) !== 'asserted',
      )
      const isSure = configured?.requireGiven !== false
      const silent = needing.filter(({ name }) => !isFromAgent(reports.get(name)))
      if (silent.length > 0) {
        const what = `${share(silent, ours)} without a report from an agent ${namesOf(silent)}${ofWindows(silent)}`
        const other = silent.find((node) => !isWindows(node))
        const next = other === undefined ? [] : [`${NEXT}; where there is none, ${addAgent(other)}`]
        return isSure
          ? fail([what, ...next].join('; '))
          : warn([`${what}; every Node needs one ${UNLESS}`, ...next].join('; then '))
      }
      const former = needing.filter((node) => isOfFormerNode(node, reports.get(node.name)))
      if (former.length > 0)
        return fail(
          `${share(former, ours)} with a report about former Nodes of those names ${namesOf(former)}; restart the agents there`,
        )
      const stale = needing.filter((node) => isStale(node, reports.get(node.name), now))
      if (stale.length > 0)
        return warn(
          `${share(stale, ours)} that are Ready but have missed three reports by their own clocks ${namesOf(stale)}; ${NEXT}`,
        )
      const untold = ours.filter((node) => isSilent(node, reports.get(node.name)))
      if (untold.length > 0)
        return warn(
          `${share(untold, ours)} whose agents are silent, as the leader says ${namesOf(untold)}; ${NEXT}`,
        )
      const without = ours.length - needing.length
      const exempt = without === 0 ? '' : `; the configuration does not require one on ${without}`
      const all = `${share(needing, ours)} with an agent that reports${exempt}`
      return isSure ? fine(all) : warn(`${all}; every Node needs one ${UNLESS}`)
    },
  }),
  /** Nodes whose kubelets wait for a certificate. */
  certificates: clusterCheck({
    name: 'serving certificates',
    look: async ({ config, nodes }) => ({ isOn: config?.certificates.approve === true, ...(await nodes()) }),
    judge({ isOn, nodes, reports }) {
      if (!isOn) return fine('certificates.approve is false, so Rollcall does not approve them')
      const ours = nodes.filter(isOurs)
      const waiting = ours.flatMap((node) => {
        const { conditions = [] } = previousStatus(reports.get(node.name), node)
        const found = conditions.find(({ type }) => type === 'ServingCertificate')
        return found === undefined || found.status === 'True' ? [] : [`${node.name}: ${found.reason}`]
      })
      if (waiting.length === 0) return fine('no request of a kubelet waits')
      return warn(
        `${waiting.length} of ${ours.length} Nodes wait for one (${listed(waiting)}); "explain NODE" says why`,
      )
    },
  }),
}

function share(some: readonly Node[], all: readonly Node[]): string {
  return `${some.length} of ${all.length} Nodes`
}

function ofWindows(nodes: readonly Node[]): string {
  const [one, ...more] = nodes.filter(isWindows)
  return one === undefined ? '' : `, of which ${1 + more.length} with Windows: ${addAgent(one)}`
}

function namesOf(nodes: readonly Node[]): string {
  return `(${listed(nodes.map(({ name }) => name))})`
}

function isOurs(node: Node): boolean {
  const scheme = judgeProviderID(node.providerID, undefined)
  return !node.deleting && scheme !== 'foreign' && (scheme !== 'absent' || hasUninitializedTaint(node))
}

function isFromAgent(report: NodeReport | undefined): boolean {
  return report !== undefined && !(report.spec.ok && isAgentless(report.spec.value))
}

function isOfFormerNode({ uid }: Node, report: NodeReport | undefined): boolean {
  return report?.spec.ok === true && report.spec.value.nodeUID !== uid
}

/** By the leader's own count, which no clock of another machine can mislead. */
function isSilent(node: Node, report: NodeReport | undefined): boolean {
  const { conditions = [] } = previousStatus(report, node)
  return conditions.some(({ type, status }) => type === 'AgentReports' && status === 'False')
}

/** A machine that is off cannot report. */
function isStale({ ready }: Node, report: NodeReport | undefined, now: number): boolean {
  const at = Date.parse(report?.reportedAt ?? '')
  const spec = report?.spec.ok === true ? report.spec.value : {}
  return ready?.status === 'True' && now - at > Math.max(SILENT_AFTER, silentAfter(spec))
}
