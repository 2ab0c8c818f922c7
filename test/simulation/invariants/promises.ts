/** What is recorded of a run to check it by. */
import type { Write } from '../model/api-server.ts'
import type { ControllerWatch } from '../model/controller.ts'
import type { VM } from '../model/machine.ts'
import type { StoredRequest } from '../model/objects.ts'
import type { Process } from '../model/process.ts'
import type { VCenterModel } from '../model/vcenter.ts'
import type { Hearing } from './hearing.ts'
import type { LoginJudge } from './logins.ts'

export interface Violation {
  readonly promise: string
  readonly what: string
}

/** By the true time, and by a controller's own monotonic clock. */
export interface Moment {
  readonly at: number
  readonly monotonic: number
}

/** A controller's work on one Node: when it last sent a probe, got a result, and decided to delete. */
export interface Work {
  asked?: Moment
  /** Whether the account could not read the root folder of some vCenter then. */
  blind?: boolean
  /** Of the last answers, newest first: when they came, whether they said that the VM is gone, and left no doubt of it. */
  heard?: readonly {
    readonly at: number
    readonly gone: boolean
    /** What some search for the BIOS UUID has found: instance UUIDs of vCenters with references, which two vCenters may share. */
    readonly found: readonly string[]
    readonly whole: boolean
    /** Whether each vCenter showed another VM: one that shows none may be doubted for the sake of other Nodes. */
    readonly beside: boolean
    /** `about.instanceUuid` of each vCenter that answered: another one may answer in the place of the VM's own. */
    readonly vCenters: readonly (string | undefined)[]
    readonly sessions: string
    /** Of the kubelet's Lease; undefined where it could not be read. */
    readonly heartbeat: string | undefined
    readonly asked: Moment
  }[]
  answered?: Moment & { readonly asked: Moment }
  /** When the newest version of the Node's report that has arrived was written. */
  arrived?: number
  decided?: Moment & { readonly arrived: number; readonly answered: Work['answered'] }
}

export interface DeletedNode {
  readonly nodeUID: string
  readonly vCenter: string
  readonly by: string
  readonly at: number
  /** Whether a person or an autoscaler meant it to go. */
  readonly meant: boolean
  /** When its VM vanished; undefined where it was meant to, or no leader could know it. */
  readonly gone: Gone | undefined
}

export interface Undecided {
  readonly nodeName: string
  /** By `about.instanceUuid`; undefined where the Node was never verified. */
  readonly vCenter: string | undefined
  readonly at: number
}

export interface Gone {
  readonly at: number
  /** vCenter may have told nobody. */
  readonly untold: boolean
}

export interface Judge extends ControllerWatch, LoginJudge, Omit<Hearing, 'told' | 'look'> {
  readonly violations: readonly Violation[]
  onWrite(write: Write): void
  /** The API server refuses the deletion of a Node. */
  onRefused(nodeName: string): void
  /** A controller has approved or denied a request for a certificate. */
  onRequestDecided(request: StoredRequest, by: string): void
  violate(promise: string, what: string): void
  /** Called when the probe of a Node's VM begins. */
  readonly onProbe: Set<(nodeName: string) => void>
  /** Called when a controller has decided to delete a Node but not yet begun. */
  readonly onDecision: Set<(process: Process, nodeName: string) => void>
  /** Called when a controller calls a Node out of service. */
  readonly onOutOfService: Set<(nodeName: string) => void>
  /** When each Node, by its UUID, was last seen to be neither Ready nor decided on by anybody. */
  readonly undecided: Map<string, Undecided>
  /** Since when the brake holds each Node, by its name. */
  readonly braked: Map<string, number>
  /** When a leader last wrote that a Node's VM was not missing any more, or anew, by the Node's UID. */
  readonly foundAgain: Map<string, number>
  /** When a person last decided nothing of a Node any more, by its UID. */
  readonly letGoAt: Map<string, number>
  /** When it last held more than may be missing, by `about.instanceUuid` of the vCenter. */
  readonly many: Map<string, number>
  /** When the deletion of each Node was refused. */
  readonly refusals: Map<string, number[]>
  /** The VMs that each Node was rightly taken for, by its UID. */
  readonly bindings: Map<string, Set<VM>>
  /** The VMs of tenants who have taken Nodes in one of the ways that are known to remain, by the UIDs of these. */
  readonly taken: Map<string, VM>
  work(process: string, nodeName: string): Work
  /** The Nodes that were deleted. */
  readonly deletions: DeletedNode[]
  /** Writes to and probes of each Node since the last {@link Judge.count}. */
  readonly writes: Map<string, number>
  readonly probes: Map<string, number>
  count(): void
  /** When a vCenter last showed a VM; undefined before the first look. */
  shownAt(vm: VM): number | undefined
  /** When a VM was last seen not to run, or not to be listed; undefined where it always has. */
  stoppedAt(vm: VM): number | undefined
  /** When a vCenter last did not answer for itself; undefined where it always has. */
  awayAt(vCenter: VCenterModel): number | undefined
  /** Since when it does not; undefined where it does. */
  awaySince(vCenter: VCenterModel): number | undefined
  /** Looks which VMs each vCenter shows; to be called every few seconds. */
  look(): void
}
