/** What the controller knows of the vCenters at this moment, as `gather/` reads it: from memory, at once. */
import type { BoundVM, ParentObject } from '../../agent/contract.ts'
import type { VCenterFailure } from './vcenter-failure.ts'
import type { Proof, VCenterProbe } from './vcenter-probe.ts'
import type { VirtualMachine } from './virtual-machine.ts'

/** The answer to "which VMs have this BIOS UUID?". */
export type Lookup =
  /** Not answered yet; the inventory will call back. */
  | { readonly state: 'pending' }
  /** The vCenter could not be asked; `alone` where it answers, and only what it says of this UUID cannot be judged. */
  | { readonly state: 'unknown'; readonly failure: VCenterFailure; readonly alone?: true }
  /** Every VM with this UUID that this vCenter shows us, templates and foreign datacenters included. */
  | { readonly state: 'answered'; readonly vms: readonly VirtualMachine[] }

/** One vCenter's VMs, kept up to date by push. */
export interface Inventory {
  readonly vCenter: string
  /**
   * Starts to follow the VMs with this BIOS UUID (lower case). The answer comes by the callback the inventory was
   * made with; asking again for a UUID that is followed costs nothing.
   */
  follow(biosUUID: string): void
  /** Stops following. */
  unfollow(biosUUID: string): void
  /** Asks anew for a UUID that was answered with no VM: the VM may have come since. Costs at most one call. */
  recheck(biosUUID: string): void
  lookup(biosUUID: string): Lookup
  /**
   * Asks vCenter anew for a VM that is missed: by reference where it is bound to this vCenter, by both of its UUIDs, and
   * whether an empty answer would mean anything. Never throws; what could not be asked is `unknown` with its reason.
   */
  probe(vm: BoundVM, signal: AbortSignal): Promise<VCenterProbe>
  /**
   * Whether it could be proven here that a VM is gone that stands below these objects: whether the account may read them
   * and the root folder, as it was found out last. Undefined while that is not known. A change is told by the callback.
   */
  provable(parents: readonly ParentObject[]): Proof | undefined
  /** Undefined while the vCenter answers. */
  failure(): VCenterFailure | undefined
}
