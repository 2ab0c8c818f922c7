import type { BoundVM } from '../../../agent/shared/node-report.ts'
import type { VirtualMachine } from '../../types/virtual-machine.ts'
import { isBoundTo } from '../bound-vm.ts'
import { seenIn } from '../lifecycle/absence-proofs.ts'
import { hasDeparted } from '../lifecycle/departure.ts'
import { machineState } from '../machine-state.ts'
import type { NodeFacts } from '../node-facts.ts'
import { CLAIM_GRACE_MS } from './claim.ts'

/** Another VM that fits a Node's report, beside the one that the Node is bound to. */
export interface MoveCandidate {
  readonly vm: VirtualMachine
  /** The VM that the Node is bound to. */
  readonly bound: BoundVM
  /** The same as the inventories show it now; undefined where they do not. */
  readonly boundNow: VirtualMachine | undefined
  /** Whether no third VM fits, and every vCenter has answered. */
  readonly alone: boolean
  /** Whether the last probe has found a VM that the inventories do not show yet: it may be the Node's. */
  readonly overtaken: boolean
  /** Whether it shows the claim that the report speaks of, and no other VM does. */
  readonly showsClaim: boolean
  /** Whether the report names another machine than the bound VM, by its UUID. */
  readonly isAnotherMachine: boolean
  /** Whether a person has named it and no other VM. */
  readonly isNamed: boolean
}

/** One event after which a Node is another VM than before. */
export interface Move {
  readonly name: string
  /** What happened, in plain words; the Event says it. */
  readonly what: string
  /** Whether the VM before may still exist, so that a deletion has to look for it as well. */
  readonly leavesFormer: boolean
  allows(candidate: MoveCandidate, facts: NodeFacts): boolean
}

/**
 * All that moves a binding to another VM. Whatever is not here changes nothing, in whatever state the bound VM is: a copy
 * has its UUID and its MAC addresses, and whoever owns the copy chooses the moment. A VM that was registered again in its
 * own vCenter has the same instance UUID there and is no other VM: see `isBoundTo`.
 */
export const MOVES: readonly Move[] = [
  {
    name: 'Annotated',
    what: 'a person has named it by the annotation rollcall.dev/vm',
    leavesFormer: true,
    allows: ({ isNamed }) => isNamed,
  },
  {
    // As after a move to another vCenter. The machine speaks, so it is somewhere, and no longer where it was.
    name: 'Gone',
    what: 'its former VM is proven gone, and its machine has reported since',
    leavesFormer: false,
    allows: (candidate, facts) =>
      candidate.boundNow === undefined &&
      !candidate.overtaken &&
      isKnownByClaim(candidate, facts) &&
      hasDeparted(facts),
  },
  {
    // A vCenter that was installed anew, or replaced. Only a person can take one out of the configuration.
    name: 'VCenterRemoved',
    what: 'the vCenter of its former VM is no longer configured',
    leavesFormer: false,
    allows: (candidate, facts) =>
      facts.bindingVCenter === 'unconfigured' &&
      isKnownByClaim(candidate, facts) &&
      (candidate.showsClaim || candidate.vm.instanceUUID === candidate.bound.instanceUUID),
  },
  {
    // As after a failover to another site, or a restored backup: the machine has booted there, and says so.
    name: 'FailedOver',
    what: 'its former VM does not run, and it shows the claim of a report that came after that',
    leavesFormer: true,
    allows: (candidate, facts) =>
      candidate.showsClaim && isAway(candidate, facts) && isNewClaim(facts) && runs(candidate.vm),
  },
  {
    // A machine that was rebuilt under its name. Once the Node is initialized, its provider ID speaks against it.
    name: 'Rebuilt',
    what: 'its agent reports another machine, and the Node was not initialized yet',
    leavesFormer: true,
    allows: ({ alone, showsClaim, isAnotherMachine }, { node }) =>
      isAnotherMachine && node.providerID === undefined && (alone || showsClaim),
  },
  {
    // The first binding was made before vCenter showed any claim.
    name: 'FirstProof',
    what: 'it is the only one that shows the claim of the first report',
    leavesFormer: true,
    allows: ({ vm, boundNow, showsClaim }, facts) =>
      showsClaim &&
      runs(vm) &&
      boundNow !== undefined &&
      runs(boundNow) &&
      !boundNow.unreadable.includes('claim') &&
      isFirstBinding(facts),
  },
]

/**
 * Whether the bound VM is known not to run, and was so at an earlier look: the claim of each report that was seen before that
 * was noted in the status as one that may be its own.
 */
function isAway(
  { bound, boundNow }: MoveCandidate,
  { previous, bindingVCenter, evidence }: NodeFacts,
): boolean {
  if (bindingVCenter === 'away') return true
  if (!wasAway(previous)) return false
  const seen =
    boundNow ??
    (evidence && isProbed(bound, evidence.request.vm) ? seenIn(bound, evidence.probes) : undefined)
  return seen !== undefined && machineState(seen) !== 'runs'
}

function isProbed(bound: BoundVM, { moref, vCenterInstanceUUID }: BoundVM): boolean {
  return bound.moref === moref && bound.vCenterInstanceUUID === vCenterInstanceUUID
}

/** Reasons of the condition VMFound for a VM that exists and is not known to run. */
const AWAY: readonly string[] = ['VMPoweredOff', 'VMSuspended', 'VMNotConnected', 'VMNotSearchable']

/** Whether the status says that the bound VM did not run when it was last looked at. */
function wasAway({ conditions = [] }: NodeFacts['previous']): boolean {
  return conditions.some(({ type, reason }) => type === 'VMFound' && AWAY.includes(reason))
}

/**
 * Whether the claim says that a VM is the Node's. It is the only VM that may be where no claim can say so: where the agent is
 * of an earlier release, or may not write one.
 */
function isKnownByClaim({ showsClaim, alone }: MoveCandidate, { report }: NodeFacts): boolean {
  return showsClaim || (alone && digestOf(report) === undefined)
}

function isNewClaim({ report, previous }: NodeFacts): boolean {
  const digest = digestOf(report)
  return digest !== undefined && digest !== previous.lastClaim
}

function digestOf(report: NodeFacts['report']): string | undefined {
  return report?.spec.ok === true ? report.spec.value.claim.digest : undefined
}

/** Whether the Node was never proven, and claims may still become visible. */
function isFirstBinding({ previous, now }: NodeFacts): boolean {
  const { identityLevel, conditions = [] } = previous
  const since = conditions.find(({ type }) => type === 'Initialized')
  return (
    identityLevel === 'reported' &&
    (since?.status !== 'True' || now - Date.parse(since.lastTransitionTime) < CLAIM_GRACE_MS)
  )
}

function runs(vm: VirtualMachine): boolean {
  return machineState(vm) === 'runs'
}

/**
 * The digest that a status notes as the last one that may be its bound VM's own: none of a report that is first seen while
 * that VM does not run. It may have reported and stopped while nobody looked, but most likely the machine runs elsewhere
 * since then, as after a failover during which a vCenter or the leader was away: it must not need a person.
 */
export function lastClaim(
  vm: VirtualMachine,
  digest: string | undefined,
  { previous }: Pick<NodeFacts, 'previous'>,
): string | undefined {
  const stands = isBoundTo(previous.vm, vm) && !runs(vm)
  return (stands ? previous.lastClaim : undefined) ?? digest ?? previous.lastClaim
}
