import type { BoundVM, IdentityLevel, NodeReportStatus } from '../../../../agent/shared/node-report.ts'
import { canonicalUUID, swapUUID } from '../../../../agent/shared/uuid.ts'
import { type DecisionConfig, requiredLevel } from '../../../config/config.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { hasUninitializedTaint } from './needs-initialization.ts'
import { previousStatus, specOf, verifiedVM } from './previous-status.ts'
import { judgeProviderID, providerUUIDs } from './provider-id.ts'

/**
 * The machines that must be gone before a Node may be deleted: every machine that anything about the Node points to. Even
 * if the Node was once verified to be one of them, another may be its machine by now.
 */
export interface NodeMachines {
  /** First the one that the Node was verified to be, if any. */
  readonly machines: readonly [BoundVM, ...BoundVM[]]
  /** Whether the Node was ever verified to be one of them. */
  readonly bound: boolean
}

/**
 * What points to a machine: the binding in the report's status, even if its level has ended since; the VMs that it was
 * before, unless they were proven gone; the VM that was seen
 * under another UUID of the Node; the report; the kubelet's system UUID and the provider ID, both in either byte order.
 * Undefined where too little is known to say that the Node ever had a machine, and for another provider's Node.
 *
 * All of this is written by the Node's own kubelet and agent or by this controller. Forging it only adds machines that must
 * be gone too, and affects no other Node.
 */
export function machinesOf(
  node: Pick<Node, 'uid' | 'systemUUID' | 'providerID' | 'taints'>,
  report: NodeReport | undefined,
): NodeMachines | undefined {
  const [provided] = providerUUIDs(node)
  if (provided === undefined && judgeProviderID(node.providerID, undefined) === 'foreign') return undefined
  const { vm, formerVMs = [], namedVM } = previousStatus(report, node)
  const known = [vm, ...formerVMs, namedVM].filter((each) => each !== undefined).filter(isFirstRecord)
  const unseen = unseenUUIDs(node, report, { provided, known }).map(unseenMachine)
  // Without any of these nobody has ever matched the Node with a VM, nor does it wait for that: it may be anything.
  const awaits = hasUninitializedTaint(node) && specOf(report, node) !== undefined
  if (known.length === 0 && provided === undefined && !awaits) return undefined
  const [first, ...others] = [...known, ...unseen]
  return first === undefined ? undefined : { machines: [first, ...others], bound: vm !== undefined }
}

/** Whether no earlier one is of the same VM under the same UUID. */
function isFirstRecord(vm: BoundVM, index: number, all: readonly BoundVM[]): boolean {
  return all.findIndex((each) => isSameRecord(each, vm)) === index
}

function isSameRecord(one: BoundVM, other: BoundVM): boolean {
  return (
    one.moref === other.moref &&
    one.vCenterInstanceUUID === other.vCenterInstanceUUID &&
    // One VM may have been known by two.
    one.biosUUID === other.biosUUID
  )
}

/** UUIDs of machines that no vCenter has shown for this Node. */
function unseenUUIDs(
  node: Pick<Node, 'uid' | 'systemUUID'>,
  report: NodeReport | undefined,
  { provided, known }: { readonly provided: string | undefined; readonly known: readonly BoundVM[] },
): readonly string[] {
  const told = new Set(known.flatMap(({ biosUUID }) => [biosUUID, swapUUID(biosUUID)]))
  const found: string[] = []
  const take = (uuid: string | undefined, isInEitherOrder = true): void => {
    if (uuid === undefined || told.has(uuid) || isBlankUUID(uuid)) return
    const swapped = swapUUID(uuid)
    told.add(uuid).add(swapped)
    found.push(uuid)
    if (isInEitherOrder && swapped !== uuid) found.push(swapped)
  }
  take(provided)
  // The report has vCenter's byte order. It is added later, so that the provider ID is still tried in both orders.
  take(specOf(report, node)?.machine.serialUUID, false)
  take(canonicalUUID(node.systemUUID))
  return found
}

/** Stands for the vCenter of machines that no vCenter has ever shown. */
export const NEVER_SEEN = 'unknown'

/** A machine known only by its UUID: it has no vCenter of its own and no moref. */
function unseenMachine(biosUUID: string): BoundVM {
  return { vCenter: NEVER_SEEN, vCenterInstanceUUID: '', moref: '', name: '', instanceUUID: '', biosUUID }
}

/**
 * The group of Nodes among which the absence of this machine counts: all that were verified to be VMs of the same vCenter
 * (`about.instanceUuid`). Nodes that merely name a VM form a group of their own, the empty text, so that joining such Nodes
 * can neither engage the brake for verified ones nor raise its limit.
 */
export function brakeGroup({ machines: [vm], bound }: NodeMachines): string {
  return bound ? vm.vCenterInstanceUUID : ''
}

/** Whether a machine was never seen, so that it is known by its UUID alone. */
export function isUnseen({ moref }: Pick<BoundVM, 'moref'>): boolean {
  return moref === ''
}

/** The BIOS UUIDs by which to search for a Node's VM. */
export interface MachineUUID {
  /** Who names the UUIDs: an agent (`reported`) or the kubelet (`asserted`). */
  readonly witness: Extract<IdentityLevel, 'asserted' | 'reported'>
  /** Canonical, in each byte order that vCenter may have. Empty where nothing usable is known. */
  readonly uuids: readonly string[]
}

/**
 * The agent's `product_serial`, which is in vCenter's byte order. Without one, where the Node may stay at `asserted`,
 * the kubelet's `systemUUID` in both byte orders: nothing tells which one the firmware used
 * (kubernetes/kubernetes#58927).
 */
export function machineUUID(
  node: Pick<Node, 'labels' | 'systemUUID'> | undefined,
  report: NodeReport | undefined,
  identity: DecisionConfig['identity'],
): MachineUUID {
  const serial = report?.spec.ok === true ? report.spec.value.machine.serialUUID : undefined
  if (serial !== undefined) return { witness: 'reported', uuids: [serial] }
  if (node === undefined || requiredLevel(node, identity) !== 'asserted')
    return { witness: 'reported', uuids: [] }
  const asserted = canonicalUUID(node.systemUUID)
  if (asserted === undefined || isBlankUUID(asserted)) return { witness: 'asserted', uuids: [] }
  return { witness: 'asserted', uuids: [...new Set([asserted, swapUUID(asserted)])] }
}

/** What firmware reports if it was given no UUID. */
function isBlankUUID(uuid: string): boolean {
  return /^([0-]+|[f-]+)$/.test(uuid)
}

/** What follows from a Node and its report alone. */
export interface KnownNode {
  /** What the report's status says about this very Node. */
  readonly previous: NodeReportStatus
  /** The VM that it is verified to be. */
  readonly boundTo: BoundVM | undefined
  /** The BIOS UUIDs by which its VM is searched for. */
  readonly machineUUID: MachineUUID
  /** The machines that must be gone before it may be deleted; undefined where nothing says that it ever had one. */
  readonly machines: NodeMachines | undefined
}

export function knownNode(
  node: Node,
  report: NodeReport | undefined,
  identity: DecisionConfig['identity'],
): KnownNode {
  const previous = previousStatus(report, node)
  return {
    previous,
    boundTo: verifiedVM(previous),
    machineUUID: machineUUID(node, report, identity),
    machines: machinesOf(node, report),
  }
}
