import { Counter, Gauge, type Registry } from 'prom-client'
import type { Decision } from '../decide/decision.ts'
import { createReasonGuard } from './label-value.ts'

/** How many Nodes of one vCenter may have lost their VM. */
export interface VCenterLifecycle {
  /** Its name in the configuration. */
  readonly vCenter: string
  /** Verified Nodes whose VM it does not show. */
  readonly missing: number
  readonly brakeClosed: boolean
}

export interface LifecycleMetrics {
  /** How each vCenter stands, asked at each scrape. A later reader takes the place of the one before. */
  lifecycle(read: () => Iterable<VCenterLifecycle>): void
  /** A Node was deleted, whose VM was one of this vCenter. */
  nodeDeleted(vCenter: string): void
}

/** @param decisions of the Nodes as they were last looked at */
export function addLifecycleMetrics(
  registry: Registry,
  decisions: () => Iterable<Decision>,
): LifecycleMetrics {
  const registers = [registry]
  let read: () => Iterable<VCenterLifecycle> = () => []
  const deleted = new Counter({
    name: 'rollcall_nodes_deleted_total',
    help: 'Nodes that were deleted because their VM was proven to be gone',
    labelNames: ['vcenter'],
    registers,
    collect() {
      // A series that began with 1 would show no increase.
      for (const { vCenter } of read()) this.inc({ vcenter: vCenter }, 0)
    },
  })
  const guard = createReasonGuard()
  new Gauge({
    name: 'rollcall_node_deletions_pending',
    help: 'Nodes whose VM is gone (True) or may be (Unknown), by the first reason why they are kept',
    labelNames: ['status', 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { status } of decisions()) {
        const pending = status?.conditions?.find(({ type }) => type === 'DeletionPending')
        if (pending === undefined || pending.status === 'False') continue
        this.inc({ status: pending.status, reason: guard(pending.reason) })
      }
    },
  })
  new Gauge({
    name: 'rollcall_vms_missing',
    help: 'Verified Nodes whose VM their vCenter does not show; only on the leader',
    labelNames: ['vcenter'],
    registers,
    collect() {
      this.reset()
      for (const { vCenter, missing } of read()) this.set({ vcenter: vCenter }, missing)
    },
  })
  new Gauge({
    name: 'rollcall_deletion_brake_closed',
    help: '1 while Nodes are kept since too many VMs vanished at once, else 0; only on the leader',
    labelNames: ['vcenter'],
    registers,
    collect() {
      this.reset()
      for (const { vCenter, brakeClosed } of read()) this.set({ vcenter: vCenter }, brakeClosed ? 1 : 0)
    },
  })
  return {
    lifecycle(reader) {
      read = reader
    },
    nodeDeleted: (vcenter) => deleted.inc({ vcenter }),
  }
}
