import type { BoundVM } from '../../../../../agent/shared/node-report.ts'
import { requiredLevel } from '../../../../config/config.ts'
import { type ConditionValue, unknown, yes } from '../../../../types/condition-value.ts'
import { failureOf, type Lookup, vmsOf } from '../../../../types/inventory.ts'
import { isSecondary, machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { describeVM, isBoundTo, secondaryOnly } from '../bound-vm.ts'
import type { NodeFacts } from '../node-facts.ts'
import { CLAIM_GRACE_MS } from './claim.ts'
import { fittingOf, isFailingOver, isPossible, type MachineWord, showsClaim } from './fitting-vms.ts'
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
import { type BindingMove, moveOf, namedIn, namesBound } from './moves.ts'

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
  /** Other VMs with its UUID, templates left out. They change nothing. */
  readonly others: readonly VirtualMachine[]
  /** Another VM that fits and shows the claim of the report; undefined where none does. */
  readonly rival: VirtualMachine | undefined
  /** Why the Node is another VM than before; undefined where it is not. */
  readonly move?: BindingMove
}

export interface VMQuery extends MachineWord {
  /** The VM that this Node was last verified to be, whatever its level is now. */
  readonly bound: BoundVM | undefined
}

type Unanswered = Extract<VMSearch, { outcome: 'pending' | 'unknown' }>

/** What the vCenters show under the Node's UUID. */
interface Shown {
  readonly query: VMQuery
  readonly facts: NodeFacts
  readonly vms: readonly VirtualMachine[]
  /** Why not every vCenter has answered; undefined where each has. */
  readonly unanswered: Unanswered | undefined
  /** Why not all VMs with a UUID were read, where a vCenter has too many. */
  readonly crowded: Unanswered | undefined
}

/**
 * The one VM that the report names. The UUID is searched for in all vCenters, including templates and other datacenters.
 * The VM that a Node was once verified to be stays its VM, whatever else has its UUID, until one of `MOVES` applies.
 */
export function findVM(query: VMQuery, facts: NodeFacts): VMSearch {
  const { machine, spec, bound } = query
  if (machine.uuids.length === 0) {
    return {
      outcome: 'not-found',
      condition:
        machine.witness === 'asserted'
          ? noSystemUUID()
          : noSerial(spec, facts.node, requiredLevel(facts.node, facts.settings.identity)),
    }
  }
  const lookups = facts.lookups
    .filter((each) => machine.uuids.includes(each.uuid))
    .map(({ lookup }) => lookup)
  const vms = lookups.flatMap(vmsOf)
  const crowded = unansweredOf(lookups.filter((lookup) => failureOf(lookup)?.reason === 'AmbiguousUUID'))
  const shown: Shown = { query, facts, vms, unanswered: unansweredOf(lookups), crowded }
  return bound === undefined ? findFirst(shown) : findBound(bound, shown)
}

function unansweredOf(lookups: readonly Lookup[]): Unanswered | undefined {
  if (lookups.some(({ state }) => state === 'pending')) return { outcome: 'pending' }
  for (const lookup of lookups) {
    const failure = failureOf(lookup)
    if (failure === undefined) continue
    const alone = lookup.state !== 'unknown' || lookup.alone === true
    return { outcome: 'unknown', condition: unknown(failure.reason, failure.message), alone }
  }
  return undefined
}

/** The VM of a Node that was verified before. */
function findBound(bound: BoundVM, { vms, facts, unanswered, query }: Shown): VMSearch {
  const itself = vms.filter((vm) => isBoundTo(bound, vm))
  const primaries = itself.filter((vm) => !isSecondary(vm))
  if (itself.length > 0 && isFailingOver(primaries)) return failover(itself)
  const boundNow = primaries.find((vm) => machineState(vm) === 'runs') ?? primaries[0]
  const others = vms.filter((vm) => !itself.includes(vm) && !isSecondary(vm))
  const fits = others.length === 0 ? [] : fittingOf(others, query, facts)
  if (fits === 'pending') return boundNow === undefined ? { outcome: 'pending' } : usable(boundNow, vms)
  const moved = moveOf({ bound, boundNow, fits, word: query, complete: unanswered === undefined }, facts)
  const rival = (vm: VirtualMachine) => rivalOf(vm, fits, query, facts)
  if (moved !== undefined) return { ...found(moved.vm, vms, rival(moved.vm)), move: moved.move }
  if (boundNow !== undefined) return usable(boundNow, vms, rival(boundNow))
  if (unanswered !== undefined) return unanswered
  const [other] = others
  if (other === undefined) return { outcome: 'not-found', condition: noVM(query.machine, facts) }
  // Of a machine that was rebuilt under its name the contradiction is told, which is not the UUID.
  if (!namesBound(bound, query)) return usable(other, [])
  const likely = fits.filter((vm) => isPossible(vm, query.spec, facts))
  return { outcome: 'not-found', condition: heldBy(bound, { others, likely }, query.spec, facts) }
}

