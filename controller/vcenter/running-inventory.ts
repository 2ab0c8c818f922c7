import type { DatacenterPath } from '../config/datacenter-pattern.ts'
import type { Inventory } from '../types/inventory.ts'
import type { Proof } from '../types/vcenter-probe.ts'
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
  /** Whether the absence of all followed VMs could be proven; undefined while not known. See {@link Inventory.provable}. */
  provableEverywhere(): Proof | undefined
  /** As the account sees them; undefined before they were read, and where they may not be. */
  datacenters(): readonly DatacenterPath[] | undefined
  /** When the last seen certificate expires, milliseconds since the epoch; undefined before the first. */
  certificateExpiry(): number | undefined
}
