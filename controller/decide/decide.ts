import type { NodeReportSpec } from '../../agent/contract.ts'
import type { Node, NodeReport } from '../types/node.ts'
import type { VirtualMachine } from '../types/virtual-machine.ts'
import { chooseAddresses } from './addresses/addresses.ts'
import { agentlessReport, isAgentless } from './agentless.ts'
import { isBoundTo, previousStatus, verifiedVM } from './binding.ts'
import { type ConditionValues, yes } from './condition.ts'
import type { Decision } from './decision.ts'
import { describeVM } from './describe-vm.ts'
import { conditionEvents, levelEvents, type NodeEvent, untaintedEvents, warning } from './events.ts'
import { type Identity, verifyIdentity } from './identity/identity.ts'
import { reaches, requiredLevel } from './identity/level.ts'
import { machineUUID } from './identity/machine-uuid.ts'
import { findVM } from './identity/vm.ts'
import { judgeLifecycle } from './lifecycle/lifecycle.ts'
import type { Lifecycle } from './lifecycle/outcome.ts'
import { judgePossible } from './lifecycle/possible.ts'
import { withLifecycle } from './lifecycle/with-lifecycle.ts'
import { machineState } from './machine-state.ts'
import type { NodeFacts } from './node-facts.ts'
import { type NodePatch, overriddenLabels, patchFor, wantedLabels } from './node-patch.ts'
import { judgeOwnership, type Ownership } from './ownership.ts'
import { levelTooLow, policyNotInForce, type RefusalContext, type RefusalDetails, refuse } from './refusal.ts'
import { binding, type PreviousReport, statusFacets, statusWith } from './status.ts'
import { judgeChanges, labelChanges } from './topology/change.ts'
import { outOfScope } from './topology/scope.ts'
import { resolveTopology } from './topology/topology.ts'
import { isUninitialized } from './uninitialized.ts'

const NOTHING: Decision = { state: 'invisible', events: [], retry: false }

/**
 * Everything that follows from what is known of one Node. Pure: the same facts give the same decision, and a Node that
 * is as it should be gives one that changes nothing.
 */
export function decide(facts: NodeFacts): Decision {
  const { node, report } = facts
  const ownership = judgeOwnership(facts)
  if (ownership.kind === 'invisible') return NOTHING
  if (ownership.kind === 'agentless') {
    return { state: settledState(node), create: agentlessReport(node), events: [], retry: false }
  }
  if (ownership.kind === 'waiting') {
    const { condition, loud } = ownership
    return {
      state: 'waiting',
      refusal: { condition: 'Initialized', reason: condition.reason },
      events: loud ? [warning(condition)] : [],
      retry: true,
    }
  }
  if (report === undefined) return NOTHING
  const previous = previousOf(report, node)
  const lifecycle = { ...judgeLifecycle(previous, facts), deletionPossible: judgePossible(previous, facts) }
  const decision = decideOnIdentity(report, ownership, { previous, lifecycle, facts })
  return withLifecycle(decision, lifecycle, previous, facts.now)
}

interface Context {
  readonly previous: PreviousReport
  readonly lifecycle: Lifecycle
  readonly facts: NodeFacts
}

function decideOnIdentity(
  report: NodeReport,
  ownership: Extract<Ownership, { kind: 'ours' | 'refused' }>,
  context: Context,
): Decision {
  if (ownership.kind === 'refused') {
    const { previous, facts } = context
    const { condition, ends } = ownership
    return refuse({ ...facts, previous }, { type: 'IdentityVerified', condition, ends })
  }
  if (!report.spec.ok) return NOTHING
  const { spec } = report.spec
  return isUnspokenFor(spec, context) ? decideOnUnspoken(context) : decideOnReport(spec, context)
}

/** One that another provider initialised: nothing can be verified, and nothing was that an agent could keep so by silence. */
function isUnspokenFor(spec: NodeReportSpec, { previous, facts: { node, settings } }: Context): boolean {
  if (!isAgentless(spec) || isUninitialized(node) || previous.status.vm !== undefined) return false
  return requiredLevel(node, settings.identity) !== 'asserted'
}

/** All there is to say of it is what became of its machine. */
function decideOnUnspoken({ previous, lifecycle: { deletionPending }, facts }: Context): Decision {
  const decision = wait(facts.node, previous)
  if (deletionPending === undefined || deletionPending.status === 'False') return decision
  return { ...decision, refusal: { condition: 'DeletionPending', reason: deletionPending.reason } }
}

function previousOf(report: NodeReport, node: Node): PreviousReport {
  return { status: previousStatus(report, node), nodeUID: node.uid, generation: report.generation }
}

