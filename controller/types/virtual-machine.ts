import { MAX_PARENTS, type ParentObject } from '../../agent/shared/node-report.ts'

/** What vCenter says about a VM, as the controller's own type: filled by `vcenter/`, read by `decide/`. No I/O. */

export type ConnectionState = 'connected' | 'disconnected' | 'inaccessible' | 'invalid' | 'orphaned'
export type PowerState = 'poweredOn' | 'poweredOff' | 'suspended'

export interface VCenterIdentity {
  /** Its key in the configuration, which logs, metrics and messages use. */
  readonly name: string
  /** `about.instanceUuid`. */
  readonly instanceUUID: string
}

export interface Tag {
  readonly category: string
  readonly name: string
  /** The names of other tags of its category that would give the same label: none where the name is a label's value. */
  readonly alike?: readonly string[]
  /** Why other tags of its category have no name, which may be among those as well: none where the name is a label's value. */
  readonly unnamed?: readonly string[]
}

/**
 * Why no object has a tag of a category: vCenter shows the account no category at all, not this one, or none of its tags; or there
 * may be one, for not all could be read.
 */
export type TagLack = 'categories' | 'category' | 'tags' | { readonly unread: string }

/** Tags that could not be read. */
export interface UnreadTags {
  readonly why: string
  /** The category that they belong to; without it, any. */
  readonly category?: string
  /** Set where the whole object could not be read, not only its tags. */
  readonly hidden?: true
}

/** A managed object above a VM. */
export interface Ancestor {
  /** `HostSystem`, `ClusterComputeResource`, `Datacenter`, `Folder`, `ResourcePool`, `VirtualApp`, `VirtualMachine`, ... */
  readonly type: string
  readonly moref: string
  readonly name: string
  readonly tags: readonly Tag[]
  /** What could not be read of its tags, or of an object right below it. */
  readonly unread?: readonly UnreadTags[]
}

/** The three ways up from a VM, in the order in which the CPI looks for tags. */
export const WAYS = ['compute', 'resourcePool', 'folder'] as const
export type Way = (typeof WAYS)[number]

/**
 * The three ways up from a VM, each nearest first, in the order in which the CPI looks for zone and region tags:
 * host (host, cluster, folders, datacenter, root), resource pool, and the VM itself with its folders.
 */
export interface Ancestry {
  readonly compute: readonly Ancestor[]
  readonly resourcePool: readonly Ancestor[]
  readonly folder: readonly Ancestor[]
  /** The first object above the VM that the account may not read. What is above it is unknown. */
  readonly unreadableAbove?: Pick<Ancestor, 'type' | 'moref'>
  /** Objects that could not be read, or whose tags could not, with the reason. Empty when all could. */
  readonly unreadable: readonly string[]
  /** What could not be read above the last object of a way. */
  readonly unreadAbove?: Partial<Readonly<Record<Way, readonly UnreadTags[]>>>
  /** Categories that the configuration names and that have no tag in this vCenter. */
  readonly lacking?: ReadonlyMap<string, TagLack>
}

/** The values of a custom attribute of a VM, or why they are not known. Several definitions may have one name. */
export type AttributeValues = { readonly values: readonly string[] } | { readonly unread: string }

export interface VirtualNIC {
  /** Lower case, colons. */
  readonly mac: string
  /** The name of its network, where the hardware has it: on a standard switch. */
  readonly network?: string
}

/** One entry of `guest.net`: what VMware Tools says, stale while the VM is off. */
export interface GuestNIC {
  readonly mac: string | undefined
  readonly network: string | undefined
  /** `-1` marks an interface that is no vNIC. */
  readonly deviceConfigID: number
  readonly addresses: readonly { readonly address: string; readonly prefixLength: number | undefined }[]
}

/**
 * `config.ftInfo`: the VMs of a Fault Tolerance group share BIOS UUID and MACs, while each has its own moref and instance
 * UUID. A failover changes the roles.
 */
export interface FaultTolerance {
  /** 1 is the primary, the VM that runs. */
  readonly role: number
  /** Of all VMs of the group, lower case. */
  readonly instanceUUIDs: readonly string[]
}

