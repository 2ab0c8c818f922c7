import { type BoundVM, MAX_FORMER_VMS } from '../../../../../agent/shared/node-report.ts'
import { sameMachineUUID } from '../../../../../agent/shared/uuid.ts'
import { vmsOf } from '../../../../types/inventory.ts'
import { ANNOTATION_VM } from '../../../../types/node.ts'
import { machineState, runs, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { isBoundTo, isRegisteredAgain } from '../bound-vm.ts'
import { seenByReference } from '../lifecycle/absence-proofs.ts'
import { evidenceOn, isFresh } from '../lifecycle/evidence.ts'
import type { NodeFacts, NodeLookup } from '../node-facts.ts'
import { provesClaim } from './claim.ts'
import { isDeadEntry, isPossible, type MachineWord, showsClaim } from './fitting-vms.ts'

/** What is known of a Node's VMs when it is asked whether it has become another one. */
export interface MoveQuery {
  /** The VM that the Node is bound to. */
  readonly bound: BoundVM
  /** The same as the inventories show it now; undefined where they do not. */
  readonly boundNow: VirtualMachine | undefined
  /** The other VMs that fit the report. */
  readonly fits: readonly VirtualMachine[]
  readonly word: MachineWord
  /** Whether every vCenter has answered. */
  readonly complete: boolean
}

/** One of them. */
interface MoveCandidate extends MoveQuery {
  readonly vm: VirtualMachine
  /** Whether no third VM fits, and every vCenter has answered. */
  readonly alone: boolean
  /** Whether it shows the claim that the report speaks of, and no other VM does. */
  readonly showsClaim: boolean
  /** The same, but a bound entry that is dead is not counted: what it shows is out of date. */
  readonly showsClaimAlive: boolean
  /** Whether a person has named it and no other VM. */
  readonly isNamed: boolean
}

/** One event after which a Node is another VM than before. */
export interface BindingMove {
  readonly name: string
  /** What happened, in plain words; the Event says it. */
  readonly what: string
  /** The VM before: it is `gone`, it may still exist, so that a deletion has to look for it as well, or it is the `same`. */
  readonly former: 'gone' | 'kept' | 'same'
  allows(candidate: MoveCandidate, facts: NodeFacts): boolean
}

/**
 * All that moves a binding to another VM. Whatever is not here changes nothing, in whatever state the bound VM is: a copy
 * has its UUID and its MAC addresses, and whoever owns the copy chooses the moment.
 */
export const MOVES: readonly BindingMove[] = [
  {
    // While the VM is away others may take its instance UUID, which vCenter lets them set. A dead entry may stay behind.
    name: 'RegisteredAgain',
    what: 'it is the same VM, registered again under another reference',
    former: 'same',
    allows: (candidate, facts) =>
      (candidate.boundNow === undefined || isBoundEntryDead(candidate)) &&
      isRegisteredAgain(candidate.bound, candidate.vm) &&
      isSameMachine({ ...candidate, showsClaim: candidate.showsClaimAlive }, facts),
  },
  {
    name: 'Annotated',
    what: `a person has named it by the annotation ${ANNOTATION_VM}`,
    former: 'kept',
    allows: ({ isNamed, complete }) => isNamed && complete,
  },
  {
    // As after a move to another vCenter. The machine speaks, so it is somewhere, and no longer where it was.
    name: 'Gone',
    what: 'its former VM is proven gone, and its machine has reported since',
    former: 'gone',
    allows: (candidate, facts) =>
      candidate.boundNow === undefined && isSameMachine(candidate, facts) && hasDeparted(facts),
  },
  {
    // A vCenter that was installed anew, or replaced. Only a person can take one out of the configuration.
    name: 'VCenterRemoved',
    what: 'the vCenter of its former VM is no longer configured',
    former: 'gone',
    allows: (candidate, facts) =>
      facts.vCenterState(candidate.bound.vCenterInstanceUUID) === 'unconfigured' &&
      isSameMachine(candidate, facts),
  },
  {
    // As after a failover to another site, or a restored backup: the machine has booted there, and shows a new claim. After a
    // failover back it does, too: an old claim on a VM that the Node was before may be a thief's copy.
    name: 'FailedOver',
    what: 'its former VM does not run, and it shows the claim of a report that came after that',
    former: 'kept',
    allows: (candidate, facts) =>
      candidate.showsClaim &&
      runs(candidate.vm) &&
      isAway(candidate, facts) &&
      (isNewClaim(facts) || isBoundEntryDead(candidate)),
  },
  {
    // A machine that was rebuilt under its name. Once the Node is initialized, its provider ID speaks against it.
    name: 'Rebuilt',
    what: 'its agent reports another machine, and the Node was not initialized yet',
    former: 'kept',
    allows: ({ bound, word, alone, showsClaim }, { node }) =>
      !namesBound(bound, word) && node.providerID === undefined && (alone || showsClaim),
  },
  {
    // The first binding was made before vCenter showed any claim, or by a claim that anybody can make up.
    name: 'FirstProof',
    what: 'it is the only one that shows the claim of the report, and its former VM has never shown one',
    former: 'kept',
    allows: ({ vm, boundNow, showsClaim }, { previous }) =>
      showsClaim &&
      runs(vm) &&
      previous.lastClaim === undefined &&
      boundNow !== undefined &&
      // One that is off has cleared what it showed, perhaps before anybody looked.
      runs(boundNow) &&
      !boundNow.unreadable.includes('claim'),
  },
]

/** The VM to which a binding moves, and why; undefined where it stays. */
export function moveOf(
  query: MoveQuery,
  facts: NodeFacts,
): { readonly vm: VirtualMachine; readonly move: BindingMove } | undefined {
  const { bound, boundNow, fits, word, complete } = query
  if (boundNow === undefined && isOvertaken(query, facts)) return undefined
  // What cannot be the machine must not end what was verified.
  const running = fits.filter((vm) => machineState(vm) === 'runs' && isPossible(vm, word.spec, facts))
  const showing = [...fits, ...(boundNow === undefined ? [] : [boundNow])].filter((vm) =>
    vm === boundNow ? provesClaim(vm, word.spec, facts) : showsClaim(vm, word.spec, facts),
  )
  const showingAlive = showing.filter((vm) => vm !== boundNow || !isDeadEntry(vm))
  // Otherwise that may still exist, and is what a person has named.
  const isElsewhere =
    facts.node.vmAnnotation !== bound.instanceUUID ||
    facts.vCenterState(bound.vCenterInstanceUUID) === 'unconfigured'
  const named = isElsewhere ? namedIn(fits, facts) : undefined
  for (const vm of running) {
    const candidate: MoveCandidate = {
      ...query,
      vm,
      alone: running.length === 1 && complete,
      showsClaim: showing.length === 1 && showing[0] === vm,
      showsClaimAlive: showingAlive.length === 1 && showingAlive[0] === vm,
      isNamed: vm === named,
    }
    const move = MOVES.find(
      ({ former, allows }) => (former !== 'kept' || hasRoomBeside(vm, facts)) && allows(candidate, facts),
    )
    if (move !== undefined) return { vm, move }
  }
  return undefined
}

/**
 * The only one of these VMs that a person has named by a word that was not obeyed yet. An instance UUID is unique in one
 * vCenter alone: somebody may give that of the annotation to a VM in another one.
 */
export function namedIn(
  vms: readonly VirtualMachine[],
  { node: { vmAnnotation }, previous }: NodeFacts,
): VirtualMachine | undefined {
  if (vmAnnotation === undefined || vmAnnotation === previous.obeyedAnnotation) return undefined
  const named = vms.filter(({ instanceUUID }) => instanceUUID === vmAnnotation)
  return named.length === 1 ? named[0] : undefined
}

/** Whether a report or a kubelet names the machine that was bound, in either byte order. */
export function namesBound({ biosUUID }: BoundVM, { machine }: MachineWord): boolean {
  return machine.uuids.some((uuid) => sameMachineUUID(uuid, biosUUID))
}

/** The former VMs that stay on record once the Node is this one: not those of a vCenter that a person has taken out. */
export function formerVMsBeside(
  vm: VirtualMachine,
  { previous, vCenterState }: NodeFacts,
): readonly BoundVM[] {
  return (previous.formerVMs ?? []).filter(
    (each) => !isBoundTo(each, vm) && vCenterState(each.vCenterInstanceUUID) !== 'unconfigured',
  )
}

/** Whether another VM may be remembered that the Node was, besides this one that it would be. */
export function hasRoomBeside(vm: VirtualMachine, facts: NodeFacts): boolean {
  return formerVMsBeside(vm, facts).length < MAX_FORMER_VMS
}

/**
 * Whether the last probe has found a VM that the inventory there does not show yet, or still shows as off: it may be the
 * Node's. A VM that an inventory knowingly leaves out, because the account may not read it or there are too many copies, may
 * never be shown: nothing waits for it, but then no VM is `alone`.
 */
function isOvertaken({ bound }: MoveQuery, { lookups, evidence }: NodeFacts): boolean {
  return (evidence?.probes ?? []).some(({ vCenter, vCenterInstanceUUID, biosUUID }) => {
    if (biosUUID.state !== 'found' || !willShowAll(vCenter, bound, lookups)) return false
    const { vm: found, others = [] } = biosUUID
    const shown = lookups
      .flatMap(({ lookup }) => vmsOf(lookup))
      .filter((vm) => vm.vCenter.instanceUUID === vCenterInstanceUUID)
    const isShown = (moref: string): boolean => shown.some((vm) => vm.moref === moref)
    const isShownOn = shown.some((vm) => vm.moref === found.moref && machineState(vm) !== 'off')
    return ![found.moref, ...others].every(isShown) || (found.powerState === 'poweredOn' && !isShownOn)
  })
}

/** Whether the inventory of a vCenter will show each VM with the UUID of the bound one, as far as it knows. */
function willShowAll(vCenter: string, { biosUUID }: BoundVM, lookups: readonly NodeLookup[]): boolean {
  return lookups.some(
    ({ vCenter: name, uuid, lookup }) =>
      name === vCenter &&
      uuid === biosUUID &&
      (lookup.state === 'pending' || (lookup.state === 'answered' && lookup.incomplete === undefined)),
  )
}

/**
 * Whether the bound VM is known not to run, and was so at an earlier look: the claim of each report that was seen before that
 * was noted in the status as one that may be its own.
 */
function isAway(
  { bound, boundNow }: MoveCandidate,
  { previous, vCenterState, evidence }: NodeFacts,
): boolean {
  if (vCenterState(bound.vCenterInstanceUUID) === 'away') return true
  if (!wasAway(previous)) return false
  const probed = evidence && isProbed(bound, evidence.request.vm) ? evidence.probes : []
  // By its reference alone: what else has its UUID is somebody's copy.
  const seen = boundNow === undefined ? seenByReference(bound, probed) : [boundNow]
  return seen.length > 0 && seen.every((vm) => machineState(vm) !== 'runs')
}

function isProbed(bound: BoundVM, { moref, vCenterInstanceUUID }: BoundVM): boolean {
  return bound.moref === moref && bound.vCenterInstanceUUID === vCenterInstanceUUID
}

/** Reasons of the condition VMFound for a VM that exists and is not known to run. */
const AWAY: readonly string[] = ['VMPoweredOff', 'VMSuspended', 'VMNotConnected', 'VMNotSearchable']

/** Whether the status says that the bound VM did not run when it was last looked at. */
function wasAway({ conditions = [] }: NodeFacts['previous']): boolean {
  return conditions.some(
    ({ type, reason }) =>
      (type === 'VMFound' && AWAY.includes(reason)) ||
      // What is said of it once the level has ended.
      (type === 'IdentityVerified' && reason === 'VMNotRunning'),
  )
}

function isBoundEntryDead({ boundNow }: MoveCandidate): boolean {
  return boundNow !== undefined && isDeadEntry(boundNow)
}

/**
 * Whether a VM is the machine of a Node whose own VM nobody shows, or shows as a dead entry: it shows the claim. Of two that
 * were seen to fit, the other one is not gone because its vCenter does not answer now. Where the agent writes none, it is the only one that fits, also by a probe or at a second look, and has the instance UUID, which a
 * move keeps and no guest can see.
 */
function isSameMachine(candidate: MoveCandidate, { report, evidence, previous }: NodeFacts): boolean {
  const { vm, bound, showsClaim, alone, complete } = candidate
  if (showsClaim || digestOf(report) !== undefined) return showsClaim && (complete || !hadCopy(previous))
  const isOnly = alone && (evidence !== undefined || (isBoundEntryDead(candidate) && wasAway(previous)))
  return isOnly && vm.instanceUUID !== undefined && vm.instanceUUID === bound.instanceUUID
}

/** Whether the status says that another VM passed for the Node's when all were last seen. */
export function hadCopy({ conditions = [] }: NodeFacts['previous']): boolean {
  return conditions.some(({ type, status }) => type === 'VMUnique' && status === 'False')
}

function isNewClaim({ report, previous }: NodeFacts): boolean {
  const digest = digestOf(report)
  return digest !== undefined && digest !== previous.lastClaim
}

function digestOf(report: NodeFacts['report']): string | undefined {
  return report?.spec.ok === true ? report.spec.value.claim.digest : undefined
}

/**
 * Whether the VM that a Node is bound to is proven gone from its own vCenter, by as many answers over as much time as a
 * deletion takes, and its machine has spoken since. It is another VM by now.
 */
function hasDeparted(facts: NodeFacts): boolean {
  const { machines, settings } = facts
  const evidence = machines === undefined ? undefined : evidenceOn(machines, facts)
  const departed = evidence?.departed
  if (evidence === undefined || departed === undefined || !isFresh(evidence, facts)) return false
  const { confirmations, absentFor } = settings.lifecycle
  return departed.spoke && departed.times >= confirmations && departed.last - departed.since >= absentFor
}
