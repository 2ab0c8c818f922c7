/** What is compared: virtual machines with their Nodes, in one world and under one configuration. */
import type { IPFamily } from '../../controller/config/config.ts'
import type { GuestNic } from '../servers/control.ts'
import type { InventoryPlace } from './places.ts'

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
  readonly cases: readonly ScenarioCase[]
}

export type AddressSetting =
  | 'internalNetworkSubnetCidr'
  | 'externalNetworkSubnetCidr'
  | 'internalVmNetworkName'
  | 'externalVmNetworkName'
  | 'excludeInternalNetworkSubnetCidr'
  | 'excludeExternalNetworkSubnetCidr'

export type Label = 'zone' | 'region'

/** A tag of the scenario's categories on an object of the first vCenter; see `places.ts` for their names. */
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
  /** One with one IPv4 address of its own, unless given. */
  readonly nics?: readonly GuestNic[]
  /** With prefix length: those that cloud-init's metadata in guestinfo sets. */
  readonly staticAddresses?: readonly string[]
  /** Tags on the machine itself. */
  readonly tags?: Readonly<Partial<Record<Label, string>>>
}

export interface KubeletNode {
  /** Made of the case's place in its scenario, unless given. */
  readonly name?: string
  /** How the firmware's UUID reads: with the first groups swapped (the default), as vCenter has it, or of no machine. */
  readonly systemUUID?: 'swapped' | 'plain' | 'upper' | 'unknown'
  /** What stands there already: the machine's own, in its spellings, that of the case before, or another provider's. */
  readonly providerID?: 'plain' | 'upper' | 'swapped' | 'previous' | 'foreign'
  /** Without the taint that asks for a provider. */
  readonly untainted?: boolean
  readonly otherTaint?: boolean
  /** The kubelet's --node-ip. */
  readonly nodeIP?: string
  readonly labels?: Readonly<Record<string, string>>
  /** The labels with which the vSphere CSI driver has registered on it; there is no driver unless given. */
  readonly topologyKeys?: readonly string[]
}
