/** What the inventory tells of its own work. */
export interface InventoryMetrics {
  /**
   * A call has ended. `operation` is the SOAP operation or `REST <METHOD> <resource>`; `outcome` is `ok`, the name of
   * a fault, or a failure's reason.
   */
  call(operation: string, outcome: string, seconds: number): void
  /** Connecting begins anew, because of this reason. */
  reconnect(reason: string): void
  /** So many VMs are followed that vCenter does not let be watched. */
  unwatched(vms: number): void
  /** All VMs were read again, at this time (seconds since the epoch); so many were not as push had left them. */
  resynced(corrections: number, at: number): void
}
