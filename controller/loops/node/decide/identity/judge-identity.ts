import type {
  BoundVM,
  IdentityLevel,
  NodeReportSpec,
  NodeReportStatus,
} from '../../../../../agent/shared/node-report.ts'
import { printable } from '../../../../../agent/shared/printable.ts'
import { reaches, requiredLevel } from '../../../../config/config.ts'
import { type ConditionValue, MAX_MESSAGE } from '../../../../types/condition-value.ts'
import { type Ancestry, machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { needsInitialization } from '../../facts/needs-initialization.ts'
import { isAgentless } from '../../facts/previous-status.ts'
import { binding, describeBound, describeVM, isBoundTo } from '../bound-vm.ts'
import type { Decision } from '../decision.ts'
import type { Binding } from '../draft.ts'
import type { NodeEvent } from '../node-events.ts'
import type { NodeFacts } from '../node-facts.ts'
import { levelTooLow, policyNotInForce, type RefusalDetails } from '../refuse.ts'
import { outOfScope } from '../topology/scope.ts'
import { withUnobeyed } from './annotation.ts'
import { provesClaim } from './claim.ts'
import { type FoundVM, findVM } from './find-vm.ts'
import { commonMACs } from './fitting-vms.ts'
import { judgeUniqueness } from './judge-uniqueness.ts'
import { rebuiltAsOneOf } from './messages.ts'
import { type BindingMove, formerVMsBeside } from './moves.ts'
import { verifyIdentity } from './verify-identity.ts'

/** Which VM a Node is, as far as that is known. */
export type JudgedIdentity =
  /** Not known yet, or nothing can be concluded now: an event will come. */
  | { readonly kind: 'pending' }
  /**
   * A Node that another provider initialized and that has no agent: nothing can be verified, and nothing was verified
   * before.
   */
  | { readonly kind: 'unspoken' }
  | ({ readonly kind: 'refused' } & RefusalDetails)
  /** The Node's verified VM, which is off. */
  | {
      readonly kind: 'off'
      readonly vm: VirtualMachine
      readonly binding: Binding
      readonly conditions: { readonly VMFound: ConditionValue; readonly VMUnique?: ConditionValue }
      readonly copies: Decision['copies']
    }
  | VerifiedIdentity

export interface VerifiedIdentity {
  readonly kind: 'verified'
  readonly spec: NodeReportSpec
  readonly vm: VirtualMachine
  /** See `commonMACs`. */
  readonly macs: readonly string[]
  readonly ancestry: Ancestry
  readonly level: IdentityLevel
  /** RFC 3339: the level falls at this time unless a claim comes first. */
  readonly provenUntil: string | undefined
  readonly binding: Binding
  readonly conditions: {
    readonly VMFound: ConditionValue
    readonly VMUnique?: ConditionValue
    readonly IdentityVerified: ConditionValue
  }
  readonly events: readonly NodeEvent[]
  readonly copies: Decision['copies']
}

const PENDING: JudgedIdentity = { kind: 'pending' }

/**
 * Which VM the Node of this report is. Checks whether the report policy is in force, finds the VM by its UUID, and then
 * checks that the VM is in a configured datacenter, that it is this Node, and that the level is high enough.
 *
 * @param vmState replaces the condition VMFound of the search, where the state of the VM says more
 */
export function judgeIdentity(
  spec: NodeReportSpec,
  vmState: ConditionValue | undefined,
  facts: NodeFacts,
): JudgedIdentity {
  const { node, policy, settings, machineUUID: machine } = facts
  const initialized = !needsInitialization(node)
  const nobodySpeaks = isAgentless(spec) && requiredLevel(node, settings.identity) !== 'asserted'
  if (nobodySpeaks && initialized && facts.previous.vm === undefined) return { kind: 'unspoken' }
  if (policy.state === 'pending') return PENDING
  if (policy.state === 'not-in-force') {
    return initialized ? PENDING : refused('IdentityVerified', policyNotInForce(policy), { ends: false })
  }

  const word = { machine, spec }
  const search = findVM({ ...word, bound: facts.previous.vm }, facts)
  switch (search.outcome) {
    case 'pending':
      return PENDING
    case 'unknown':
      // It proves nothing. Verified Nodes keep their conditions, so that a thousand of them cost no write. But a fault of
      // this VM alone must be told, since nothing else tells it.
      return initialized && !search.alone
        ? PENDING
        : refused('VMFound', search.condition, { ends: false, state: 'waiting' })
    case 'not-found':
      return refused('VMFound', withUnobeyed(vmState ?? search.condition, word, facts), {
        ends: false,
        recheck: machine.uuids,
      })
    case 'refused':
      return refused('VMFound', withUnobeyed(search.condition, word, facts), {
        ends: true,
        recheck: machine.uuids,
      })
    case 'found':
      return judgeVM({ ...search, spec, vmState }, facts)
  }
}

/** Whether the one VM that was found is the Node. */
function judgeVM(
  candidate: FoundVM & { readonly spec: NodeReportSpec; readonly vmState: ConditionValue | undefined },
  facts: NodeFacts,
): JudgedIdentity {
  const { vm, condition: found, rival, move, spec, vmState } = candidate
  const { node, settings, boundTo } = facts
  const { ancestry } = vm
  if (ancestry === undefined) return PENDING
  const stranger = outOfScope(vm, ancestry, settings.datacenters[vm.vCenter.name] ?? [])
  if (stranger !== undefined) return refused('VMFound', stranger, { ends: false })

  const itself = isBoundTo(boundTo, vm)
  const { condition: unique, copies } = judgeUniqueness(candidate, { spec, facts })
  const passed = {
    VMFound: withUnobeyed(
      itself ? (vmState ?? found) : found,
      { machine: facts.machineUUID, spec },
      facts,
      vm,
    ),
    ...(unique === undefined ? {} : { VMUnique: unique }),
  }
  const bound = bindingTo(candidate, facts)
  if (itself && machineState(vm) === 'off')
    return { kind: 'off', vm, binding: bound, conditions: passed, copies }
  const macs = commonMACs(spec, vm)
  const holds = itself || (move?.former === 'same' && boundTo !== undefined)
  const identity = verifyIdentity({ spec, vm, macs, rival, holds }, facts)
  const { level, provenUntil, ends, condition } = identity
  const { vm: before } = facts.previous
  if (level !== undefined && before !== undefined && move === undefined && !isBoundTo(before, vm))
    return refused('VMFound', rebuiltAsOneOf(before, vm, node), { ends: false })
  if (level === undefined) {
    const fields = provenUntil === undefined ? {} : { provenUntil }
    return refused('IdentityVerified', condition, { ends, passed, fields })
  }
  const required = requiredLevel(node, settings.identity)
  if (!reaches(level, required)) {
    return refused('IdentityVerified', levelTooLow(level, required, condition), {
      ends: true,
      passed,
      level,
    })
  }
  return {
    kind: 'verified',
    spec,
    vm,
    macs,
    ancestry,
    level,
    provenUntil,
    binding: bound,
    conditions: { ...passed, IdentityVerified: condition },
    events: [...movedEvents(vm, move, facts.previous), ...levelEvents(facts.previous, level, condition)],
    copies,
  }
}

/** What the status is to say of a Node that is this VM. */
function bindingTo(
  { vm, move }: { readonly vm: VirtualMachine; readonly move?: BindingMove },
  facts: NodeFacts,
): Binding {
  const { previous, node } = facts
  const bound = binding(vm) ?? previous.vm
  const formerVMs = [...formerVMsBeside(vm, facts), ...leftBy(move, previous.vm)]
  const digest = lastClaim(vm, move, facts)
  const named = node.vmAnnotation
  const obeyed = named !== undefined && (named === vm.instanceUUID || named === previous.obeyedAnnotation)
  return {
    ...(bound === undefined ? {} : { vm: bound }),
    ...(formerVMs.length === 0 ? {} : { formerVMs }),
    ...(digest === undefined ? {} : { lastClaim: digest }),
    ...(obeyed ? { obeyedAnnotation: named } : {}),
  }
}

function leftBy(move: BindingMove | undefined, before: BoundVM | undefined): readonly BoundVM[] {
  return move?.former === 'kept' && before !== undefined ? [before] : []
}

/**
 * The digest of the last claim that the VM itself has shown. One that may not be read counts as shown: others may read it. A
 * report whose claim another VM shows is not this one's, though this one seems to run: what is known of it may be old.
 */
function lastClaim(
  vm: VirtualMachine,
  move: BindingMove | undefined,
  { previous, report }: NodeFacts,
): string | undefined {
  if (report?.spec.ok === true) {
    const { value: spec } = report.spec
    const isShown = provesClaim(vm, spec, { nodeByUID: () => undefined }) || vm.unreadable.includes('claim')
    if (isShown && spec.claim.digest !== undefined) return spec.claim.digest
  }
  return isBoundTo(previous.vm, vm) || move?.former === 'same' ? previous.lastClaim : undefined
}

function movedEvents(
  vm: VirtualMachine,
  move: BindingMove | undefined,
  { vm: before }: NodeReportStatus,
): readonly NodeEvent[] {
  if (move === undefined || before === undefined) return []
  const message = printable(
    `the Node is ${describeVM(vm)} now and was ${describeBound(before)}: ${move.what}`,
    MAX_MESSAGE,
  )
  return [{ type: move.former === 'same' ? 'Normal' : 'Warning', reason: 'VMChanged', message }]
}

/** For a level that rises, falls or comes back. The first level is told with the initialization, its loss by the refusal. */
function levelEvents(
  { identityLevel: before, conditions = [] }: NodeReportStatus,
  level: IdentityLevel,
  condition: ConditionValue,
): NodeEvent[] {
  if (before === level) return []
  const again = conditions.some(({ type, status }) => type === 'Initialized' && status === 'True')
  if (before === undefined && !again) return []
  const rises = before === undefined || reaches(level, before)
  const how =
    before === undefined ? `is ${level} again` : `${rises ? 'rises' : 'falls'} from ${before} to ${level}`
  const message = printable(`identity ${how}: ${condition.message}`, MAX_MESSAGE)
  return [{ type: rises ? 'Normal' : 'Warning', reason: condition.reason, message }]
}

function refused(
  type: RefusalDetails['type'],
  condition: ConditionValue,
  details: Omit<RefusalDetails, 'type' | 'condition'>,
): JudgedIdentity {
  return { kind: 'refused', type, condition, ...details }
}
