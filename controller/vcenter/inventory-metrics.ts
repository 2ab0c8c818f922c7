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
