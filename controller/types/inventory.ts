/** What the controller knows about the vCenters, read from memory, and what one says when it is probed for a missing VM. */
import type { BoundVM, ParentObject } from '../../agent/shared/node-report.ts'
import type { Reason } from './reasons.ts'
import type { ConnectionState, PowerState, VirtualMachine } from './virtual-machine.ts'

/** The answer to "which VMs have this BIOS UUID?". */
export type Lookup =
  /** Not answered yet; the inventory will call back. */
  | { readonly state: 'pending' }
  /** The vCenter could not be asked; `alone` where it answers and only its answer for this UUID is unusable. */
  | { readonly state: 'unknown'; readonly failure: VCenterFailure; readonly alone?: true }
  /** Every VM with this UUID that this vCenter shows us, templates and foreign datacenters included. */
  | {
      readonly state: 'answered'
      readonly vms: readonly VirtualMachine[]
      /**
       * There are more VMs with this UUID than these, and why they are not known. Those that had it before are among these,
       * as long as vCenter has them: whoever makes copies must not hide them. Forbids only what needs all VMs: that there is
       * no other, or none at all. The inventory will call back.
       */
      readonly incomplete?: VCenterFailure
      /**
       * There was a VM, and the others have not been read again since it was lost: whether it vanished alone is not known
       * yet. The inventory will call back.
       */
      readonly othersUnread?: true
      /**
       * Where there was a VM: until when vCenter was known to show it, monotonic. That may be long before anybody missed it,
       * for a vCenter that does not answer tells nobody what vanishes.
       */
      readonly shownUntil?: number
    }

/** One vCenter's VMs, kept up to date by push. */
export interface Inventory {
  readonly vCenter: string
  /** `about.instanceUuid`, by which one vCenter is known under two names; empty as long as it has never answered. */
  instanceUUID(): string
  /**
   * Starts following the VMs with this BIOS UUID (lower case). The inventory's callback is called when the answer is there.
   * Following the same UUID again costs nothing.
   */
  follow(biosUUID: string): void
  /** Stops following. */
  unfollow(biosUUID: string): void
  /** Searches again for a UUID that no VM had, as the VM may have come since. Costs at most one call. */
  recheck(biosUUID: string): void
  /**
   * Whether this VM was read after this doubt about it was first raised. The first call returns false and has the VM read
   * again, in one call to vCenter for all VMs that are in doubt at that moment; the inventory's callback is called afterwards. A
   * failure where vCenter has refused that; it is tried again.
   *
   * @param doubt what contradicts what is known of it
   * @param node whose report does
   */
  readSince(moref: string, doubt: string, node: string): boolean | VCenterFailure
  /**
   * @param expected the moref of a VM that must not be missing where more VMs have the UUID than are read: `pending` until it
   *   is read, too
   */
  lookup(biosUUID: string, expected?: string): Lookup
  /**
   * Probes a missing VM: reads it by moref where it is bound to this vCenter, searches for both of its UUIDs, and checks
   * whether an empty answer means anything. Never throws; what could not be asked is `unknown` with its reason.
   */
  probe(vm: BoundVM, signal: AbortSignal): Promise<VCenterProbe>
  /**
   * Whether it could be proven here that a VM below these objects is gone, that is, whether the account may read them and
   * the root folder, as of the last check. Undefined while that is not known. The callback is called when it changes.
   */
  provable(parents: readonly ParentObject[]): Proof | undefined
  /** How often all VMs and all tags were read, to the end and without a failure, since there is this inventory. */
  fullReads(): number
  /** Undefined while the vCenter answers. */
  failure(): VCenterFailure | undefined
}

/** The VMs that a vCenter has answered with; none where it has not answered. */
export function vmsOf(lookup: Lookup): readonly VirtualMachine[] {
  return lookup.state === 'answered' ? lookup.vms : []
}

/** Why a vCenter does not say which VMs have a UUID, or not of all of them; undefined where it does, or will in a moment. */
export function failureOf(lookup: Lookup): VCenterFailure | undefined {
  switch (lookup.state) {
    case 'pending':
      return undefined
    case 'unknown':
      return lookup.failure
    case 'answered':
      return lookup.incomplete
  }
}

/** Whether nothing is awaited of this answer: all its VMs are known with their tags, or a failure is shown. */
export function isKnown(lookup: Lookup): boolean {
  return lookup.state !== 'pending' && vmsOf(lookup).every(({ ancestry }) => ancestry !== undefined)
}

/** The part of a VM that a probe reads. */
export interface SeenVM {
  /** Managed object reference. */
  readonly moref: string
  readonly name: string
  /** Lower case; undefined where vCenter cannot tell. */
  readonly biosUUID: string | undefined
  readonly connectionState: ConnectionState
  readonly powerState: PowerState
  /**
   * Why vCenter itself may soon start or move the VM, in words: `vSphere HA protects it`, `a task
   * "VirtualMachine.migrate" is running`. Empty where nothing readable says so.
   */
  readonly mayRestart: readonly string[]
}

/** Whether there is such a VM, by one call. A call that failed or was refused proves nothing. */
export type VMExistence =
  | {
      readonly state: 'found'
      readonly vm: SeenVM
      /** Managed object references of what else a search has found; left out where it has found one VM. */
      readonly others?: readonly string[]
    }
  /** vCenter itself says that there is none. */
  | { readonly state: 'not-found' }
  | { readonly state: 'unknown'; readonly failure: VCenterFailure }

export type Proof =
  | { readonly state: 'proven' }
  | { readonly state: 'unproven'; readonly failure: VCenterFailure }

/** Everything that one vCenter answers in a probe of one VM; the calls are made one after the other. */
export interface VCenterProbe {
  /** Its name in the configuration. */
  readonly vCenter: string
  /** Server and port, as `serverKey` has them: two that say they are one vCenter must each prove an absence. */
  readonly server: string
  /** `about.instanceUuid`; undefined as long as it has never answered. */
  readonly vCenterInstanceUUID: string | undefined
  /** A new number after each login: what was found in a session says nothing about the time before it. */
  readonly session: number
  /** Read by the bound moref; undefined where the VM is bound to another vCenter. */
  readonly moref: VMExistence | undefined
  /** Searched for in the whole vCenter. For a binding without an instance UUID it repeats what the BIOS UUID gave. */
  readonly instanceUUID: VMExistence
  readonly biosUUID: VMExistence
  /** Whether the account may read the root folder and, in the VM's own vCenter, its last known parents. */
  readonly privileges: Proof
  /**
   * Whether the same search finds another VM that is known to exist: otherwise an empty answer means nothing. `none` where
   * vCenter shows no VM at all, and none of those seen there before is left, so there is nothing to try it on.
   */
  readonly canary: Proof | { readonly state: 'none' }
}

/** Why a vCenter could not be asked. Proves nothing about any VM. */
export interface VCenterFailure {
  readonly vCenter: string
  readonly reason: Reason
  /** One sentence with the next step; no secret. */
  readonly message: string
  /** When it is tried again, milliseconds since the epoch, where that is far enough away to be told. */
  readonly retryAt?: number
  /** Set while a late answer may still come. */
  readonly waiting?: boolean
}
