import type { NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import type { Node } from '../../../types/node.ts'
import { needsInitialization } from '../facts/needs-initialization.ts'
import { agentlessReport } from './agentless.ts'
import { type ConditionValue, no, yes } from './condition-value.ts'
import { SYNCED } from './cpi-events.ts'
import type { Decision, IdentityDecision } from './decision.ts'
import { describeVM } from './describe-vm.ts'
import { type JudgedIdentity, judgeIdentity, type VerifiedIdentity } from './identity/judge-identity.ts'
import { type InstanceMetadata, judgeInstanceMetadata } from './instance-metadata.ts'
import { judgeDepartingNode } from './lifecycle/departing-node.ts'
import { judgeLifecycle } from './lifecycle/lifecycle.ts'
import type { LifecycleResult } from './lifecycle/lifecycle-result.ts'
import { merge } from './merge.ts'
import { warning } from './node-events.ts'
import type { NodeFacts } from './node-facts.ts'
import { patchFor } from './node-patch.ts'
import { judgeOwnership, type WithoutReport } from './ownership.ts'
import { refuse } from './refuse.ts'
import { noLongerRefused } from './rejected-write.ts'

/**
 * Decides on one Node. Pure: the same facts give the same decision, and a Node that is as it should be gives a decision
 * that changes nothing.
 *
 * The steps: whose Node is it, what happened to its machine, which VM is it, and what should it carry? What follows from
 * the machine's state is merged in at the end, in one place.
 */
export function decide(facts: NodeFacts): Decision {
  if (facts.node.deleting)
    return { state: 'unmanaged', events: [], requeue: false, ...judgeDepartingNode(facts) }
  const ownership = judgeOwnership(facts)
  if (ownership.kind !== 'refused' && ownership.kind !== 'ours') return withoutReport(ownership, facts.node)
  const lifecycle = judgeLifecycle(facts)
  const identity =
    ownership.kind === 'refused' ? ownership : judgeIdentity(ownership.spec, lifecycle.vmFound, facts)
  const otherProvider = leftToAnother(facts)
  const decided = decideOnIdentity(identity, otherProvider, lifecycle, facts)
  return merge(
    otherProvider === undefined ? decided : withoutPatch(decided),
    lifecycle,
    ownership.report,
    facts,
  )
}

/** Why this controller writes no labels, addresses and provider IDs; undefined where it does. */
function leftToAnother({
  interlock,
  settings,
}: Pick<NodeFacts, 'interlock' | 'settings'>): ConditionValue | undefined {
  if (interlock.state === 'held') return no('CPIRuns', interlock.message)
  if (settings.initialization.on) return undefined
  return no(
    'InitializationOff',
    'Rollcall was started with --controllers=-cloud-node, so another provider must initialize this Node; remove that argument if there is none',
  )
}

/** Where another provider initializes Nodes and keeps them current, nothing that follows from identity is written. */
function withoutPatch({ patch: _, ...rest }: IdentityDecision): IdentityDecision {
  return rest
}

function withoutReport(ownership: WithoutReport, node: Node): Decision {
  switch (ownership.kind) {
    case 'unmanaged':
      return { state: 'unmanaged', events: [], requeue: false }
    case 'agentless':
      return { state: settledState(node), create: agentlessReport(node), events: [], requeue: false }
    case 'waiting': {
      const { condition, saidIn } = ownership
      return {
        state: 'waiting',
        refusal: { condition: 'Initialized', reason: condition.reason },
        ...(saidIn === 0
          ? { events: [warning(condition)], requeue: true }
          : { events: [], requeue: false, requeueAfter: saidIn }),
      }
    }
  }
}

function decideOnIdentity(
  identity: JudgedIdentity,
  otherProvider: ConditionValue | undefined,
  { deletionPending }: LifecycleResult,
  facts: NodeFacts,
): IdentityDecision {
  const { node, previous } = facts
  switch (identity.kind) {
    case 'pending':
      return leave(facts)
    case 'unspoken':
      // All that can be said about it is what happened to its machine.
      return deletionPending === undefined || deletionPending.status === 'False'
        ? leave(facts)
        : {
            ...leave(facts),
            refusal: { condition: 'DeletionPending', reason: deletionPending.reason },
          }
    case 'refused':
      return refuse(facts, identity)
    case 'off': {
      // A VM that is off can neither prove anything nor do anything: what was verified stays until it runs again.
      const { identityLevel } = previous
      const { binding, copies } = identity
      const fields = identityLevel === undefined ? {} : { identityLevel }
      const { VMFound, VMUnique } = identity.conditions
      const conditions = { ...noLongerRefused(node, previous, VMFound), ...identity.conditions }
      const told = VMUnique === undefined ? {} : { told: { VMUnique } }
      return {
        ...leave(facts),
        status: { conditions, ...told, fields, binding },
        ...(copies === undefined ? {} : { copies }),
      }
    }
    case 'verified':
      return decideOnVerified(identity, otherProvider, facts)
  }
}

/** @param otherProvider why another provider writes what a Node carries; undefined where this controller does */
function decideOnVerified(
  identity: VerifiedIdentity,
  otherProvider: ConditionValue | undefined,
  facts: NodeFacts,
): IdentityDecision {
  const { node, now, settings } = facts
  const { vm, level, provenUntil, copies } = identity
  const metadata = judgeInstanceMetadata(identity, facts, { writes: otherProvider === undefined })
  const { addresses, awaitsAddresses, waitsFor, conditions: placed, events } = metadata
  const conditions = { ...identity.conditions, ...placed }
  const { binding } = identity
  const fields = verifiedFields(identity, metadata)
  if (needsInitialization(node) && awaitsAddresses) {
    const refused = refuse(facts, {
      type: 'AddressesResolved',
      condition: placed.AddressesResolved,
      ends: false,
      passed: conditions,
      level,
      fields,
      binding,
      addresses,
    })
    // The Node is requeued when the holder gives the address up.
    return { ...refused, waitsFor, requeue: waitsFor.length === 0 }
  }
  if (metadata.topology.awaitsTags) {
    const details = { ends: false, passed: conditions, level, fields, binding, addresses } as const
    const refused = refuse(facts, {
      type: 'TopologyResolved',
      condition: placed.TopologyResolved,
      ...details,
    })
    return { ...refused, waitsFor }
  }
  if (needsInitialization(node) && otherProvider !== undefined) {
    const details = { ends: false, passed: conditions, level, fields, binding, state: 'waiting' } as const
    return refuse(facts, { type: 'Initialized', condition: otherProvider, ...details })
  }
  const { patch, events: overridden } = patchFor(node, {
    vm,
    level,
    metadata,
    relabels: settings.topology.onChange === 'relabel',
    more: settings.initialization.labels,
  })
  const said = {
    ...conditions,
    Initialized: yes(
      'Initialized',
      `is ${describeVM(vm)} on host ${vm.host ?? 'unknown'}, identity ${level}`,
    ),
  }
  return {
    state: needsInitialization(node) ? 'initializing' : 'initialized',
    level,
    ...(patch === undefined ? {} : { patch }),
    status: { conditions: said, told: said, fields, binding },
    events: [
      ...(needsInitialization(node) ? [SYNCED] : []),
      ...identity.events,
      ...overridden,
      // What is not written is not told.
      ...(otherProvider === undefined ? events : []),
    ],
    requeue: false,
    waitsFor,
    ...(copies === undefined ? {} : { copies }),
    // The level falls at that time unless the VM has named the Node again.
    ...(provenUntil === undefined ? {} : { requeueAfter: Math.max(0, Date.parse(provenUntil) - now) }),
  }
}

/** The parts of the status other than conditions and the binding. */
function verifiedFields(
  { level, provenUntil }: VerifiedIdentity,
  { topology, instanceType, addresses }: InstanceMetadata,
): Partial<NodeReportStatus> {
  return {
    identityLevel: level,
    ...(provenUntil === undefined ? {} : { provenUntil }),
    topology: {
      ...(topology.zone === undefined ? {} : { zone: topology.zone }),
      ...(topology.region === undefined ? {} : { region: topology.region }),
    },
    instanceType,
    ...(addresses === undefined ? {} : { addresses }),
  }
}

/** Leaves everything as it is until an event comes. */
function leave({ node, previous }: NodeFacts): IdentityDecision {
  const { identityLevel: level } = previous
  return {
    state: settledState(node),
    ...(level === undefined ? {} : { level }),
    events: [],
    requeue: false,
  }
}

function settledState(node: Node): 'waiting' | 'initialized' {
  return needsInitialization(node) ? 'waiting' : 'initialized'
}
