import { type BoundVM, MAX_FORMER_VMS, type NodeReportSpec } from '../../../agent/shared/node-report.ts'
import type { MachineUUID } from '../../node/machine-uuid.ts'
import { sameMachineUUID } from '../../node/uuid.ts'
import { isSecondary, type VirtualMachine } from '../../types/virtual-machine.ts'
import { isBoundTo, isOfGroup } from '../bound-vm.ts'
import { type ConditionValue, unknown, yes } from '../condition-value.ts'
import { describeVM, secondaryOnly } from '../describe-vm.ts'
import { machineState } from '../machine-state.ts'
import type { NodeFacts } from '../node-facts.ts'
import { outOfScope } from '../topology/scope.ts'
import { CLAIM_GRACE_MS, judgeClaim, proves } from './claim.ts'
import { contradictionOf } from './contradiction.ts'
import { commonMACs } from './mac.ts'
import {
  ambiguous,
  claimDecides,
  claimShownTwice,
  fitsWithoutClaim,
  heldBy,
  isTemplate,
  noSerial,
  noSystemUUID,
  noVM,
  unreadable,
} from './messages.ts'
import { MOVES, type Move } from './moves.ts'

export type VMSearch =
  | FoundVM
  /** A vCenter has not answered yet; an event will come. */
  | { readonly outcome: 'pending' }
  /** A vCenter could not be asked: nothing is concluded. `alone` where only this VM is affected. */
  | { readonly outcome: 'unknown'; readonly condition: ConditionValue; readonly alone: boolean }
  /** No VM is found, or not the one that it was, which contradicts nothing that was verified before. */
  | { readonly outcome: 'not-found'; readonly condition: ConditionValue }
  /** What was found cannot be this Node's VM, or is not certain to be. */
  | { readonly outcome: 'refused'; readonly condition: ConditionValue }

export interface FoundVM {
  readonly outcome: 'found'
  readonly vm: VirtualMachine
  readonly condition: ConditionValue
  /** Other VMs with its UUID that may run. They change nothing, and are told. */
  readonly copies: readonly VirtualMachine[]
  /** Why the Node is another VM than before; undefined where it is not. */
  readonly move?: Move
}

export interface VMQuery {
  readonly machine: MachineUUID
  readonly spec: NodeReportSpec
  /** The VM that this Node was last verified to be, whatever its level is now. */
  readonly bound: BoundVM | undefined
}

/** What the vCenters show under the Node's UUID. */
interface Shown {
  readonly query: VMQuery
  readonly facts: NodeFacts
  readonly vms: readonly VirtualMachine[]
  /** Why not every vCenter has answered; undefined where each has. */
  readonly unanswered: Extract<VMSearch, { outcome: 'pending' | 'unknown' }> | undefined
}

/**
 * The one VM that the report names. The UUID is searched for in all vCenters, including templates and other datacenters.
 * The VM that a Node was once verified to be stays its VM, whatever else has its UUID, until one of {@link MOVES} applies.
 */
export function findVM(query: VMQuery, facts: NodeFacts): VMSearch {
  const { machine, spec, bound } = query
  if (machine.uuids.length === 0) {
    return {
      outcome: 'not-found',
      condition: machine.witness === 'asserted' ? noSystemUUID() : noSerial(spec),
    }
  }
  const lookups = facts.lookups
    .filter((each) => machine.uuids.includes(each.uuid))
    .map(({ lookup }) => lookup)
  const vms = lookups.flatMap((lookup) => (lookup.state === 'answered' ? lookup.vms : []))
  const shown: Shown = { query, facts, vms, unanswered: unansweredOf(lookups) }
  return bound === undefined ? findFirst(shown) : findBound(bound, shown)
}

function unansweredOf(lookups: readonly NodeFacts['lookups'][number]['lookup'][]): Shown['unanswered'] {
  if (lookups.some(({ state }) => state === 'pending')) return { outcome: 'pending' }
  const failed = lookups.find((lookup) => lookup.state === 'unknown')
  if (failed === undefined) return undefined
  const { failure, alone = false } = failed
  return { outcome: 'unknown', condition: unknown(failure.reason, failure.message), alone }
}

