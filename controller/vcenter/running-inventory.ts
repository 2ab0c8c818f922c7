/** What runs and watches an inventory; and the one that asks nothing, because no credential is known. */
import { serverKey, type VCenterConfig } from '../config/config.ts'
import type { DatacenterPath } from '../config/datacenter-pattern.ts'
import { aborted } from '../lib/tasks.ts'
import type { Inventory, Proof, VCenterFailure } from '../types/inventory.ts'
import type { TagLack } from '../types/virtual-machine.ts'

/** An inventory and its main loop. */
export interface RunningInventory extends Inventory {
  /**
   * Connects and keeps the inventory up to date, whatever vCenter does, until the signal aborts; then logs out within 3 s
   * and resolves. Throws only for a defect. To be called once.
   */
  run(signal: AbortSignal): Promise<void>
  /** To be called when the configured password has changed: it is tried without further waiting. */
  passwordChanged(): void
  /** Whether the vCenter answers: false before the first connection and while a failure is shown. */
  connected(): boolean
  /** Why it fails again and again, although it answers in between, so that changes are seen late; undefined where it does not. */
  unsteady(): VCenterFailure | undefined
  /** Whether the absence of all followed VMs could be proven; undefined while not known. See {@link Inventory.provable}. */
  provableEverywhere(): Proof | undefined
  /** As the account sees them; undefined before they were read, and where they may not be. */
  datacenters(): readonly DatacenterPath[] | undefined
  /** Why there are no tags of a configured category, as far as is known. */
  lackingCategories(): ReadonlyMap<string, TagLack>
  /** When the last seen certificate expires, milliseconds since the epoch; undefined before the first. */
  certificateExpiry(): number | undefined
}

/** What an inventory reports about its own work. */
export interface InventoryMetrics {
  /**
   * A call has ended. `operation` is the SOAP operation or `REST <METHOD> <resource>`; `outcome` is `ok`, the name of
   * a fault, or a failure's reason.
   */
  call(operation: string, outcome: string, seconds: number): void
  /** The inventory reconnects, for this reason. */
  reconnect(reason: string): void
  /** Number of followed VMs that vCenter does not let us watch. */
  unwatched(vms: number): void
  /** All VMs were read again at this time (seconds since the epoch); `corrections` differed from what push had told. */
  resynced(corrections: number, at: number): void
}

/**
 * The inventory of a vCenter whose user and password are not known: nothing is sent. Once they are known, another one takes
 * its place.
 */
export function withoutCredential(
  { name: vCenter, server, port }: Pick<VCenterConfig, 'name' | 'server' | 'port'>,
  missing: NonNullable<VCenterConfig['noCredential']>,
): RunningInventory {
  const failure: VCenterFailure | undefined =
    missing.state === 'failed' ? { vCenter, reason: 'NoCredential', message: missing.message } : undefined
  const nothing = () => undefined
  return {
    vCenter,
    instanceUUID: () => '',
    run: aborted,
    passwordChanged: nothing,
    follow: nothing,
    unfollow: nothing,
    recheck: nothing,
    readSince: () => false,
    lookup: () => (failure === undefined ? { state: 'pending' } : { state: 'unknown', failure }),
    probe: async () => ({
      vCenter,
      server: serverKey({ server, port }),
      vCenterInstanceUUID: undefined,
      session: 0,
      // The VM may be its own.
      ...unanswered(true, failure ?? notConnected(vCenter)),
    }),
    provable: nothing,
    provableEverywhere: nothing,
    fullReads: () => 0,
    failure: () => failure,
    connected: () => false,
    unsteady: nothing,
    datacenters: nothing,
    lackingCategories: () => new Map(),
    certificateExpiry: nothing,
  }
}

/** What a probe finds while nothing can be asked; `own` where the VM may be one of this vCenter. */
export function unanswered(own: boolean, failure: VCenterFailure) {
  const unknown = { state: 'unknown', failure } as const
  const unproven = { state: 'unproven', failure } as const
  return {
    moref: own ? unknown : undefined,
    instanceUUID: unknown,
    biosUUID: unknown,
    privileges: unproven,
    canary: unproven,
  }
}

export function notConnected(vCenter: string): VCenterFailure {
  return {
    vCenter,
    reason: 'NotConnected',
    message: 'there is no session with vCenter yet; one is being opened',
  }
}
