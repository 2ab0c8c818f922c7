/** What there truly is: machines, the VMs as which vCenters list them, and the folders in which those stand. */
import type {
  ConnectionState,
  FaultTolerance,
  PowerState,
} from '../../../controller/types/virtual-machine.ts'
import type { Random } from '../random.ts'
import type { PoolReference } from './label-sources.ts'
import type { VCenterModel } from './vcenter.ts'

export interface Folder {
  readonly moref: string
  readonly name: string
  readonly datacenter: string
}

/** An entry of a vCenter's inventory. */
export interface VM {
  readonly moref: string
  readonly vCenter: VCenterModel
  /** What its vCenter said that it is when it listed this entry. */
  readonly vCenterInstanceUUID: string
  name: string
  biosUUID: string
  instanceUUID: string
  folder: Folder
  host: string
  pool: PoolReference
  /** Custom attributes, by name. */
  attributes: Readonly<Record<string, string>>
  connectionState: ConnectionState
  /** What vCenter shows of a machine that it cannot ask. */
  shownPower: PowerState | undefined
  claim: string | undefined
  template: boolean
  /** As its vNIC has it. */
  mac: string
  /** The machine that runs by it; undefined for one that no Node knows of. */
  readonly machine: Machine | undefined
  /** Which of a group of two it is; undefined for one that is in none. */
  faultTolerance: FaultTolerance | undefined
  /** Whether it stands by in such a group and has never led it. */
  standby: boolean
  readonly registeredAt: number
  /** When its machine went on as another VM, restored or failed over; this entry stays behind, off. */
  leftAt: number | undefined
  /** Whose VM it is, where it passes for another; undefined for all others. */
  readonly tenant: Tenant | undefined
}

/** Somebody who may do with one VM of his own whatever he likes. */
export interface Tenant {
  /** Whether he may read the VM for which his own passes, and so the claim in its guestinfo. */
  readonly reads: boolean
}

/** Disks and memory, whether or not a vCenter lists them. */
export interface Machine {
  readonly nodeName: string
  /** As the guest sees it. */
  mac: string
  /** Undefined for one that has none yet. */
  address: string | undefined
  /** Whether VMware Tools tell vCenter of it. */
  readonly tools: boolean
  /** Until when what the API server has of its agent was a report of each address, milliseconds; infinite for the last. */
  readonly reported: Map<string, number>
  /** The address of another that its agent reports instead. */
  squats: string | undefined
  /** UID of the Node that its VM has last shown its claim to be. */
  hasClaimed: string | undefined
  /** What its kubelet gives its Node as provider ID (`--provider-id`). */
  providerID: string | undefined
  readonly random: Random
  power: PowerState
  /** As the guest has read it at boot. */
  biosUUID: string
  /** As vCenter listed it then. */
  instanceUUID: string
  bootID: string
  /** What its agent writes into guestinfo; one of an older release draws no nonce, some may not write there. */
  claims: 'with-nonce' | 'without-nonce' | 'nothing'
  /** Drawn when it boots, and when its agent starts. */
  nonce: string
  /** Milliseconds until vCenter shows a claim that was written. */
  claimDelay: number
  /** Whether its kubelet and its agent run; neither does while it is off. */
  kubelet: boolean
  agent: boolean
  /** Whether its kubelet, if it runs, calls the Node ready. */
  ready: boolean
  /** Whether it reaches the API server. */
  linked: boolean
  /** Whether another provider has initialized its Node. */
  readonly migrated: boolean
  /** Whether that provider wrote the first half of its UUID in the other byte order. */
  readonly swapped: boolean
  /** Milliseconds that its reports are late. */
  reportDelay: number
  /** Whether its agent reports a NIC that is not the VM's. */
  forged: boolean
  /** The Node that its kubelet speaks for. */
  nodeUID: string | undefined
  vm: VM | undefined
  /** As it was listed last. */
  lastVM: VM | undefined
  /** The references under which vCenters have listed it. */
  readonly lists: Set<string>
  /** Zones and regions in which it has been, and all that labels may be made of (`sourceKey`). */
  readonly places: Set<string>
  /** The disks are gone: it never comes back. */
  destroyed: boolean
  /** When no vCenter listed it any more for the first time, and for the last. */
  firstVanishedAt: number | undefined
  vanishedAt: number
  /** vCenter may have told nobody when it vanished last: it is found missing some time later, by a resync. */
  vanishedUntold: boolean
  /** When the power state last changed. */
  powerSince: number
  /** When its agent's reports reached the API server, and its kubelet's renewals of its Lease: the last few, newest first. */
  reports: readonly number[]
  renewals: readonly number[]
}

/** A UUID whose first three fields are in the other byte order; so written twice, it is what it was. */
export function swapBytes(uuid: string): string {
  const turned = (field: string): string => field.match(/../g)?.reverse().join('') ?? ''
  return uuid
    .split('-')
    .map((field, index) => (index < 3 ? turned(field) : field))
    .join('-')
}

/** The power state that vCenter shows. */
export function shownPower({ shownPower, machine, leftAt }: VM): PowerState {
  if (leftAt !== undefined) return 'poweredOff'
  return shownPower ?? machine?.power ?? 'poweredOff'
}

/** Whether kubelet or agent can do anything. */
export function canSpeak({ power, linked, destroyed }: Machine): boolean {
  return power === 'poweredOn' && linked && !destroyed
}

/** All of a VM by which it may be a Node's. */
export function stateOf(vm: VM): string {
  const { connectionState, template, biosUUID, folder } = vm
  return [connectionState, shownPower(vm), template, biosUUID, folder.moref].join(' ')
}

/** Whether vCenter shows that a VM runs. */
export function runs(vm: VM): boolean {
  return (
    vm.connectionState === 'connected' &&
    shownPower(vm) === 'poweredOn' &&
    vm.vCenter.vms.get(vm.moref) === vm
  )
}
