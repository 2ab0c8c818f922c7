import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { InventoryMetrics, RunningInventory } from '../vcenter/running-inventory.ts'
import { createLabelGuard } from './label-guard.ts'

export interface VCenterMetrics {
  /** What one vCenter's inventory reports to. */
  vCenter(name: string): InventoryMetrics
  /** The state of each vCenter, read at each scrape. A later reader replaces an earlier one. */
  vCentersUp(read: () => Iterable<VCenterState>): void
  /** Of each vCenter that has a Secret or folder, whether that gives user and password, read at each scrape. */
  credentials(read: () => ReadonlyMap<string, boolean>): void
}

/** What is read of a vCenter at each scrape. */
export type VCenterState = Pick<
  RunningInventory,
  'vCenter' | 'connected' | 'unsteady' | 'provableEverywhere' | 'certificateExpiry'
>

/** A long poll, so its duration says nothing. */
const LONG_POLL = 'WaitForUpdatesEx'

export function addVCenterMetrics(registry: Registry): VCenterMetrics {
  const registers = [registry]
  const calls = new Counter({
    name: 'rollcall_vcenter_calls_total',
    help: 'Calls to vCenter by operation (Login counts the sessions) and outcome: ok, a fault or a failure',
    labelNames: ['vcenter', 'operation', 'outcome'],
    registers,
  })
  const durations = new Histogram({
    name: 'rollcall_vcenter_call_duration_seconds',
    help: 'Duration of calls to vCenter, without long polls',
    labelNames: ['vcenter', 'operation'],
    buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60],
    registers,
  })
  const reconnects = new Counter({
    name: 'rollcall_vcenter_reconnects_total',
    help: 'Reconnects to vCenter by reason',
    labelNames: ['vcenter', 'reason'],
    registers,
  })
  const corrections = new Counter({
    name: 'rollcall_vcenter_resync_corrections_total',
    help: 'VMs whose change vCenter had not pushed, found by a resync',
    labelNames: ['vcenter'],
    registers,
  })
  let readUp: () => Iterable<VCenterState> = () => []
  function addState(
    name: string,
    help: string,
    stateOf: (state: VCenterState) => number | boolean | undefined,
  ): void {
    addVCenterGauge(registry, name, help, () =>
      Array.from(readUp(), (each) => [each.vCenter, stateOf(each)] as const),
    )
  }
  /** What each inventory has said last, as long as its vCenter is followed. */
  function addSaid(name: string, help: string): Map<string, number> {
    const said = new Map<string, number>()
    addState(name, help, ({ vCenter }) => said.get(vCenter))
    return said
  }
  const lastResync = addSaid(
    'rollcall_vcenter_last_resync_timestamp_seconds',
    'Time of the last resync of all VMs; absent before the first; only on the leader',
  )
  const unwatched = addSaid(
    'rollcall_vcenter_unwatched_vms',
    'VMs whose changes vCenter does not push to this account; a resync reads them; only on the leader',
  )
  addState(
    'rollcall_vcenter_up',
    '1 while there is a session with vCenter and it answers, else 0; only on the leader',
    (each) => each.connected(),
  )
  addState(
    'rollcall_vcenter_unsteady',
    '1 while the connection to vCenter fails again and again although vCenter answers in between, else 0; only on the leader',
    (each) => each.unsteady() !== undefined,
  )
  addState(
    'rollcall_vcenter_absence_provable',
    "1 while the account may read all that the proof of a VM's absence rests on, else 0; only on the leader",
    (each) => {
      const proof = each.provableEverywhere()
      // Undefined while nobody knows.
      return proof && proof.state === 'proven'
    },
  )
  addState(
    'rollcall_vcenter_certificate_expiry_timestamp_seconds',
    'Expiry of the certificate that vCenter last showed, trusted or not; only on the leader',
    (each) => {
      const expiry = each.certificateExpiry()
      return expiry === undefined ? undefined : expiry / 1000
    },
  )
  let readCredentials: () => ReadonlyMap<string, boolean> = () => new Map()
  addVCenterGauge(
    registry,
    'rollcall_vcenter_credential_usable',
    '1 while the Secret or folder of a vCenter gives its user and password, else 0; on every replica',
    () => readCredentials(),
  )
  const outcomes = createLabelGuard()
  return {
    vCenter(vcenter) {
      for (const said of [lastResync, unwatched]) said.delete(vcenter)
      return {
        call(operation, outcome, seconds) {
          calls.inc({ vcenter, operation, outcome: outcomes(outcome) })
          if (operation !== LONG_POLL) durations.observe({ vcenter, operation }, seconds)
        },
        reconnect: (reason) => reconnects.inc({ vcenter, reason: outcomes(reason) }),
        unwatched: (vms) => void unwatched.set(vcenter, vms),
        resynced(count, at) {
          corrections.inc({ vcenter }, count)
          lastResync.set(vcenter, at)
        },
      }
    },
    vCentersUp(read) {
      readUp = read
    },
    credentials(read) {
      readCredentials = read
    },
  }
}

/** Adds a gauge with a sample for each vCenter that has a value, read at each scrape. */
export function addVCenterGauge(
  registry: Registry,
  name: string,
  help: string,
  read: () => Iterable<readonly [vCenter: string, value: number | boolean | undefined]>,
): void {
  new Gauge({
    name,
    help,
    labelNames: ['vcenter'],
    registers: [registry],
    collect() {
      this.reset()
      for (const [vcenter, value] of read()) if (value !== undefined) this.set({ vcenter }, Number(value))
    },
  })
}
