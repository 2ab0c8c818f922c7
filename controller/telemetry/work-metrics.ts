import { Counter, Gauge, Histogram, type Registry } from 'prom-client'

export interface WorkMetrics {
  leading(is: boolean): void
  reconciled(seconds: number, outcome: 'done' | 'retry' | 'error'): void
  /** Nodes that wait for their turn, asked at each scrape. A later reader takes the place of the one before. */
  queueDepth(read: () => number): void
  /** Whether the policy for reports was seen to refuse, asked at each scrape of the leader. */
  policyInForce(read: () => boolean): void
  /** Events since the start, asked at each scrape. */
  events(read: () => { readonly written: number; readonly dropped: number }): void
}

export function addWorkMetrics(registry: Registry): WorkMetrics {
  const registers = [registry]
  const leader = new Gauge({
    name: 'rollcall_leader',
    help: '1 while this replica leads, else 0',
    registers,
  })
  const reconciles = new Counter({
    name: 'rollcall_reconciles_total',
    help: 'Nodes looked at, by outcome',
    labelNames: ['outcome'],
    registers,
  })
  for (const outcome of ['done', 'retry', 'error']) reconciles.inc({ outcome }, 0)
  const durations = new Histogram({
    name: 'rollcall_reconcile_duration_seconds',
    help: 'Time that looking at one Node took, writes included',
    buckets: [0.001, 0.005, 0.02, 0.1, 0.5, 1, 5, 15, 30],
    registers,
  })
  let readDepth = () => 0
  new Gauge({
    name: 'rollcall_queue_depth',
    help: 'Nodes that wait for their turn',
    registers,
    collect() {
      this.set(readDepth())
    },
  })
  let readPolicy = () => false
  new Gauge({
    name: 'rollcall_policy_in_force',
    help: '1 on the leader while forged reports are seen to be refused, else 0',
    registers,
    collect() {
      this.set(readPolicy() ? 1 : 0)
    },
  })
  let readEvents = () => ({ written: 0, dropped: 0 })
  new Counter({
    name: 'rollcall_events_written_total',
    help: 'Requests that wrote an Event',
    registers,
    collect() {
      this.reset()
      this.inc(readEvents().written)
    },
  })
  new Counter({
    name: 'rollcall_events_dropped_total',
    help: 'Events that were given up',
    registers,
    collect() {
      this.reset()
      this.inc(readEvents().dropped)
    },
  })
  return {
    leading: (is) => leader.set(is ? 1 : 0),
    reconciled(seconds, outcome) {
      reconciles.inc({ outcome })
      durations.observe(seconds)
    },
    queueDepth(read) {
      readDepth = read
    },
    policyInForce(read) {
      readPolicy = read
    },
    events(read) {
      readEvents = read
    },
  }
}
