import type { ConditionType, IdentityLevel, NodeReportStatus } from '../../agent/contract.ts'
import type { Node } from '../facts/node.ts'
import type { PolicyProof } from '../facts/policy-proof.ts'
import type { Decision } from './decision.ts'
import { conditionEvents, untaintedEvents } from './events.ts'
import { levelLabel } from './node-patch.ts'
import { type Standing, statusWith } from './status.ts'
import { isUninitialized } from './uninitialized.ts'
import { no, unknown, type Verdict, type Verdicts } from './verdict.ts'

export interface Refused {
  readonly condition: ConditionType
  readonly verdict: Verdict
  /**
   * Whether this ends what was verified before. What merely cannot be verified again, as a report that is garbled or a VM
   * that is not seen, ends nothing.
   */
  readonly ends: boolean
  /** What was found out before it came to this. */
  readonly passed?: Verdicts
  /** The level that was reached all the same. */
  readonly level?: IdentityLevel
  readonly facets?: Partial<NodeReportStatus>
}

export interface RefusalContext {
  readonly node: Node
  readonly standing: Standing
  readonly now: number
}

/** The decision that leaves a Node as it is, but for the label that shows its level, and says why. */
export function refuse({ node, standing, now }: RefusalContext, refused: Refused): Decision {
  const { condition, ends, passed = {}, facets = {} } = refused
  const { identityLevel: before, ...rest } = standing.status
  const level = refused.level ?? (ends ? undefined : before)
  const stands = !ends && before !== undefined
  const verdict =
    stands && condition === 'IdentityVerified' ? doubted(refused.verdict, before) : refused.verdict
  const verdicts: Verdicts = { ...passed, [condition]: verdict }
  if (condition === 'VMFound' && verdict.status === 'False' && !stands) {
    verdicts.IdentityVerified = unknown(verdict.reason, `no VM to verify: ${verdict.message}`)
  }
  if (isUninitialized(node)) verdicts.Initialized = no(verdict.reason, verdict.message)
  const labels = isUninitialized(node) && level !== undefined ? {} : levelLabel(node, level)
  const kept: NodeReportStatus =
    stands && standing.status.provenUntil !== undefined ? { provenUntil: standing.status.provenUntil } : {}
  return {
    state: 'refused',
    ...(level === undefined ? {} : { level }),
    refusal: { condition, reason: verdict.reason },
    ...(Object.keys(labels).length === 0 ? {} : { patch: { labels } }),
    status: statusWith({ ...standing, status: rest }, verdicts, now, {
      ...kept,
      ...(level === undefined ? {} : { identityLevel: level }),
      ...facets,
    }),
    events: [
      ...conditionEvents(standing.status.conditions ?? [], { [condition]: verdict }),
      ...untaintedEvents(node, standing.status, now),
    ],
    // What ends a refusal may be elsewhere (another Node, a tag, a privilege); a look costs no call.
    retry: true,
  }
}

/** What was verified stands, and cannot be verified again at present. */
function doubted({ reason, message }: Verdict, level: IdentityLevel): Verdict {
  return unknown(
    reason,
    `${message}; what was verified before (${level}) stands until something contradicts it`,
  )
}

/** @param why how the level that was reached was judged */
export function levelTooLow(level: IdentityLevel, required: IdentityLevel, why: Verdict): Verdict {
  return no(
    'LevelTooLow',
    `the identity is ${level}, the configuration requires ${required} (identity.require): ${why.message}`,
  )
}

/** Where strangers may write reports, none is believed. */
export function policyNotInForce({ message }: Extract<PolicyProof, { state: 'not-in-force' }>): Verdict {
  return unknown('PolicyNotInForce', `no report is believed: ${message}`)
}
