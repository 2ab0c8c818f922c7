import type {
  BoundVM,
  IdentityLevel,
  NodeAddress,
  NodeReportStatus,
  ParentObject,
} from '../../agent/contract.ts'
import { type Ancestry, bindingParents, type VirtualMachine } from '../types/virtual-machine.ts'
import { printable } from './printable.ts'
import { instanceType } from './topology/instance-type.ts'
import type { NodeTopology } from './topology/topology.ts'

/** What is known of a verified Node. */
export interface Verified {
  readonly vm: VirtualMachine
  readonly level: IdentityLevel
  readonly provenUntil: string | undefined
  readonly topology: Pick<NodeTopology, 'zone' | 'region'>
  readonly addresses: readonly NodeAddress[] | undefined
}

/** The parts of the status other than conditions. */
export function verifiedFields(verified: Verified): Partial<NodeReportStatus> {
  const { vm, level, provenUntil, topology, addresses } = verified
  const bound = binding(vm)
  return {
    ...(bound === undefined ? {} : { vm: bound }),
    identityLevel: level,
    ...(provenUntil === undefined ? {} : { provenUntil }),
    topology: {
      ...(topology.zone === undefined ? {} : { zone: topology.zone }),
      ...(topology.region === undefined ? {} : { region: topology.region }),
    },
    instanceType: instanceType(vm),
    ...(addresses === undefined ? {} : { addresses }),
  }
}

/** What the report's status said before this reconcile, and which object the report is about. */
export interface PreviousReport {
  readonly status: NodeReportStatus
  readonly nodeUID: string
  readonly generation: number
}

/** Longest texts that the schema allows. */
const MAX_NAME = 512
const MAX_ID = 64

/** The binding to a VM; undefined where vCenter does not tell its UUID. */
export function binding(vm: VirtualMachine): BoundVM | undefined {
  if (vm.biosUUID === undefined) return undefined
  const name = (text: string): string => printable(text, MAX_NAME)
  const id = (text: string): string => printable(text, MAX_ID)
  return {
    vCenter: vm.vCenter.name,
    vCenterInstanceUUID: id(vm.vCenter.instanceUUID),
    moref: id(vm.moref),
    name: name(vm.name),
    instanceUUID: id(vm.instanceUUID ?? ''),
    biosUUID: vm.biosUUID,
    ...(vm.host === undefined ? {} : { host: name(vm.host) }),
    ...(vm.cluster === undefined ? {} : { cluster: name(vm.cluster) }),
    ...(vm.datacenter === undefined ? {} : { datacenter: name(vm.datacenter) }),
    ...(vm.ancestry === undefined ? {} : { parents: parentsOf(vm.ancestry) }),
  }
}

function parentsOf(ancestry: Ancestry): ParentObject[] {
  return bindingParents(ancestry).map(({ type, moref, name }) => ({
    type: printable(type, MAX_ID),
    moref: printable(moref, MAX_ID),
    name: printable(name, MAX_NAME),
  }))
}
