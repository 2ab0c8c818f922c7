import { sameMachineUUID } from '../../../../../agent/shared/uuid.ts'
import { type ConditionValue, unknown, yes } from '../../../../types/condition-value.ts'
import type { Node, Taint } from '../../../../types/node.ts'
import { machineState, type PowerState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { TAINT_SHUTDOWN } from '../../../../types/well-known.ts'
import type { NodeMachines } from '../../facts/machines.ts'
import { needsInitialization } from '../../facts/needs-initialization.ts'
import { isAgentless, specOf } from '../../facts/previous-status.ts'
import { judgeProviderID } from '../../facts/provider-id.ts'
import { describeVM } from '../bound-vm.ts'
import type { Draft } from '../draft.ts'
import { isPossible, machinesAmong } from '../identity/fitting-vms.ts'
import type { NodeEvent } from '../node-events.ts'
import type { NodeFacts } from '../node-facts.ts'
import { outOfScope } from '../topology/scope.ts'
import { isOwnOutOfServiceTaint, OUT_OF_SERVICE } from './out-of-service.ts'

/** As the cloud node lifecycle controller writes it: without a value. */
export const SHUTDOWN: Taint = { key: TAINT_SHUTDOWN, effect: 'NoSchedule' }

const POWER: Readonly<Record<PowerState, string>> = {
  poweredOn: 'running',
  poweredOff: 'powered off',
  suspended: 'suspended',
}

const KEEPS_AWAY = 'no new pods are scheduled to the Node until it runs again'

/**
 * The taints that follow from a VM's states. When the VM is off the shutdown taint is added at once, whatever the Node's
 * Ready condition says; when it runs again the taint is removed; while the state is unknown nothing changes.
 */
export function judgeShutdown(
  vm: VirtualMachine,
  node: Node,
  wanted: {
    /** `lifecycle.shutdownTaint`; where it is false, somebody else adds and removes that taint, or nobody. */
    readonly shutdown: boolean
    readonly outOfService: boolean
  },
): {
  /** For the condition VMFound, where there is more to say than that the VM is found. */
  readonly condition?: ConditionValue
  /** All taints that the Node should have, where they differ from those it has. */
  readonly taints?: readonly Taint[]
  readonly events: readonly NodeEvent[]
} {
  const { taints } = node
  const condition = stoppedVM(
    vm,
    wanted.shutdown
      ? KEEPS_AWAY
      : 'lifecycle.shutdownTaint is false, so pods may still be scheduled to the Node',
  )
  if (condition !== undefined) {
    if (machineState(vm) === 'unknown') return { condition, events: [] }
    const added = [
      ...(wanted.shutdown && !taints.some(isShutdownTaint) ? [SHUTDOWN] : []),
      ...(wanted.outOfService ? [OUT_OF_SERVICE] : []),
    ]
    if (added.length === 0) return { condition, events: [] }
    return { condition, taints: [...taints, ...added], events: added.map((taint) => tainted(taint, vm)) }
  }
  const kept = taints.filter((taint) => !isTaken(taint, wanted.shutdown))
  if (kept.length === taints.length) return { events: [] }
  const runs = yes('VMRuns', `${describeVM(vm)} runs again; its shutdown taints are removed`)
  return { taints: kept, events: [{ type: 'Normal', ...runs }] }
}

/**
 * Sets the shutdown taint of an initialized Node that was never verified, such as one that a CPI initialized and whose VM was
 * off before this controller first saw it. Only the provider ID points to the VM, and a copy would fit it as well: so the VM
 * must be the only one that fits, and the Node must not be Ready. A Ready Node runs, whatever a VM with its UUID does.
 */
export function followUnverifiedVM(
  draft: Draft,
  vm: VirtualMachine,
  machines: NodeMachines,
  facts: NodeFacts,
): Draft {
  const { node, settings } = facts
  if (machines.bound || node.ready?.status === 'True' || !isOnlyVM(vm, machines, facts)) return draft
  const { shutdownTaint: shutdown } = settings.lifecycle
  const { taints, events } = judgeShutdown(vm, node, { shutdown, outOfService: false })
  return taints === undefined ? draft : { ...draft, taints, events: [...draft.events, ...events] }
}

/** Removes the shutdown taint from a Ready Node that was never verified, whatever the vCenters show. */
export function runsUnverified(draft: Draft, { bound }: NodeMachines, { node, settings }: NodeFacts): Draft {
  const runs = !bound && node.ready?.status === 'True' && settings.lifecycle.shutdownTaint
  return runs ? { ...draft, taints: withoutShutdownTaint(draft.taints) } : draft
}

/** Whether everything about the Node points to this VM alone, and no other Node points to it. */
function isOnlyVM(vm: VirtualMachine, { machines }: NodeMachines, facts: NodeFacts): boolean {
  const { node, report, rivals, lookups, settings } = facts
  const { biosUUID, ancestry } = vm
  if (needsInitialization(node) || judgeProviderID(node.providerID, biosUUID) !== 'ours') return false
  if (biosUUID === undefined || ancestry === undefined || vm.template || rivals.length > 0) return false
  if (machines.some((each) => !sameMachineUUID(each.biosUUID, biosUUID))) return false
  const isAlone = lookups.every(
    ({ lookup }) =>
      lookup.state === 'answered' &&
      lookup.incomplete === undefined &&
      machinesAmong(lookup.vms).every((each) => each === vm),
  )
  const spec = specOf(report, node)
  const fits = spec === undefined || isAgentless(spec) || isPossible(vm, spec, facts)
  return (
    isAlone && fits && outOfScope(vm, ancestry, settings.datacenters[vm.vCenter.name] ?? []) === undefined
  )
}

/**
 * The condition VMFound of a VM that does not run, or of which nobody knows whether it does; undefined where it runs.
 *
 * @param effect what that means for its Node, if it is off
 */
export function stoppedVM(vm: VirtualMachine, effect: string): ConditionValue | undefined {
  const state = machineState(vm)
  if (state === 'unknown') return notConnected(vm)
  if (state !== 'off') return undefined
  const reason = vm.powerState === 'suspended' ? 'VMSuspended' : 'VMPoweredOff'
  return yes(reason, `${describeVM(vm)} is ${POWER[vm.powerState]}: ${effect}`)
}

/**
 * What is to be said instead where the API server has not accepted the Node's taints, or did not answer: what they would do is
 * not so, or nobody knows.
 */
export function withoutTaints<T extends Pick<ConditionValue, 'message'>>(
  condition: T,
  outcome: 'rejected' | 'unanswered',
): T {
  const message = condition.message.replace(
    KEEPS_AWAY,
    outcome === 'rejected'
      ? 'the API server rejected the taint that keeps new pods away, so pods may still be scheduled to the Node'
      : 'the API server has not yet confirmed the taint that keeps new pods away, so pods may still be scheduled to the Node',
  )
  return { ...condition, message }
}

function tainted({ key, effect }: Taint, vm: VirtualMachine): NodeEvent {
  const what = `${describeVM(vm)} is ${POWER[vm.powerState]}`
  return key === SHUTDOWN.key
    ? {
        type: 'Warning',
        reason: 'VMShutDown',
        message: `${what}; the taint ${key}:${effect} keeps new pods away until it runs again`,
      }
    : {
        type: 'Warning',
        reason: 'OutOfService',
        message: `${what}, and has been for as long as lifecycle.outOfServiceAfter requires; the taint ${key}:${effect} lets its volumes go to other nodes until it runs again`,
      }
}

function notConnected(vm: VirtualMachine): ConditionValue {
  return unknown(
    'VMNotConnected',
    `${describeVM(vm)} is ${vm.connectionState}, so nobody knows whether it runs, and the Node is kept as it is; bring its host and datastore back`,
  )
}

function isTaken(taint: Taint, shutdown: boolean): boolean {
  return (shutdown && isShutdownTaint(taint)) || isOwnOutOfServiceTaint(taint)
}

/** The same taints where it is not among them. */
function withoutShutdownTaint(taints: readonly Taint[]): readonly Taint[] {
  return taints.some(isShutdownTaint) ? taints.filter((taint) => !isShutdownTaint(taint)) : taints
}

export function isShutdownTaint({ key, effect }: Taint): boolean {
  return key === SHUTDOWN.key && effect === SHUTDOWN.effect
}
