import type { BoundVM } from '../../../agent/contract.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import { previousStatus } from '../binding.ts'
import { isBlankUUID, providerUUIDs } from '../identity/machine-uuid.ts'
import { judgeProviderID } from '../provider-id.ts'
import { canonicalUUID, sameMachineUUID, swapUUID } from '../uuid.ts'

/**
 * The machines that must be gone before a Node may be deleted: every one that anything about the Node points to. The Node
 * was verified to be one of them at some time, or it never was; either way the others may be its machine by now.
 */
export interface Subject {
  /** The one that it was verified to be comes first, where there is one. */
  readonly machines: readonly [BoundVM, ...BoundVM[]]
  /** Whether the Node was ever verified to be one of them. */
  readonly bound: boolean
}

/**
 * Who points to a machine: the binding in the report's status, even where its level has ended since; the VM that was seen
 * under another UUID of the Node; the report; the kubelet's system UUID and the provider ID, both in either byte order.
 * Undefined where too little is known of the Node to say that any machine was its own, and for another provider's.
 *
 * All of this is written by the Node's own kubelet and agent and by this controller: whoever forges it adds machines that
 * must be gone too, and moves no Node but their own.
 */
export function subjectOf(
  node: Pick<Node, 'uid' | 'systemUUID' | 'providerID'>,
  report: NodeReport | undefined,
): Subject | undefined {
  if (judgeProviderID(node.providerID, undefined) === 'foreign') return undefined
  const { vm, namedVM } = previousStatus(report, node)
  const known = [vm, namedVM].filter((each) => each !== undefined)
  const unseen = unseenUUIDs(node, report, known).map(unseenMachine)
  // A kubelet's word alone is none for it: without a provider ID nobody has ever taken the Node for a VM.
  if (known.length === 0 && providerUUIDs(node).length === 0) return undefined
  const [first, ...others] = [...known, ...unseen]
  return first === undefined ? undefined : { machines: [first, ...others], bound: vm !== undefined }
}

/** UUIDs of machines that no vCenter has shown for this Node. */
function unseenUUIDs(
  node: Pick<Node, 'uid' | 'systemUUID' | 'providerID'>,
  report: NodeReport | undefined,
  known: readonly BoundVM[],
): readonly string[] {
  const spec =
    report?.spec.ok === true && report.spec.spec.nodeUID === node.uid ? report.spec.spec : undefined
  const told = known.map(({ biosUUID }) => biosUUID)
  const add = (uuid: string | undefined, orders: (uuid: string) => readonly string[]): readonly string[] =>
    uuid === undefined || isBlankUUID(uuid) || told.some((each) => sameMachineUUID(each, uuid))
      ? []
      : orders(uuid)
  const found: string[] = []
  const take = (uuids: readonly string[]): void => {
    found.push(...uuids)
    told.push(...uuids)
  }
  const both = (uuid: string): readonly string[] => [...new Set([uuid, swapUUID(uuid)])]
  take(add(providerUUIDs(node)[0], both))
  // The report has vCenter's byte order. It comes later: it must not make a single order do for the provider ID.
  take(add(spec?.machine.serialUUID, (uuid) => [uuid]))
  take(add(canonicalUUID(node.systemUUID), both))
  return found
}

/** The name that stands for the vCenter of machines that none has ever shown. */
export const NEVER_SEEN = 'unknown'

/** A machine of which nothing but its UUID is known: no vCenter is its own, and no reference. */
function unseenMachine(biosUUID: string): BoundVM {
  return { vCenter: NEVER_SEEN, vCenterInstanceUUID: '', moref: '', name: '', instanceUUID: '', biosUUID }
}

/**
 * Among which Nodes the absence of this one's machine counts: those that were verified to be VMs of the same vCenter
 * (`about.instanceUuid`). Who merely names a VM counts among its like, under the empty text: by joining such Nodes nobody
 * is to close the brake for those that were verified, nor to widen it.
 */
export function groupOf({ machines: [vm], bound }: Subject): string {
  return bound ? vm.vCenterInstanceUUID : ''
}

/** Whether a machine was never seen, so that it is known by its UUID alone. */
export function isUnseen({ moref }: Pick<BoundVM, 'moref'>): boolean {
  return moref === ''
}
