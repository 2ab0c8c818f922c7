/** What one vCenter says when it is probed for a missing VM. */
import type { Reason } from './reasons.ts'
import type { ConnectionState, PowerState } from './virtual-machine.ts'

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

/** Whether an empty answer to a search means anything. */
export type CanaryProof =
  | Proof
  /** vCenter shows no VM at all, and none of those seen there before is left, so there is nothing to try it on. */
  | { readonly state: 'none' }

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
  /** Whether the same search finds another VM that is known to exist. */
  readonly canary: CanaryProof
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