/** The VM of a Node that was verified before. */
function findBound(bound: BoundVM, shown: Shown): VMSearch {
  const { vms, facts, unanswered, query } = shown
  const itself = vms.filter((vm) => isBoundTo(bound, vm))
  const primaries = itself.filter((vm) => !isSecondary(vm))
  if (itself.length > 0 && isFailingOver(primaries)) return failover(itself)
  const boundNow = primaries.find((vm) => machineState(vm) === 'runs') ?? primaries[0]
  const others = vms.filter((vm) => !itself.includes(vm) && !isSecondary(vm))
  const moved = moveOf(bound, boundNow, others, shown)
  if (moved === 'pending') return { outcome: 'pending' }
  if (moved !== undefined) {
    const copies = vms.filter((vm) => vm !== moved.vm && mayRun(vm))
    return { ...found(moved.vm, copies), move: moved.move }
  }
  if (boundNow !== undefined) return usable(boundNow, others.filter(mayRun))
  if (unanswered !== undefined) return unanswered
  const [other] = others
  if (other === undefined) return { outcome: 'not-found', condition: noVM(query.machine, facts) }
  // Of a machine that was rebuilt under its name the contradiction is told, which is not the UUID.
  if (!namesBound(bound, query)) return usable(other, [])
  return { outcome: 'not-found', condition: heldBy(bound, other, facts.node.name) }
}

function namesBound({ biosUUID }: BoundVM, { machine }: VMQuery): boolean {
  return machine.uuids.some((uuid) => sameMachineUUID(uuid, biosUUID))
}

/** The VM to which a binding moves, and why; undefined where it stays. */
function moveOf(
  bound: BoundVM,
  boundNow: VirtualMachine | undefined,
  others: readonly VirtualMachine[],
  shown: Shown,
): { readonly vm: VirtualMachine; readonly move: Move } | 'pending' | undefined {
  const { facts, query, unanswered } = shown
  if (others.length === 0) return undefined
  const fits = fittingOf(others, shown)
  if (fits === 'pending') return boundNow === undefined ? 'pending' : undefined
  // What cannot be the machine must not end what was verified.
  const running = fits.filter((vm) => machineState(vm) !== 'off' && isPossible(vm, query.spec, facts))
  const showing = [...fits, ...(boundNow === undefined ? [] : [boundNow])].filter((vm) =>
    proves(judgeClaim(vm, query.spec, facts)),
  )
  // Somebody may give a VM of another vCenter the instance UUID that the annotation has.
  const named = facts.node.vmAnnotation === bound.instanceUUID ? undefined : namedIn(fits, facts)
  const isAnotherMachine = !namesBound(bound, query)
  const overtaken = isOvertaken(shown)
  const hasRoom = (facts.previous.formerVMs ?? []).length < MAX_FORMER_VMS
  for (const vm of running) {
    const alone = running.length === 1 && unanswered === undefined
    const showsClaim = showing.length === 1 && showing[0] === vm
    const isNamed = vm === named
    const candidate = {
      vm,
      bound,
      boundNow,
      alone,
      overtaken,
      showsClaim,
      isNamed,
      isAnotherMachine,
    }
    const move = MOVES.find(
      ({ leavesFormer, allows }) => (!leavesFormer || hasRoom) && allows(candidate, facts),
    )
    if (move !== undefined) return { vm, move }
  }
  return undefined
}

function isPossible(vm: VirtualMachine, spec: NodeReportSpec, facts: NodeFacts): boolean {
  return contradictionOf({ spec, vm, macs: commonMACs(spec, vm) }, facts) === undefined
}

/** See {@link MoveCandidate.overtaken}. A vCenter that was searched a while ago may have the VM by now. */
function isOvertaken({ vms, facts }: Shown): boolean {
  return (facts.evidence?.probes ?? []).some(
    ({ vCenterInstanceUUID, biosUUID }) =>
      biosUUID.state === 'found' &&
      !vms.some((vm) => vm.moref === biosUUID.vm.moref && vm.vCenter.instanceUUID === vCenterInstanceUUID),
  )
}

/**
 * The VM of a Node that was never verified. A claim that only the machine itself can show decides. Without one the VM must
 * be the only one that fits, and each vCenter must have said so: otherwise whoever makes a copy in time gets the Node.
 */
function findFirst(shown: Shown): VMSearch {
  const { vms, facts, query, unanswered } = shown
  const [first] = vms
  if (first === undefined)
    return unanswered ?? { outcome: 'not-found', condition: noVM(query.machine, facts) }
  const primaries = vms.filter((each) => !isSecondary(each))
  if (isFailingOver(primaries)) return failover(vms)
  const fits = fittingOf(primaries, shown)
  if (fits === 'pending') return { outcome: 'pending' }
  const named = namedIn(fits, facts)
  if (named !== undefined) return usable(named, others(fits, named))
  const showing = fits.filter((vm) => proves(judgeClaim(vm, query.spec, facts)))
  const [proven] = showing
  if (proven !== undefined) {
    return showing.length === 1
      ? usable(proven, others(fits, proven))
      : { outcome: 'refused', condition: claimShownTwice(showing) }
  }
  const running = fits.filter((vm) => machineState(vm) !== 'off')
  const candidates = running.length > 0 ? running : fits
  const [vm] = candidates.length > 0 ? candidates : primaries
  if (candidates.length > 1 || vm === undefined)
    return { outcome: 'refused', condition: ambiguous(query.machine, primaries) }
  if (unanswered !== undefined)
    return unanswered.outcome === 'unknown' ? withoutClaim(vm, unanswered) : unanswered
  const twin = fits.find((each) => each !== vm)
  return twin !== undefined && awaitsClaim(query.spec, facts)
    ? { outcome: 'unknown', condition: claimDecides(vm, twin), alone: true }
    : usable(vm, [])
}