function decideOnReport(spec: NodeReportSpec, { previous, lifecycle, facts }: Context): Decision {
  const { node, now, settings } = facts
  const context = { node, previous, now }
  const said = (refused: RefusalDetails): Decision => refuse(context, refused)
  if (facts.policy.state === 'pending') return wait(node, previous)
  if (facts.policy.state === 'not-in-force') {
    if (!isUninitialized(node)) return wait(node, previous)
    return said({ type: 'IdentityVerified', condition: policyNotInForce(facts.policy), ends: false })
  }
  const machine = machineUUID(node, facts.report, settings.identity)
  const boundTo = verifiedVM(previous.status)
  const search = findVM({ machine, spec, boundTo }, facts)
  if (search.outcome === 'pending') return wait(node, previous)
  if (search.outcome === 'unknown') {
    // It proves nothing. A verified Node keeps all its conditions, and a thousand of them cost no write; but nobody else
    // says what is amiss with one VM alone.
    if (!isUninitialized(node) && !search.alone) return wait(node, previous)
    return { ...said({ type: 'VMFound', condition: search.condition, ends: false }), state: 'waiting' }
  }
  if (search.outcome !== 'found') {
    const ends = search.outcome === 'refused'
    const condition = ends ? search.condition : (lifecycle.vmFound ?? search.condition)
    return { ...said({ type: 'VMFound', condition, ends }), recheck: machine.uuids }
  }
  const { vm } = search
  if (vm.ancestry === undefined) return wait(node, previous)
  const stranger = outOfScope(vm, vm.ancestry, settings.datacenters[vm.vCenter.name] ?? [])
  if (stranger !== undefined) return said({ type: 'VMFound', condition: stranger, ends: false })

  const passed: ConditionValues = {
    VMFound: isBoundTo(boundTo, vm) ? (lifecycle.vmFound ?? search.condition) : search.condition,
  }
  if (isBoundTo(boundTo, vm) && machineState(vm) === 'off') return rest(vm, passed, context)
  const { witness } = machine
  const identity = verifyIdentity({ witness, spec, vm, previous: previous.status }, facts)
  const { level, provenUntil } = identity
  if (level === undefined) {
    return said({ type: 'IdentityVerified', condition: identity.condition, ends: identity.ends, passed })
  }
  const required = requiredLevel(node, settings.identity)
  if (!reaches(level, required)) {
    const condition = levelTooLow(level, required, identity.condition)
    return said({ type: 'IdentityVerified', condition, ends: true, passed, level })
  }

  const topology = resolveTopology(vm.ancestry, settings.labels)
  const {
    addresses,
    holders: waitsFor,
    condition: addressCondition,
  } = chooseAddresses(spec, vm, {
    node,
    before: previous.status.identityLevel === undefined ? [] : (previous.status.addresses ?? []),
    holder: facts.addressHolder,
  })
  const changes = isUninitialized(node) ? [] : labelChanges(node, wantedLabels({ vm, topology }))
  const changed = judgeChanges(changes, settings.topology, topology.condition)
  const conditions: ConditionValues = {
    ...passed,
    IdentityVerified: identity.condition,
    TopologyResolved: changed.condition,
    AddressesResolved: addressCondition,
  }
  const facets = statusFacets({ vm, level, provenUntil, topology, addresses })
  if (isUninitialized(node) && addresses === undefined) {
    const kept = { passed: conditions, level, facets }
    const refused = said({ type: 'AddressesResolved', condition: addressCondition, ends: false, ...kept })
    // Whoever holds the address wakes it.
    return { ...refused, waitsFor, retry: waitsFor.length === 0 }
  }
  const relabels = settings.topology.onChange === 'relabel'
  const patch = patchFor(node, { vm, level, topology, addresses, relabels })
  conditions.Initialized = yes(
    'Initialized',
    `is ${describeVM(vm)} on host ${vm.host ?? 'unknown'}, identity ${level}`,
  )
  const before = previous.status
  return {
    state: isUninitialized(node) ? 'initializing' : 'initialized',
    level,
    ...(patch === undefined ? {} : { patch }),
    status: statusWith(previous, conditions, now, facets),
    events: [
      ...conditionEvents(before.conditions ?? [], conditions),
      ...levelEvents(before, level, identity.condition),
      ...overridden(node, patch),
      ...changed.events,
      ...untaintedEvents(node, before, now),
    ],
    retry: false,
    waitsFor,
    ...requeueAtExpiry(identity, now),
  }
}

function requeueAtExpiry({ provenUntil }: Identity, now: number): { requeueAfter?: number } {
  return provenUntil === undefined ? {} : { requeueAfter: Math.max(0, Date.parse(provenUntil) - now) }
}

function overridden(node: Node, patch: NodePatch | undefined): NodeEvent[] {
  const labels = overriddenLabels(node, patch)
  if (labels.length === 0) return []
  const message = `${labels.join(', ')} had other values than vCenter has; take them out of the kubelet's --node-labels`
  return [{ type: 'Warning', reason: 'LabelOverridden', message }]
}

/** What is off can neither speak for itself nor do anything: what was verified rests until it runs. */
function rest(
  vm: VirtualMachine,
  conditions: ConditionValues,
  { node, previous, now }: RefusalContext,
): Decision {
  const bound = binding(vm)
  return {
    ...wait(node, previous),
    status: statusWith(previous, conditions, now, bound === undefined ? {} : { vm: bound }),
  }
}

/** Somebody calls back; until then what stands, stands. */
function wait(node: Node, { status: { identityLevel: level } }: PreviousReport): Decision {
  return {
    state: settledState(node),
    ...(level === undefined ? {} : { level }),
    events: [],
    retry: false,
  }
}

function settledState(node: Node): 'waiting' | 'initialized' {
  return isUninitialized(node) ? 'waiting' : 'initialized'
}
