/** What one vCenter says when it is asked, on purpose, whether a VM that is missed still exists. */
import type { VCenterFailure } from './vcenter-failure.ts'
import type { ConnectionState, PowerState } from './virtual-machine.ts'

/** As much of a VM as is read on such an occasion. */
export interface SeenVM {
  /** Managed object reference. */
  readonly moref: string
  readonly name: string
  /** Lower case; undefined where vCenter cannot tell. */
  readonly biosUUID: string | undefined
  readonly connectionState: ConnectionState
  readonly powerState: PowerState
  /**
   * Why it may be started or moved by vCenter itself before long, in words: `vSphere HA protects it`, `a task
   * "VirtualMachine.migrate" is running`. Empty where nothing readable says so.
   */
  readonly mayRestart: readonly string[]
}

/** The answer to one question. That it could not be asked, or was refused, proves nothing. */
export type Finding =
  | { readonly state: 'found'; readonly vm: SeenVM }
  /** vCenter itself says that there is none. */
  | { readonly state: 'not-found' }
  | { readonly state: 'unknown'; readonly failure: VCenterFailure }

export type Proof =
  | { readonly state: 'proven' }
  | { readonly state: 'unproven'; readonly failure: VCenterFailure }

/** Whether an empty answer to a search means anything. */
export type CanaryProof =
  | Proof
  /** vCenter shows no VM at all, and of those that were seen there before none is left: there is nothing to try it on. */
  | { readonly state: 'none' }

/** One vCenter's answers to all questions about one VM, asked one after the other. */
export interface VCenterProbe {
  /** Its name in the configuration. */
  readonly vCenter: string
  /** `about.instanceUuid`; undefined as long as it has never answered. */
  readonly vCenterInstanceUUID: string | undefined
  /** Another one after each login: what was found in one says nothing of the time before it. */
  readonly session: number
  /** The bound managed object, by reference; undefined where the VM is bound to another vCenter. */
  readonly moref: Finding | undefined
  /** Searched for in all of the vCenter. Where the VM is bound without an instance UUID, the BIOS UUID's stands for both. */
  readonly instanceUUID: Finding
  readonly biosUUID: Finding
  /** Whether the account may read the root folder, and in the VM's own vCenter its last known parents. */
  readonly privileges: Proof
  /** Whether the same search finds another VM, which is known to exist. */
  readonly canary: CanaryProof
}
