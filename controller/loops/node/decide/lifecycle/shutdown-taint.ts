import type { Node, Taint } from '../../../../types/node.ts'
import { machineState, type PowerState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { TAINT_SHUTDOWN } from '../../../../types/well-known.ts'
import { describeVM } from '../bound-vm.ts'
import { type ConditionValue, unknown, yes } from '../condition-value.ts'
import type { NodeEvent } from '../node-events.ts'
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
export function withoutShutdownTaint(taints: readonly Taint[]): readonly Taint[] {
  return taints.some(isShutdownTaint) ? taints.filter((taint) => !isShutdownTaint(taint)) : taints
}

export function isShutdownTaint({ key, effect }: Taint): boolean {
  return key === SHUTDOWN.key && effect === SHUTDOWN.effect
}
