import type { ConditionType, IdentityLevel, NodeReportSpec, NodeReportStatus } from '../../agent/contract.ts'
import type { Node, NodeReport } from '../facts/node.ts'
import { chooseAddresses } from './addresses.ts'
import { type Announcement, announce, warning } from './announce.ts'
import type { NodeFacts } from './facts.ts'
import { verifyIdentity } from './identity.ts'
import { type NodePatch, overriddenLabels, patchFor } from './node-patch.ts'
import { judgeOwnership } from './ownership.ts'
import { outOfScope } from './scope.ts'
import { statusFacets, statusWith } from './status.ts'
import { resolveTopology } from './topology.ts'
import { no, unknown, type Verdict, type Verdicts, yes } from './verdict.ts'
import { describeVM, findVM } from './vm.ts'
import { TAINT_UNINITIALIZED } from './well-known.ts'

/** What stands in the way, for the metric. */
export interface Refusal {
  readonly condition: ConditionType
  readonly reason: string
}

/** What should be done about one Node, and what should be said. */
export interface Decision {
  readonly state: 'invisible' | 'waiting' | 'refused' | 'initializing' | 'initialized'
  readonly level?: IdentityLevel
  readonly refusal?: Refusal
  /** Written before the status, which speaks as if it had been. */
  readonly patch?: NodePatch
  /** The NodeReport's status as it should stand; absent where there is no report or nothing to say. */
  readonly status?: NodeReportStatus
  readonly announcements: readonly Announcement[]
  /** Whether to look again by itself, with backoff: nothing will call. */
  readonly retry: boolean
  /** BIOS UUID to ask the vCenters for again. */
  readonly recheck?: string
}

/**
 * Everything that follows from what is known of one Node. Pure: the same facts give the same decision, and a Node that
 * is as it should be gives one that changes nothing.
 */
export function decide(facts: NodeFacts): Decision {
  const { node, report } = facts
  const ownership = judgeOwnership(facts)
  if (ownership.kind === 'invisible') return { state: 'invisible', announcements: [], retry: false }
  if (ownership.kind === 'waiting') {
    const { verdict, loud } = ownership
    return {
      state: 'waiting',
      refusal: { condition: 'Initialized', reason: verdict.reason },
      announcements: loud ? [warning(verdict)] : [],
      retry: true,
    }
  }
  if (report === undefined || !report.spec.ok || ownership.kind === 'refused') {
    return ownership.kind === 'refused' && report !== undefined
      ? refuse(node, report, facts.now, {}, 'IdentityVerified', ownership.verdict)
      : { state: 'invisible', announcements: [], retry: false }
  }
  return decideOnReport(report.spec.spec, report, facts)
}

function decideOnReport(spec: NodeReportSpec, report: NodeReport, facts: NodeFacts): Decision {
  const { node, now } = facts
  const search = findVM(spec, facts)
  if (search.outcome === 'pending') return waitForVCenter(node, report)
  if (search.outcome === 'unknown') return vCenterSilent(node, report, now, search.verdict)
  if (search.outcome === 'refused') {
    const decision = refuse(node, report, now, {}, 'VMFound', search.verdict)
    const uuid = spec.machine.serialUUID
    return uuid === undefined ? decision : { ...decision, recheck: uuid }
  }
  const { vm } = search
  if (vm.ancestry === undefined) return waitForVCenter(node, report)
  const stranger = outOfScope(vm, vm.ancestry, facts.settings.datacenters[vm.vCenter.name] ?? [])
  if (stranger !== undefined) return refuse(node, report, now, {}, 'VMFound', stranger)
  const identity = verifyIdentity(spec, vm, facts)
  if (identity.level === undefined) {
    return refuse(node, report, now, { VMFound: search.verdict }, 'IdentityVerified', identity.verdict)
  }

  const topology = resolveTopology(vm.ancestry, facts.settings.labels)
  const { addresses, verdict: addressVerdict } = chooseAddresses(spec, vm, node)
  const verdicts: Verdicts = {
    VMFound: search.verdict,
    IdentityVerified: identity.verdict,
    TopologyResolved: topology.verdict,
    AddressesResolved: addressVerdict,
  }
  const facets = statusFacets({ vm, level: identity.level, topology, addresses })
  const initializing = isUninitialized(node)
  if (initializing && addresses === undefined) {
    const refused = refuse(node, report, now, verdicts, 'AddressesResolved', addressVerdict)
    return { ...refused, level: identity.level, status: { ...refused.status, ...facets } }
  }
  const patch = patchFor(node, { vm, topology, addresses })
  verdicts.Initialized = yes('Initialized', `is ${describeVM(vm)} on host ${vm.host ?? 'unknown'}`)
  return {
    state: initializing ? 'initializing' : 'initialized',
    level: identity.level,
    ...(patch === undefined ? {} : { patch }),
    status: statusWith(report, verdicts, now, facets),
    announcements: [...announce(report.status.conditions ?? [], verdicts), ...overridden(node, patch)],
    retry: false,
  }
}

function overridden(node: Node, patch: NodePatch | undefined): Announcement[] {
  const labels = overriddenLabels(node, patch)
  if (labels.length === 0) return []
  const message = `${labels.join(', ')} had other values than vCenter has; take them out of the kubelet's --node-labels, or it is refused when it sets them again`
  return [{ type: 'Warning', reason: 'LabelOverridden', message }]
}

/** The vCenter calls back; until then what stands, stands. */
function waitForVCenter(node: Node, report: NodeReport): Decision {
  return { state: settledState(node), ...level(report), announcements: [], retry: false }
}

/**
 * A vCenter that does not answer proves nothing. A verified Node keeps every verdict (and a thousand of them cost no
 * write); only one that still waits is told why.
 */
function vCenterSilent(node: Node, report: NodeReport, now: number, verdict: Verdict): Decision {
  if (!isUninitialized(node)) return waitForVCenter(node, report)
  return { ...refuse(node, report, now, {}, 'VMFound', verdict), state: 'waiting' }
}

function refuse(
  node: Node,
  report: NodeReport,
  now: number,
  passed: Verdicts,
  condition: ConditionType,
  verdict: Verdict,
): Decision {
  const verdicts: Verdicts = { ...passed, [condition]: verdict }
  if (condition === 'VMFound' && verdict.status === 'False') {
    verdicts.IdentityVerified = unknown(verdict.reason, `no VM to verify: ${verdict.message}`)
  }
  if (isUninitialized(node)) verdicts.Initialized = no(verdict.reason, verdict.message)
  const { identityLevel: _, ...kept } = report.status
  return {
    state: 'refused',
    refusal: { condition, reason: verdict.reason },
    status: statusWith({ ...report, status: kept }, verdicts, now, {}),
    announcements: announce(report.status.conditions ?? [], { [condition]: verdict }),
    // What ends a refusal may be elsewhere (another Node, a tag, a privilege); a look costs no call.
    retry: true,
  }
}

function isUninitialized(node: Node): boolean {
  return node.taints.some(({ key }) => key === TAINT_UNINITIALIZED)
}

function settledState(node: Node): 'waiting' | 'initialized' {
  return isUninitialized(node) ? 'waiting' : 'initialized'
}

function level({ status }: NodeReport): { level?: IdentityLevel } {
  return status.identityLevel === undefined ? {} : { level: status.identityLevel }
}