/**
 * The VM of a Node that was never verified. A claim that only the machine itself can show decides, where all VMs with its UUID
 * are read. Without one the VM must
 * be the only one that fits, and each vCenter must have said so: otherwise whoever makes a copy in time gets the Node. A
 * person may decide that one that does not answer is not waited for.
 */
function findFirst({ vms, facts, query, unanswered, crowded }: Shown): VMSearch {
  if (vms.length === 0) return unanswered ?? { outcome: 'not-found', condition: noVM(query.machine, facts) }
  const primaries = vms.filter((each) => !isSecondary(each))
  if (isFailingOver(primaries)) return failover(vms)
  const fits = fittingOf(primaries, query, facts)
  if (fits === 'pending') return { outcome: 'pending' }
  const showing = fits.filter((vm) => showsClaim(vm, query.spec, facts))
  const [proven] = showing
  // The machine's own VM may be among those that are not read, and this one show a copied claim.
  if (showing.length === 1 && crowded !== undefined) return crowded
  if (proven !== undefined && showing.length === 1) return usable(proven, vms)
  const named = namedIn(fits, facts)
  if (named !== undefined && unanswered === undefined)
    return usable(named, vms, rivalOf(named, fits, query, facts))
  if (proven !== undefined) return { outcome: 'refused', condition: claimShownTwice(showing) }
  const running = fits.filter((vm) => machineState(vm) !== 'off')
  const candidates = running.length > 0 ? running : fits
  const [vm] = candidates.length > 0 ? candidates : primaries
  if (candidates.length > 1 || vm === undefined)
    return { outcome: 'refused', condition: ambiguous(query.machine, primaries) }
  if (unanswered?.outcome === 'unknown' && (unanswered.alone || facts.settings.identity.requireAllVCenters)) {
    // No other Node says so.
    return {
      outcome: 'unknown',
      condition: fitsWithoutClaim(vm, unanswered.condition, unanswered.alone),
      alone: true,
    }
  }
  if (unanswered?.outcome === 'pending') return unanswered
  const twin = fits.find((each) => each !== vm)
  return twin !== undefined && awaitsClaim(query, facts)
    ? { outcome: 'unknown', condition: claimDecides(vm, twin), alone: true }
    : usable(vm, vms)
}

function rivalOf(
  vm: VirtualMachine,
  fits: readonly VirtualMachine[],
  { spec }: VMQuery,
  facts: NodeFacts,
): VirtualMachine | undefined {
  return fits.find((each) => each !== vm && showsClaim(each, spec, facts))
}

/** Whether the agent has written a claim that vCenter may show in a moment. */
function awaitsClaim({ spec: { claim } }: VMQuery, { node, now }: NodeFacts): boolean {
  return claim.digest !== undefined && now - Date.parse(node.creationTimestamp) < CLAIM_GRACE_MS
}

function failover([first]: readonly VirtualMachine[]): VMSearch {
  if (first === undefined) throw new Error('a failover has VMs')
  const { reason, message } = secondaryOnly(first)
  // A failover takes only a moment and is not worth telling.
  return { outcome: 'unknown', condition: unknown(reason, message), alone: false }
}

/** The VM, unless it can be no Node's. */
function usable(vm: VirtualMachine, vms: readonly VirtualMachine[], rival?: VirtualMachine): VMSearch {
  if (vm.template) return { outcome: 'refused', condition: isTemplate(vm) }
  if (vm.biosUUID === undefined) return { outcome: 'unknown', condition: unreadable(vm), alone: false }
  return found(vm, vms, rival)
}

function found(
  vm: VirtualMachine,
  vms: readonly VirtualMachine[],
  rival: VirtualMachine | undefined,
): FoundVM {
  const condition = yes('VMFound', `BIOS UUID ${vm.biosUUID} is that of ${describeVM(vm)}`)
  const others = vms.filter((each) => each !== vm && !each.template && !isSecondary(each))
  return { outcome: 'found', vm, condition, others, rival }
}
