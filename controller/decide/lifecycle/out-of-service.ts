import type { LifecycleConfig } from '../../config/config.ts'
import type { Node, Taint } from '../../types/node.ts'
import { LABEL_CONTROL_PLANE, TAINT_OUT_OF_SERVICE } from '../well-known.ts'
import { type Evidence, isFresh } from './evidence.ts'

/** The value tells it from one that a person put there, which only a person takes away. */
export const OUT_OF_SERVICE: Taint = { key: TAINT_OUT_OF_SERVICE, value: 'rollcall', effect: 'NoExecute' }

export interface OutOfServiceFacts {
  readonly node: Node
  readonly evidence: Evidence | undefined
  readonly leadingFor: number
  readonly monotonic: number
  readonly now: number
  readonly settings: LifecycleConfig
}

export interface OutOfService {
  readonly taint: boolean
  readonly probeDue: boolean
  readonly requeueAfter: number | undefined
}

const NOT_YET: OutOfService = { taint: false, probeDue: false, requeueAfter: undefined }
/** Milliseconds after which to ask again about a VM that vCenter itself may be about to start. */
const PROBE_AGAIN = 30_000

/**
 * Whether a Node whose VM is off is out of service: its pods are deleted then, and its volumes detached by force, so it
 * takes a VM that was off for as long as configured, asked for by reference at the beginning and at the end of it, and
 * that nothing is about to start (KEP-2268 asks its user to make sure of that). Undefined where it is not to be called so.
 */
export function judgeOutOfService(facts: OutOfServiceFacts): OutOfService | undefined {
  const { node, evidence, leadingFor, monotonic, settings } = facts
  const { outOfServiceAfter: after } = settings
  if (after === undefined || outOfServiceTaint(node) !== undefined) return undefined
  if (isControlPlane(node) && !settings.outOfServiceControlPlane) return undefined
  if (evidence === undefined) return { ...NOT_YET, probeDue: true }
  if (evidence.off === undefined) return probeAt(evidence.askedAt + Math.min(after, PROBE_AGAIN) - monotonic)
  const left = Math.max(evidence.off.since + after - monotonic, settings.leaderAge - leadingFor)
  if (left > 0) return { ...NOT_YET, requeueAfter: left }
  // The Node's own change will call.
  if (node.ready?.status === 'True') return NOT_YET
  if (!isFresh(evidence, facts) || evidence.off.times < 2) return { ...NOT_YET, probeDue: true }
  return { ...NOT_YET, taint: true }
}

export function isOwnOutOfServiceTaint({ key, value, effect }: Taint): boolean {
  return key === OUT_OF_SERVICE.key && value === OUT_OF_SERVICE.value && effect === OUT_OF_SERVICE.effect
}

/**
 * Without our own taint, where the kubelet of a Node that was called out of service for its machine's absence calls it
 * Ready again: nothing else would ever take it away, and no pod could stay there.
 */
export function backInService({ ready, taints }: Pick<Node, 'ready' | 'taints'>): {
  readonly taints?: readonly Taint[]
} {
  return ready?.status === 'True' && taints.some(isOwnOutOfServiceTaint)
    ? { taints: taints.filter((taint) => !isOwnOutOfServiceTaint(taint)) }
    : {}
}

/** The taint, whoever put it there. */
export function outOfServiceTaint({ taints }: Pick<Node, 'taints'>): Taint | undefined {
  return taints.find(({ key, effect }) => key === OUT_OF_SERVICE.key && effect === OUT_OF_SERVICE.effect)
}

function isControlPlane({ labels }: Node): boolean {
  return labels[LABEL_CONTROL_PLANE] !== undefined
}

function probeAt(wait: number): OutOfService {
  return wait > 0 ? { ...NOT_YET, requeueAfter: wait } : { ...NOT_YET, probeDue: true }
}
