import type { Clock } from '../agent/shared/clock.ts'
import { apply, type Writer } from './apply/apply.ts'
import { decide } from './decide/decide.ts'
import type { Decision, Deletion } from './decide/decision.ts'
import { createAddressWaits } from './gather/address-waits.ts'
import { createExpectations, type Expectations } from './gather/expectations.ts'
import { gather, heldAddresses, type Sources } from './gather/gather.ts'
import type { ProbeTracker } from './probes/probe-tracker.ts'
import type { Node, NodeReport } from './types/node.ts'
import type { ReconcileResult } from './watch/work-queue.ts'

export interface ReconcilerOptions {
  readonly sources: Sources
  readonly writer: Writer
  readonly tracker: Pick<ProbeTracker, 'track' | 'deleting'>
  /** Queues the probe of a Node's VM; its result goes to {@link ProbeTracker.record}. */
  readonly enqueueProbe: (name: string) => void
  readonly clock: Clock
  /** Has a Node looked at, because of what became of another. */
  readonly enqueue: (name: string) => void
  /** Told what each look at a Node came to, and of a Node that is no more. */
  readonly onDecision: (name: string, decision: Decision | undefined, node: Node | undefined) => void
  /** Told of each Node that was deleted. */
  readonly onDeleted: (node: Node, deletion: Deletion) => void
  /** Told what the API server said to a write that it will not have. */
  readonly onRefused: (name: string, message: string) => void
}

/** One turn of the wheel for one Node: gather, decide, apply. By level: it does not matter what changed. */
export function createReconciler(options: ReconcilerOptions): (name: string) => Promise<ReconcileResult> {
  const { writer, clock, tracker, onDecision } = options
  const nodes = createExpectations<Node>(options.sources.node)
  const reports = createExpectations<NodeReport>(options.sources.report)
  const addresses = createAddressWaits(options.enqueue)
  const sources: Sources = { ...options.sources, node: nodes.get, report: reports.get }

  return async (name) => {
    const now = clock.now()
    const facts = gather(name, sources, { now, monotonic: clock.monotonic() })
    if (facts === undefined) {
      nodes.forget(name)
      reports.forget(name)
      tracker.track(name, undefined)
      addresses.waits(name, [])
      addresses.holds(name, [])
      onDecision(name, undefined, undefined)
      return 'done'
    }
    const decision = decide(facts)
    const { deletion } = decision
    const attempt = deletion && tracker.deleting(deletion, facts.node.uid)
    tracker.track(name, decision.probePlan)
    addresses.waits(name, decision.waitsFor ?? [])
    addresses.holds(name, heldAddresses(name, sources))
    if (decision.probePlan?.due === true) options.enqueueProbe(name)
    for (const uuid of decision.recheck ?? []) {
      for (const inventory of sources.inventories) inventory.recheck(uuid)
    }
    const applied = await apply({ node: facts.node, report: facts.report, now }, decision, writer)
    const { refusal } = applied
    if (deletion !== undefined && applied.deleted) {
      attempt?.succeeded()
      nodes.deleted(facts.node)
      options.onDeleted(facts.node, deletion)
    } else attempt?.failed(name, applied.deletionRefused)
    if (refusal !== undefined) options.onRefused(name, refusal.message)
    onDecision(
      name,
      refusal === undefined ? decision : { ...decision, state: 'refused', refusal },
      facts.node,
    )
    remember(nodes, facts.node, applied.nodes)
    if (facts.report !== undefined) remember(reports, facts.report, applied.reports)
    if (decision.requeue || applied.incomplete) return 'requeue'
    return decision.requeueAfter === undefined ? 'done' : { requeueAfter: decision.requeueAfter }
  }
}

function remember<T extends Node | NodeReport>(
  writes: Expectations<T>,
  before: T,
  answers: readonly T[],
): void {
  let last = before
  for (const answer of answers) {
    writes.wrote(last, answer)
    last = answer
  }
}
