/** What is compared: virtual machines with their Nodes, in one world and under one configuration. */
import type { IPFamily, LifecycleConfig } from '../../controller/config/config.ts'
import type { GuestNic } from '../servers/control.ts'
import type { HostPlace, InventoryPlace } from './places.ts'

export interface Scenario {
  readonly name: string
  /** Which labels are configured; the categories are the scenario's own. Both by default. */
  readonly labels?: readonly Label[]
  readonly tags?: readonly Tagged[]
  /** Of every vCenter. `Datacenter:DC1` stands for the managed object reference of the first one's DC1. */
  readonly datacenters?: readonly string[]
  /** Of both vCenters; as the CPI's own default, IPv4 alone, unless given. */
  readonly ipFamily?: readonly IPFamily[]
  /** Section `nodes` of the configuration, as the CPI knows it. */
  readonly nodes?: Readonly<Partial<Record<AddressSetting, string>>>
  /** Has the second vCenter in the configuration too. */
  readonly twoVCenters?: boolean
  /** In the second vCenter, whose inventory has one place. */
  readonly tagsOfSecond?: readonly Tagged[]
  /** For the second vCenter alone, instead of what is for both. */
  readonly second?: { readonly ipFamily?: readonly IPFamily[]; readonly datacenters?: readonly string[] }
  /** Zone and region are read from one category. */
  readonly oneCategory?: boolean
  /** Section `lifecycle` of the configuration, which Rollcall alone knows. */
  readonly lifecycle?: Readonly<Partial<Record<keyof LifecycleConfig, string | number>>>
  /** How vsphere.conf is written; YAML unless given. */
  readonly form?: 'ini'
  /** Arguments of the CPI, with which both are started. */
  readonly arguments?: readonly string[]
  readonly cases: readonly ScenarioCase[]
}

/** An argument with which neither provider looks for machines that are off or gone. */
export const NO_LIFECYCLE = '--controllers=*,-cloud-node-lifecycle'

/** A machine whose only vNIC has these addresses. */
export const at = (...addresses: readonly string[]): { readonly nics: readonly GuestNic[] } => ({
  nics: [{ addresses: [...addresses] }],
})

/** A Node that another provider has initialized before. */
export const BEFORE = { providerID: 'plain', untainted: true } as const satisfies KubeletNode

/** A person has the Node initialized anew. */
export const ASKS = { name: 'a person asks for a provider', taint: 'uninitialized' } as const satisfies Change

export type AddressSetting =
  | 'internalNetworkSubnetCidr'
  | 'externalNetworkSubnetCidr'
  | 'internalVmNetworkName'
  | 'externalVmNetworkName'
  | 'excludeInternalNetworkSubnetCidr'
  | 'excludeExternalNetworkSubnetCidr'

export type Label = 'zone' | 'region'

/** A tag of the scenario's categories on an object of a vCenter; see `places.ts` for the names of the first one's. */
export interface Tagged {
  readonly object: string
  readonly label: Label
  readonly tag: string
}

/** A machine and its Node: as usual, but for what is given here. */
export interface ScenarioCase {
  readonly name: string
  readonly vm?: ScenarioMachine
  readonly node?: KubeletNode
  /** What happens once both providers have dealt with the Node, one after the other. */
  readonly later?: readonly Change[]
}

/** What changes about a machine and its Node; the rest stays. */
export interface Change {
  readonly name: string
  /** What its guest reports from then on. */
  readonly nics?: readonly GuestNic[]
  /** What its guest calls itself from then on. */
  readonly hostName?: string
  readonly powerState?: 'poweredOn' | 'poweredOff' | 'suspended'
  readonly cpus?: number
  readonly memoryMB?: number
  /** Whose host it moves to. */
  readonly place?: HostPlace
  /** The tag on the machine itself, in place of one that is there; with null it has none. */
  readonly tags?: Readonly<Partial<Record<Label, string | null>>>
  /** It is destroyed. */
  readonly gone?: true
  /** What the kubelet says of itself. */
  readonly ready?: 'True' | 'False' | 'Unknown'
  /** Labels that a person writes, or removes. */
  readonly labels?: Readonly<Record<string, string | null>>
  /** A taint that a person puts on the Node: an unrelated one, the shutdown taint, or `uninitialized`, by which it is initialized again. */
  readonly taint?: 'other' | 'shutdown' | 'uninitialized'
  /** That a Node gets which has none: no other can be changed. */
  readonly providerID?: 'plain' | 'foreign'
}

export interface ScenarioMachine {
  /** The first host of the first cluster, unless given. */
  readonly place?: InventoryPlace
  /** In the second vCenter, whose machines have one place. */
  readonly second?: boolean
  readonly cpus?: number
  readonly memoryMB?: number
  readonly guestID?: string
  readonly powerState?: 'poweredOff' | 'suspended'
  /** The Node's name, unless given. */
  readonly hostName?: string
  /** Its guest has the name of the Node of the case before. */
  readonly nameOfPrevious?: boolean
  /** One with one IPv4 address of its own, unless given. */
  readonly nics?: readonly GuestNic[]
  /** Those that cloud-init's metadata in guestinfo sets, as written there. */
  readonly staticAddresses?: readonly string[]
  /** The kind of device that has them there; `ethernets` unless given. */
  readonly staticOf?: 'bonds' | 'bridges' | 'vlans'
  /** Has the BIOS UUID of the machine of the case before. */
  readonly uuidOfPrevious?: boolean
  /** Is destroyed: before either provider starts, or by a change. */
  readonly gone?: boolean
  /** Tags on the machine itself. */
  readonly tags?: Readonly<Partial<Record<Label, string>>>
}

export interface KubeletNode {
  /** Made of the case's place in its scenario, unless given. */
  readonly name?: string
  /** How the firmware's UUID reads: with the first groups swapped (the default), as vCenter has it, of no machine, or as none. */
  readonly systemUUID?: 'swapped' | 'plain' | 'upper' | 'unknown' | 'malformed' | 'empty'
  /**
   * What stands there already: the machine's own, in its spellings, that of the case before, another provider's, or what
   * is no provider ID: without a UUID, with something else in its place, or the UUID alone.
   */
  readonly providerID?:
    | 'plain'
    | 'upper'
    | 'swapped'
    | 'previous'
    | 'foreign'
    | 'empty'
    | 'malformed'
    | 'bare'
  /** Without the taint that asks for a provider. */
  readonly untainted?: boolean
  readonly otherTaint?: boolean
  /** With the taint of a machine that is off. */
  readonly shutdownTaint?: boolean
  /** What the kubelet says of itself; `True` unless given. */
  readonly ready?: 'False' | 'Unknown'
  /** The kubelet's --node-ip. */
  readonly nodeIP?: string
  readonly labels?: Readonly<Record<string, string>>
  /** The labels with which the vSphere CSI driver has registered on it; there is no driver unless given. */
  readonly topologyKeys?: readonly string[]
}
