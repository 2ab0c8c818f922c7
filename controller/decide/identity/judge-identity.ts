import type { IdentityLevel, NodeReportSpec, NodeReportStatus } from '../../../agent/shared/node-report.ts'
import { printable } from '../../../agent/shared/printable.ts'
import { reaches, requiredLevel } from '../../node/identity-level.ts'
import { needsInitialization } from '../../node/needs-initialization.ts'
import type { Ancestry, VirtualMachine } from '../../types/virtual-machine.ts'
import { isAgentless } from '../agentless.ts'
import { isBoundTo } from '../bound-vm.ts'
import { type ConditionValue, MAX_MESSAGE } from '../condition-value.ts'
import { machineState } from '../machine-state.ts'
import type { NodeEvent } from '../node-events.ts'
import type { NodeFacts } from '../node-facts.ts'
import { levelTooLow, policyNotInForce, type RefusalDetails } from '../refusal.ts'
import { outOfScope } from '../topology/scope.ts'
import { verifyIdentity } from './identity.ts'
import { commonMACs } from './mac.ts'
import { findVM, type VMSearch } from './vm.ts'

/** Which VM a Node is, as far as that is known. */
export type JudgedIdentity =
  /** Not known yet, or nothing can be concluded now: an event will come. */
  | { readonly kind: 'pending' }
  /**
   * A Node that another provider initialised and that has no agent: nothing can be verified, and nothing was verified
   * before.
   */
  | { readonly kind: 'unspoken' }
  | ({ readonly kind: 'refused' } & RefusalDetails)
  /** The Node's verified VM, which is off. */
  | {
      readonly kind: 'off'
      readonly vm: VirtualMachine
      readonly conditions: { readonly VMFound: ConditionValue }
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
  readonly conditions: { readonly VMFound: ConditionValue; readonly IdentityVerified: ConditionValue }
  readonly events: readonly NodeEvent[]
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

  const search = findVM({ machine, spec, boundTo: facts.boundTo }, facts)
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
      return refused('VMFound', vmState ?? search.condition, { ends: false, recheck: machine.uuids })
    case 'refused':
      return refused('VMFound', search.condition, { ends: true, recheck: machine.uuids })
    case 'found':
      return judgeVM({ ...search, spec, vmState }, facts)
  }
}

interface FoundVM extends Pick<Extract<VMSearch, { outcome: 'found' }>, 'vm' | 'condition'> {
  readonly spec: NodeReportSpec
  readonly vmState: ConditionValue | undefined
}

/** Whether the one VM that was found is the Node. */
function judgeVM({ vm, condition: found, spec, vmState }: FoundVM, facts: NodeFacts): JudgedIdentity {
  const { node, settings } = facts
  const { ancestry } = vm
  if (ancestry === undefined) return PENDING
  const stranger = outOfScope(vm, ancestry, settings.datacenters[vm.vCenter.name] ?? [])
  if (stranger !== undefined) return refused('VMFound', stranger, { ends: false })

  const itself = isBoundTo(facts.boundTo, vm)
  const passed = { VMFound: itself ? (vmState ?? found) : found }
  if (itself && machineState(vm) === 'off') return { kind: 'off', vm, conditions: passed }
  const macs = commonMACs(spec, vm)
  const identity = verifyIdentity({ spec, vm, macs }, facts)
  const { level, provenUntil, ends, condition } = identity
  if (level === undefined) return refused('IdentityVerified', condition, { ends, passed })
  const required = requiredLevel(node, settings.identity)
  if (!reaches(level, required)) {
    return refused('IdentityVerified', levelTooLow(level, required, condition), {
      ends: true,
      passed,
      level,
    })
  }
  const conditions = { ...passed, IdentityVerified: condition }
  const events = levelEvents(facts.previous, level, condition)
  return { kind: 'verified', spec, vm, macs, ancestry, level, provenUntil, conditions, events }
}

/** For a level that rises, falls or comes back. The first level is told with the initialisation, its loss by the refusal. */
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