/** The Fault Tolerance group of a VM. A group that does not name the VM itself came with a copied configuration. */
export function faultToleranceGroup({
  faultTolerance,
  instanceUUID,
}: Pick<VirtualMachine, 'faultTolerance' | 'instanceUUID'>): FaultTolerance | undefined {
  const named = instanceUUID !== undefined && faultTolerance?.instanceUUIDs.includes(instanceUUID) === true
  return named ? faultTolerance : undefined
}

/** Whether the VM is a standby of its Fault Tolerance group. */
export function isSecondary(vm: Parameters<typeof faultToleranceGroup>[0]): boolean {
  const role = faultToleranceGroup(vm)?.role
  return role !== undefined && role !== 1
}

export interface VirtualMachine {
  readonly vCenter: VCenterIdentity
  /** Managed object reference, as `vm-42`. */
  readonly moref: string
  readonly name: string
  /** `config.uuid`, lower case; undefined where vCenter cannot tell (an inaccessible VM). */
  readonly biosUUID: string | undefined
  readonly instanceUUID: string | undefined
  readonly template: boolean
  /** Undefined for a VM that is in no group. */
  readonly faultTolerance: FaultTolerance | undefined
  readonly connectionState: ConnectionState
  readonly powerState: PowerState
  readonly cpus: number
  readonly memoryMB: number
  /** `guestOsIdentifier`, as `ubuntu64Guest`. */
  readonly guestID: string
  /** `config.hardware.device`: the NICs that the VM really has. */
  readonly nics: readonly VirtualNIC[]
  readonly guestNICs: readonly GuestNIC[]
  /** Those that cloud-init's metadata (`guestinfo.metadata`) sets, in its order, with or without a prefix length. */
  readonly staticAddresses: readonly string[]
  /** Text of `guestinfo.rollcall.claim`. */
  readonly claim: string | undefined
  /**
   * Which of the above are unknown only because the account may not read them. If any other is unreadable, the VM counts as
   * unreadable.
   */
  readonly unreadable: readonly ('guestNICs' | 'claim')[]
  /** Names, for people. */
  readonly host: string | undefined
  readonly cluster: string | undefined
  readonly datacenter: string | undefined
  /** Undefined until the ancestors and their tags were read for the first time. */
  readonly ancestry: Ancestry | undefined
  /** By name, those that label rules ask for. */
  readonly attributes?: ReadonlyMap<string, AttributeValues>
  /** Whether it has another host since its folder and its resource pool were read. Only known where there are label rules. */
  readonly moving?: boolean
}

/**
 * The parents that a binding records: the folders up to the root, or up to one that may not be read, then the resource pool.
 * An account inherits its privileges on the VM from these.
 */
export function bindingParents({ folder, unreadableAbove, resourcePool }: Ancestry): readonly ParentObject[] {
  const above = folder.filter(({ type }) => type !== 'VirtualMachine').slice(0, MAX_PARENTS - 2)
  const hidden = unreadableAbove === undefined ? [] : [{ ...unreadableAbove, name: unreadableAbove.moref }]
  return [...above, ...hidden, ...resourcePool.slice(0, 1)].map(({ type, moref, name }) => ({
    type,
    moref,
    name,
  }))
}

/**
 * What a VM's states say about its machine. Only a connected host knows: from any other the power state is the last known
 * one, and the machine may run all the same.
 */
const MACHINE: Readonly<Record<ConnectionState, Readonly<Record<PowerState, 'runs' | 'off' | 'unknown'>>>> = {
  connected: { poweredOn: 'runs', poweredOff: 'off', suspended: 'off' },
  disconnected: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
  inaccessible: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
  invalid: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
  orphaned: { poweredOn: 'unknown', poweredOff: 'unknown', suspended: 'unknown' },
}

/** Whether the machine runs, cannot run, or nobody knows. */
export function machineState({
  connectionState,
  powerState,
}: Pick<VirtualMachine, 'connectionState' | 'powerState'>): 'runs' | 'off' | 'unknown' {
  return MACHINE[connectionState][powerState]
}

export function runs(vm: Parameters<typeof machineState>[0]): boolean {
  return machineState(vm) === 'runs'
}
