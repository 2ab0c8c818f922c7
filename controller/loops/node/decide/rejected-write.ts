import type { NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import {
  type ConditionValue,
  type ConditionValues,
  mergeConditions,
  no,
  unknown,
  yes,
} from '../../../types/condition-value.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { isHuge } from '../facts/labels-read.ts'
import { needsInitialization } from '../facts/needs-initialization.ts'
import type { Decision } from './decision.ts'
import { isShutdownTaint, withoutTaints } from './lifecycle/shutdown-taint.ts'
import { conditionEvents, warning, words } from './node-events.ts'

/** A write of a decision that the API server rejected or did not answer in time, and what it said. */
export interface RejectedWrite {
  readonly write: 'node' | 'status' | 'report'
  readonly outcome: 'rejected' | 'unanswered'
  readonly message: string
}

export interface RejectedDecision extends Decision {
  readonly refusal: NonNullable<Decision['refusal']> & { readonly message: string }
}

/**
 * The decision that takes the place of one of which the API server rejected a write: it changes nothing any more, and says
 * why. Where the status is what is rejected, only an Event can say so.
 *
 * @param target the report with the status that is on record
 */
export function decideOnRejectedWrite(
  { write, outcome, message }: RejectedWrite,
  { patch, create: _, deletion: __, confirmLease: ___, status, ...rest }: Decision,
  { node, report }: { readonly node: Node; readonly report: NodeReport | undefined },
  now: number,
): RejectedDecision {
  const condition = outcome === 'unanswered' ? writesSlow(write, message, node) : CONDITIONS[write](message)
  const told: RejectedDecision = {
    ...rest,
    state: 'refused',
    refusal: { condition: 'Initialized', ...words(condition) },
    events: [warning(condition)],
    requeue: true,
  }
  if (write !== 'node' || status === undefined || report === undefined) return told
  const conditions = { Initialized: condition }
  const before = report.status.conditions ?? []
  const untainted = patch?.taints !== undefined && !node.taints.some(isShutdownTaint)
  // What it would have become was never written.
  const others = (status.conditions ?? [])
    .filter(({ type }) => type !== 'Initialized')
    .map((each) => (untainted ? withoutTaints(each, outcome) : each))
  const initialized = before.filter(({ type }) => type === 'Initialized')
  return {
    ...told,
    status: {
      ...status,
      conditions: mergeConditions([...others, ...initialized], conditions, {
        now,
        generation: report.generation,
      }),
    },
    events: conditionEvents(before, conditions),
  }
}

/**
 * What to say where a patch of the Node was refused, and the Node is only left as it is now: nothing is refused any more.
 * Where this decision's own patch is refused, the refusal is told instead.
 *
 * @param instead why a Node that still waits is not initialized
 */
export function noLongerRefused(
  node: Pick<Node, 'taints' | 'providerID'>,
  { conditions = [] }: NodeReportStatus,
  instead: ConditionValue,
): ConditionValues {
  if (!conditions.some(({ reason }) => reason === 'NodePatchRefused' || reason === 'NodeWritesSlow'))
    return {}
  return {
    Initialized: needsInitialization(node)
      ? no(instead.reason, instead.message)
      : yes('Initialized', 'the Node is initialized; the API server accepts its patches again'),
  }
}

/** The answer may be late and the write stored all the same. */
function writesSlow(write: RejectedWrite['write'], message: string, node: Node): ConditionValue {
  const { labelCount, taints } = node
  const what = write === 'node' ? 'this Node' : "this Node's NodeReport"
  const remedy = isHuge(node)
    ? `it has ${labelCount} labels and ${taints.length} taints: remove those that nobody needs`
    : 'look for an admission webhook or policy that is slow for it'
  return unknown(
    'NodeWritesSlow',
    `the API server is slow to write ${what}: ${message}; ${remedy}. The write is retried, alongside at most one other slow Node's, until one completes quickly`,
  )
}

const CONDITIONS: Readonly<Record<RejectedWrite['write'], (message: string) => ConditionValue>> = {
  node: (message) =>
    no(
      'NodePatchRefused',
      `the API server rejects the patch of this Node: ${message}; look for an admission webhook or policy, or a missing right of rollcall-controller`,
    ),
  status: (message) =>
    no(
      'StatusRefused',
      `the API server refuses the status of this Node's NodeReport: ${message}; look for an admission webhook or policy, and apply the CRD and the RBAC of this controller's release`,
    ),
  report: (message) =>
    no(
      'ReportRefused',
      `the API server refuses a NodeReport for this Node, which has no agent: ${message}; apply the CRD, the policies and the RBAC of this controller's release`,
    ),
}
