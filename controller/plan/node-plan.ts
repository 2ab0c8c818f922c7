import type { IdentityLevel } from '../../agent/contract.ts'
import type { Decision } from '../decide/decision.ts'
import { isUninitialized } from '../node/uninitialized.ts'
import { LABEL_IDENTITY_LEVEL } from '../node/well-known.ts'
import type { Node, NodeReport } from '../types/node.ts'

/** One thing that would be another. A list of addresses or taints is one text, as `kubectl` prints it. */
export interface Change {
  /** `labels.KEY`, `addresses`, `taints`, `providerID` or `deletion`. */
  readonly what: string
  /** Undefined where it is not there. */
  readonly from: string | undefined
  readonly to: string | undefined
}

/** What would become of one Node. */
export interface NodePlan {
  readonly name: string
  /** How strongly its VM would be known; undefined where it would not. */
  readonly level: IdentityLevel | undefined
  /** The label that shows the level is Rollcall's own, and not among these. */
  readonly changes: readonly Change[]
  /** Whether the label that shows the level would change. */
  readonly levelLabel: boolean
  /** Whether a vCenter has not answered for it. */
  readonly unanswered: boolean
  /** What is not as it should be, or is not known: a condition's reason and message. */
  readonly remarks: readonly string[]
}

export interface PlannedNode {
  readonly before: Node
  readonly after: Node
  readonly report: NodeReport | undefined
  readonly decision: Decision | undefined
  /** vCenters that had not answered when the plan was made, by name. */
  readonly silent: readonly string[]
  /** Whether Nodes whose VM is gone are deleted. */
  readonly deletes: boolean
}

/** Compares a Node with what the leader would make of it. */
export function planOf({ before, after, report, decision, silent, deletes }: PlannedNode): NodePlan {
  const labels = [...new Set([...Object.keys(before.labels), ...Object.keys(after.labels)])].sort()
  const label = (key: string) => change(`labels.${key}`, before.labels[key], after.labels[key])
  const missing = decision?.probePlan?.missing === true
  return {
    name: before.name,
    level: decision?.level,
    changes: [
      ...labels.filter((key) => key !== LABEL_IDENTITY_LEVEL).flatMap(label),
      ...change('providerID', before.providerID, after.providerID),
      ...change('addresses', addressText(before), addressText(after)),
      ...change('taints', taintText(before), taintText(after)),
      ...(missing && deletes ? change('deletion', undefined, 'once its VM is proven gone') : []),
    ],
    levelLabel: label(LABEL_IDENTITY_LEVEL).length > 0,
    unanswered: silent.length > 0,
    remarks: [
      ...silent.map((name) => `vCenter ${name} had not answered`),
      ...(isUninitialized(after) || missing ? conditionTexts(report, decision) : []),
    ],
  }
}

function change(what: string, from: string | undefined, to: string | undefined): readonly Change[] {
  return from === to ? [] : [{ what, from, to }]
}

function conditionTexts(report: NodeReport | undefined, decision: Decision | undefined): readonly string[] {
  const wanted = decision?.refusal?.condition ?? 'DeletionPending'
  const conditions = decision?.status?.conditions ?? report?.status.conditions ?? []
  const found = conditions.filter(({ type, status }) => type === wanted && status !== 'True')
  if (found.length > 0) return found.map(({ reason, message }) => `${reason}: ${message}`)
  return decision?.refusal === undefined ? [] : [decision.refusal.reason]
}

function addressText({ addresses }: Node): string | undefined {
  return addresses.map(({ type, address }) => `${type}=${address}`).join(', ') || undefined
}

function taintText({ taints }: Node): string | undefined {
  return (
    taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`).join(', ') ||
    undefined
  )
}
