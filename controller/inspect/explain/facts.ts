import type { LeaseRecord } from '../../kubernetes/lease.ts'
import type { Decision } from '../../loops/node/decide/decision.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import type { NodePlan } from '../plan/node-plan.ts'

/** All that an explanation is made from. */
export interface ExplainFacts {
  readonly node: Node
  /** Undefined where there is none. */
  readonly report: NodeReport | undefined
  /** Whether reports could be read at all. */
  readonly reportsRead: boolean
  /** The Lease that its kubelet renews: undefined where there is none, `unread` where it could not be read. */
  readonly kubelet: LeaseRecord | undefined | 'unread'
  /** Who leads, in one line. */
  readonly leader: string
  /** Whether vCenter was to be asked. */
  readonly asked: boolean
  /** What a leader would decide now; undefined where vCenter was not asked, or nothing came of it. */
  readonly fresh: FreshLook | undefined
  /** What was taken for granted by that look, and may be otherwise. */
  readonly assumed: readonly string[]
  /** What could not be found out, and why. */
  readonly unknown: readonly string[]
  /** Milliseconds since the epoch. */
  readonly now: number
}

export interface FreshLook {
  readonly decision: Decision | undefined
  readonly plan: NodePlan
}

export type StepState = 'ok' | 'no' | 'unknown'

/** One link of the chain from the machine to the decision. */
export interface ChainStep {
  readonly name: string
  readonly state: StepState
  /** What is so, in plain words. */
  readonly says: readonly string[]
}

/** Something that must hold before a Node is deleted. */
export interface DeletionItem {
  readonly name: string
  /** In plain words. */
  readonly what: string
  readonly state: StepState
  /** Why it does not hold, or is not known. */
  readonly why?: string
}

export interface Explanation {
  readonly node: string
  /** One sentence. */
  readonly summary: string
  readonly chain: readonly ChainStep[]
  /** Of a Node whose VM is missing. */
  readonly deletion?: readonly DeletionItem[]
  /** What would change it. */
  readonly changes: readonly string[]
  readonly leader: string
  /** What was taken for granted, and may be otherwise. */
  readonly assumed: readonly string[]
  readonly unknown: readonly string[]
}