/** The only one of these VMs that a person has named; an instance UUID is unique in one vCenter alone. */
function namedIn(vms: readonly VirtualMachine[], { node }: NodeFacts): VirtualMachine | undefined {
  const named = vms.filter(
    ({ instanceUUID }) => instanceUUID !== undefined && instanceUUID === node.vmAnnotation,
  )
  return named.length === 1 ? named[0] : undefined
}

/** Whether the agent has written a claim that vCenter may show in a moment. */
function awaitsClaim({ claim }: NodeReportSpec, { node, now }: NodeFacts): boolean {
  return claim.digest !== undefined && now - Date.parse(node.creationTimestamp) < CLAIM_GRACE_MS
}

/**
 * The VMs that may be the Node's. A template, a dead entry and a VM outside the configured datacenters are none, unless
 * there is no other. Of the rest, those that have the vNICs which the guest sees, if any has: that is vCenter's word, while
 * the guest of a copy may write any claim. `pending` where the datacenter of one is not known yet.
 */
function fittingOf(
  vms: readonly VirtualMachine[],
  { query: { machine, spec }, facts }: Shown,
): readonly VirtualMachine[] | 'pending' {
  if (vms.length > 1 && vms.some((vm) => vm.ancestry === undefined && isScoped(vm, facts))) return 'pending'
  const living = vms.filter((vm) => !vm.template && !isDeadEntry(vm) && isInScope(vm, facts))
  const left = living.length > 0 ? living : vms.filter((vm) => !vm.template && isInScope(vm, facts))
  if (machine.witness === 'asserted') return left
  const withMACs = left.filter((vm) => commonMACs(spec, vm).length > 0)
  return withMACs.length > 0 ? withMACs : left
}

function others(vms: readonly VirtualMachine[], vm: VirtualMachine): readonly VirtualMachine[] {
  return vms.filter((each) => each !== vm && mayRun(each))
}

/** Whether a VM may be a machine that runs. Others with the same UUID are common: replicas, templates, old entries. */
function mayRun(vm: VirtualMachine): boolean {
  return !vm.template && !isDeadEntry(vm) && machineState(vm) !== 'off'
}

/** Whether no host has the VM that this entry was of. */
function isDeadEntry({ connectionState }: VirtualMachine): boolean {
  return connectionState === 'orphaned' || connectionState === 'invalid'
}

function isScoped({ vCenter }: VirtualMachine, { settings }: NodeFacts): boolean {
  return (settings.datacenters[vCenter.name] ?? []).length > 0
}

function isInScope(vm: VirtualMachine, { settings }: NodeFacts): boolean {
  const { ancestry } = vm
  if (ancestry === undefined) return true
  return outOfScope(vm, ancestry, settings.datacenters[vm.vCenter.name] ?? []) === undefined
}

/** Whether no VM of a Fault Tolerance group is its primary, or two are, as while vCenter reports one after the other. */
function isFailingOver(primaries: readonly VirtualMachine[]): boolean {
  return primaries.length === 0 || primaries.some((each) => primaries.some((other) => isOfGroup(each, other)))
}

function failover([first]: readonly VirtualMachine[]): VMSearch {
  if (first === undefined) throw new Error('a failover has VMs')
  const { reason, message } = secondaryOnly(first)
  // A failover takes only a moment and is not worth telling.
  return { outcome: 'unknown', condition: unknown(reason, message), alone: false }
}

/** The VM, unless it can be no Node's. */
function usable(vm: VirtualMachine, copies: readonly VirtualMachine[]): VMSearch {
  if (vm.template) return { outcome: 'refused', condition: isTemplate(vm) }
  if (vm.biosUUID === undefined) return { outcome: 'unknown', condition: unreadable(vm), alone: false }
  return found(vm, copies)
}

function found(vm: VirtualMachine, copies: readonly VirtualMachine[]): FoundVM {
  const condition = yes('VMFound', `BIOS UUID ${vm.biosUUID} is that of ${describeVM(vm)}`)
  return { outcome: 'found', vm, condition, copies }
}

/** For a first binding that no claim decides, while a vCenter does not answer that may have the VM. */
function withoutClaim(
  vm: VirtualMachine,
  { condition }: Extract<VMSearch, { outcome: 'unknown' }>,
): VMSearch {
  // No other Node says so.
  return { outcome: 'unknown', condition: fitsWithoutClaim(vm, condition), alone: true }
}
