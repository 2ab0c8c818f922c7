import { duration } from '../../../lib/format.ts'
import { type ConditionValue, no, yes } from '../../../types/condition-value.ts'
import { hasUninitializedTaint, needsInitialization } from '../facts/needs-initialization.ts'
import { isAgentless, silentAfter, specOf } from '../facts/previous-status.ts'
import { givenToAnotherNode } from './addresses/messages.ts'
import { lostAddresses, witnessOf } from './addresses/usable-addresses.ts'
import { describeVM } from './bound-vm.ts'
import type { Decision } from './decision.ts'
import { begin, type Draft, finish, recordIdentity, requeuedAfter, say } from './draft.ts'
import { type JudgedIdentity, judgeIdentity, type VerifiedIdentity } from './identity/judge-identity.ts'
import { judgeInstanceMetadata } from './instance-metadata.ts'
import { followMachine } from './lifecycle/follow-machine.ts'
import { judgeDepartingNode } from './lifecycle/probe-plan.ts'
import { SYNCED } from './node-events.ts'
import type { NodeFacts } from './node-facts.ts'
import { patchFor } from './node-patch.ts'
import { decideUnreported, judgeOwnership } from './ownership.ts'
import { refuse } from './refuse.ts'
import { noLongerRefused } from './rejected-write.ts'

/**
 * Decides on one Node. Pure: the same facts give the same decision, and a Node that is as it should be gives a decision
 * that changes nothing.
 *
 * The stages: whose Node is it, what happened to its machine, which VM is it, and what should it carry?
 */
export function decide(facts: NodeFacts): Decision {
  if (facts.node.deleting)
    return { state: 'unmanaged', events: [], requeue: false, ...judgeDepartingNode(facts) }
  const { report } = facts
  if (report === undefined) return decideUnreported(facts)

  const ownership = judgeOwnership(report, facts)
  const followed = followMachine(begin(report, facts), facts)
  const identity =
    ownership.kind === 'refused'
      ? ownership
      : judgeIdentity(ownership.spec, followed.conditions.VMFound, facts)
  const identified = identify(followed, identity, facts)
  const decided = isStillItsMachine(identified, facts)
    ? identified
    : identify(begin(report, facts), identity, facts)
  return finish(withoutLostAddresses(judgeAgent(decided, facts), identity, facts), facts)
}

/**
 * Whether what follows from the machine's state applies. It does not where the identity was just contradicted: that is for the
 * next reconcile. Nor where the Node was just found to be another VM, such as after a move to another vCenter: its former VM
 * no longer matters.
 */
function isStillItsMachine({ level, status }: Draft, { previous }: NodeFacts): boolean {
  if (level === undefined && previous.identityLevel !== undefined) return false
  const { vm } = status
  return vm?.moref === previous.vm?.moref && vm?.vCenterInstanceUUID === previous.vm?.vCenterInstanceUUID
}

/** What follows from which VM the Node is, so far as this controller is the one to write it. */
function identify(draft: Draft, identity: JudgedIdentity, facts: NodeFacts): Draft {
  const otherProvider = leftToAnother(facts)
  const identified = identifyAs(draft, identity, otherProvider, facts)
  return otherProvider === undefined
    ? identified
    : { ...identified, patch: draft.patch, initializes: draft.initializes }
}

/** Why another provider writes labels, addresses and provider IDs; undefined where this controller does. */
function leftToAnother({ interlock, settings }: NodeFacts): ConditionValue | undefined {
  if (interlock.state === 'held') return no('CPIRuns', interlock.message)
  if (settings.initialization.on) return undefined
  return no(
    'InitializationOff',
    'Rollcall was started with --controllers=-cloud-node, so another provider must initialize this Node; remove that argument if there is none',
  )
}

function identifyAs(
  draft: Draft,
  identity: JudgedIdentity,
  otherProvider: ConditionValue | undefined,
  facts: NodeFacts,
): Draft {
  switch (identity.kind) {
    case 'pending':
      return draft
    case 'unspoken': {
      // All that can be said about it is what happened to its machine.
      const { DeletionPending: pending } = draft.conditions
      return pending === undefined || pending.status === 'False'
        ? draft
        : { ...draft, refusal: { condition: 'DeletionPending', reason: pending.reason } }
    }
    case 'refused':
      return refuse(draft, identity, facts)
    case 'off': {
      // A VM that is off can neither prove anything nor do anything: what was verified stays until it runs again.
      const { identityLevel } = facts.previous
      const { binding, copies, conditions } = identity
      const { VMFound, VMUnique } = conditions
      const record = {
        conditions: { ...noLongerRefused(facts.node, facts.previous, VMFound), ...conditions },
        told: VMUnique && { VMUnique },
        fields: identityLevel === undefined ? {} : { identityLevel },
        binding,
      }
      return { ...recordIdentity(draft, record, facts), ...(copies === undefined ? {} : { copies }) }
    }
    case 'verified':
      return equip(draft, identity, otherProvider, facts)
  }
}

