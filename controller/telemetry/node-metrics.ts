import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Clock } from '../clock.ts'
import type { Decision } from '../decide/decision.ts'
import type { Node } from '../types/node.ts'
import { createReasonGuard } from './label-value.ts'

export interface NodeMetrics {
  /**
   * A Node was looked at, and what was decided was done or refused; without a decision it is no more. To be called once
   * for each look: a refusal that comes and goes in between would count as new each time.
   */
  decided(name: string, decision: Decision | undefined, node: Node | undefined): void
  /** Of every Node that is known. */
  decisions(): Iterable<Decision>
  /** Forgets every Node, when another replica takes them over. */
  forgetNodes(): void
}

type State = Decision['state']
const STATES = [
  'invisible',
  'waiting',
  'refused',
  'initializing',
  'initialized',
] as const satisfies readonly State[]
const LEVELS = ['asserted', 'reported', 'proven'] as const

interface Known {
  readonly decision: Decision
  readonly uid: string | undefined
  /** Seen with the taint, and its end not yet told. */
  readonly initializing: boolean
}

export function addNodeMetrics(registry: Registry, clock: Clock): NodeMetrics {
  const known = new Map<string, Known>()
  addGauges(registry, known)
  const refusals = new Counter({
    name: 'rollcall_node_refusals_total',
    help: 'Times that a Node was held up for a new reason',
    labelNames: ['condition', 'reason'],
    registers: [registry],
  })
  const initialization = new Histogram({
    name: 'rollcall_node_initialization_seconds',
    help: 'Time from the creation of a Node until it was initialised',
    buckets: [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600],
    registers: [registry],
  })

  return {
    decided(name, decision, node) {
      if (decision === undefined) {
        known.delete(name)
        return
      }
      const last = known.get(name)
      const before = last?.uid === node?.uid ? last : undefined
      const { refusal } = decision
      const held = before?.decision.refusal
      if (
        refusal !== undefined &&
        (refusal.condition !== held?.condition || refusal.reason !== held.reason)
      ) {
        refusals.inc({ condition: refusal.condition, reason: refusal.reason })
      }
      const began = before?.initializing === true || decision.state === 'initializing'
      const done = began && decision.state === 'initialized'
      if (done && node !== undefined) {
        initialization.observe(Math.max(0, (clock.now() - Date.parse(node.creationTimestamp)) / 1000))
      }
      known.set(name, { decision, uid: node?.uid, initializing: began && !done })
    },
    *decisions() {
      for (const { decision } of known.values()) yield decision
    },
    forgetNodes: () => known.clear(),
  }
}

/** Counted when somebody asks: a thousand Nodes cost less than keeping count through every change. */
function addGauges(registry: Registry, known: ReadonlyMap<string, Known>): void {
  const registers = [registry]
  new Gauge({
    name: 'rollcall_nodes',
    help: "Nodes by state; invisible ones are not Rollcall's; only on the leader",
    labelNames: ['state'],
    registers,
    collect() {
      for (const state of STATES) this.set({ state }, 0)
      for (const { decision } of known.values()) this.inc({ state: decision.state })
    },
  })
  new Gauge({
    name: 'rollcall_nodes_held_up',
    help: 'Nodes that wait or are refused, by the condition and the reason that stand in the way',
    labelNames: ['condition', 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { decision } of known.values()) {
        if (decision.refusal !== undefined) {
          this.inc({ condition: decision.refusal.condition, reason: decision.refusal.reason })
        }
      }
    },
  })
  const guard = createReasonGuard()
  new Gauge({
    name: 'rollcall_node_conditions',
    help: 'Conditions of Nodes that are not True, by status and reason',
    labelNames: ['condition', 'status', 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { decision } of known.values()) {
        for (const { type, status, reason } of decision.status?.conditions ?? []) {
          // The one condition that is better not True; it has a metric of its own.
          if (status === 'True' || type === 'DeletionPending') continue
          this.inc({ condition: type, status, reason: guard(reason) })
        }
      }
    },
  })
  new Gauge({
    name: 'rollcall_nodes_verified',
    help: 'Nodes by the level to which their identity is verified',
    labelNames: ['level'],
    registers,
    collect() {
      for (const level of LEVELS) this.set({ level }, 0)
      for (const { decision } of known.values())
        if (decision.level !== undefined) this.inc({ level: decision.level })
    },
  })
}