/**
 * An address that another Node has by now is not this one's any more, whatever else is said of it: its status would give it a
 * certificate for it, and the address back.
 */
function withoutLostAddresses(draft: Draft, identity: JudgedIdentity, facts: NodeFacts): Draft {
  const { addresses = [] } = draft.status
  const { addressHolder, ownWitness, settings } = facts
  const lost = lostAddresses(addresses, {
    addressHolder,
    witness: (address) =>
      identity.kind === 'verified'
        ? witnessOf(address, identity.spec, identity.vm, settings.nodes)
        : ownWitness(address),
    refused: identity.kind === 'refused',
  })
  if (lost.length === 0) return draft
  const told =
    draft.conditions.AddressesResolved === undefined
      ? say(draft, { AddressesResolved: givenToAnotherNode(lost) })
      : draft
  const kept = addresses.filter((each) => !lost.some(({ address }) => address === each.address))
  return { ...told, status: { ...told.status, addresses: kept } }
}

/** Milliseconds until it is looked whether a label's value, which is gone, has stayed so: no event tells. */
const ABSENT_LABELS_AGAIN = 60_000

/**
 * What a verified Node is to carry.
 *
 * @param otherProvider why another provider writes it; undefined where this controller does
 */
function equip(
  draft: Draft,
  identity: VerifiedIdentity,
  otherProvider: ConditionValue | undefined,
  facts: NodeFacts,
): Draft {
  const { node, now, settings } = facts
  const { vm, level, provenUntil, copies, binding } = identity
  const metadata = judgeInstanceMetadata(identity, facts, { writes: otherProvider === undefined })
  const { topology, instanceType, addresses, recorded, awaitsAddresses, waitsFor } = metadata
  const fields = {
    identityLevel: level,
    ...(provenUntil === undefined ? {} : { provenUntil }),
    topology: {
      ...(topology.zone === undefined ? {} : { zone: topology.zone }),
      ...(topology.region === undefined ? {} : { region: topology.region }),
    },
    instanceType,
    ...(recorded === undefined ? {} : { addresses: recorded }),
  }
  const passed = { ...identity.conditions, ...metadata.conditions }
  const starts = needsInitialization(node)
  const refusal = { ends: false, passed, level, fields, binding } as const
  if ((starts && awaitsAddresses) || topology.awaitsTags) {
    const type = starts && awaitsAddresses ? 'AddressesResolved' : 'TopologyResolved'
    const refused = refuse(draft, { ...refusal, type, condition: passed[type], addresses }, facts)
    // A Node that waits for an address is requeued when the holder gives it up.
    const requeue = refused.requeue && (type === 'TopologyResolved' || waitsFor.length === 0)
    return { ...refused, waitsFor, requeue }
  }
  if (starts && otherProvider !== undefined)
    return refuse(
      draft,
      { ...refusal, type: 'Initialized', condition: otherProvider, state: 'waiting' },
      facts,
    )

  const { patch, events: overridden } = patchFor(node, {
    vm,
    level,
    metadata,
    relabels: settings.topology.onChange === 'relabel',
    more: settings.initialization.labels,
  })
  const host = vm.host ?? 'unknown'
  const conditions = {
    ...passed,
    Initialized: yes('Initialized', `the Node is ${describeVM(vm)} on host ${host}, identity ${level}`),
  }
  const events = [
    ...(starts ? [SYNCED] : []),
    ...identity.events,
    ...overridden,
    // What is not written is not told.
    ...(otherProvider === undefined ? metadata.events : []),
  ]
  const equipped: Draft = {
    ...recordIdentity(draft, { conditions, told: conditions, fields, binding, events }, facts),
    state: starts ? 'initializing' : 'initialized',
    level,
    patch: { ...draft.patch, ...patch },
    initializes: hasUninitializedTaint(node),
    waitsFor,
    ...(copies === undefined ? {} : { copies }),
  }
  // The level falls at that time unless the VM has named the Node again.
  const leveled = requeuedAfter(
    equipped,
    provenUntil === undefined ? undefined : Math.max(0, Date.parse(provenUntil) - now),
  )
  const { absentLabels } = metadata.ruled ?? {}
  if (absentLabels === undefined) return leveled
  return requeuedAfter({ ...leveled, absentLabels }, ABSENT_LABELS_AGAIN)
}

/**
 * The draft that says whether the agent of an initialized Node still reports. Written only when it has fallen silent, and once
 * more when it reports again. A machine that is off, or whose kubelet is silent as well, is not the agent's fault.
 */
function judgeAgent(
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
