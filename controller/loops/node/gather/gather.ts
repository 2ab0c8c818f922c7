import {
  type BoundVM,
  claimDigest,
  type NodeReportSpec,
  parseClaim,
} from '../../../../agent/shared/node-report.ts'
import { type Inventory, vmsOf } from '../../../types/inventory.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { isBoundTo } from '../decide/bound-vm.ts'
import { commonMACs } from '../decide/identity/fitting-vms.ts'
import { isGone } from '../decide/lifecycle/evidence.ts'
import { presenceOf } from '../decide/lifecycle/presence.ts'
import type { NodeFacts, NodeLookup, Rival } from '../decide/node-facts.ts'
import { isUnseen, knownNode } from '../facts/machines.ts'
import { previousStatus, specOf, verifiedVM } from '../facts/previous-status.ts'
import { providerUUIDs } from '../facts/provider-id.ts'
import { lookUpInAll, provableInEach, vCenterState } from './across-vcenters.ts'
import { addressHolder, ownWitness } from './address-holders.ts'
import type { Sources } from './sources.ts'

/** All that is known about one Node at this moment; undefined where there is no such Node. */
export function gather(
  name: string,
  sources: Sources,
  times: { readonly now: number; readonly monotonic: number },
): NodeFacts | undefined {
  const { index, inventories, tracker, settings } = sources
  const node = sources.node(name)
  if (node === undefined) return undefined
  const report = sources.report(name)
  const known = knownNode(node, report, settings.identity)
  const { boundTo, machineUUID } = known
  return {
    node,
    report,
    ...known,
    agentContact: sources.agentContact(report, node, times.monotonic),
    lookups: awaitRereads(
      lookUpInAll(index.uuidsOf(name), known, inventories, settings),
      specOf(report, node),
      { node, ...known },
      inventories,
    ),
    vCenterState: (instanceUUID) => vCenterState(instanceUUID, inventories),
    // Without a report, or an agent's, the provider ID is all that names its VM.
    rivals: rivals(name, machineUUID.uuids.length === 0 ? providerUUIDs(node) : machineUUID.uuids, sources),
    nodeByUID: index.nodeByUID,
    addressHolder: (address) => addressHolder(address, name, sources),
    ownWitness: (address) => ownWitness(name, address, sources),
    policy: sources.policy(),
    interlock: sources.interlock(),
    csiTopologyKeys: sources.csiTopologyKeys(node),
    otherConditions: sources.otherConditions(name),
    settings,
    evidence: tracker.evidence(name),
    provable: provableInEach(boundTo, inventories, settings),
    deletionRefused: tracker.refusal(name),
    absentSince: tracker.absentSince(name, node.uid),
    fleet: (group) => ({
      bound: index.inGroup(group),
      ...tracker.fleet(group, name, index.latched()),
    }),
    uncounted: (group) => uncounted(group, name, sources),
    fullReads: (vCenter) => inventories.find((each) => each.vCenter === vCenter)?.fullReads() ?? 0,
    absentLabels: sources.absentLabels(name),
    leadingFor: sources.leadingFor(),
    ...times,
  }
}

function uncounted(group: string, except: string, sources: Sources): string | undefined {
  const { index, inventories, settings } = sources
  for (const name of index.namesInGroup(group)) {
    const node = sources.node(name)
    // The deletion of one that is being deleted is decided already.
    if (name === except || node === undefined || node.deleting) continue
    if (sources.tracker.tracksMissing(name, node.uid)) continue
    const known = knownNode(node, sources.report(name), settings.identity)
    const { machines } = known
    // A machine that was never seen is probed only where its Node is silent.
    if (machines === undefined || isUnseen(machines.machines[0])) continue
    const seen = lookUpInAll(index.uuidsOf(name), known, inventories, settings)
    if (presenceOf(machines, seen).kind === 'missing') return name
  }
  return undefined
}

function rivals(
  name: string,
  uuids: readonly string[],
  { index, node, report, tracker }: Sources,
): readonly Rival[] {
  const names = new Set(uuids.flatMap((uuid) => index.namesByUUID(uuid)))
  names.delete(name)
  const found: Rival[] = []
  for (const other of names) {
    const rival = node(other)
    if (rival === undefined) continue
    const own = report(other)
    if (rival.deleting && isGone(rival, own, tracker.evidence(other))) continue
    const previous = previousStatus(own, rival)
    const { identityLevel: level } = previous
    const { deletingSince, finalizers } = rival
    const boundTo = verifiedVM(previous)
    found.push({ name: other, deletingSince, finalizers, boundTo, level, spec: specOf(own, rival) })
  }
  return found
}

/**
 * Makes lookups `pending` while a VM has to be read again first, because what was read of it minutes ago would end what was
 * verified:
 * - vCenter does not push changes of vNICs, but a guest reports a replaced NIC within seconds. This applies to the bound VM if
 *   the guest has a NIC that is not known there, and to the VMs of a new Node if none of them has a NIC of the guest.
 * - Another VM shows the claim of the report and this one does not: it may show it too, and vCenter may not have pushed that,
 *   while somebody has copied it. It is the bound VM, one that the machine was moved to, or one of several of a new Node. The VM
 *   that shows the claim waits too, in whichever vCenter: alone it would be taken for the Node's.
 *
 * Where vCenter refuses to read it, nothing is known, and that is said: whoever may take the right to read a VM away would
 * otherwise keep a Node waiting without a word.
 */
export function awaitRereads(
  lookups: readonly NodeLookup[],
  spec: NodeReportSpec | undefined,
  {
    node,
    previous: { vm: bound },
  }: Pick<NodeFacts, 'previous'> & { readonly node: { readonly name: string } },
  inventories: readonly Pick<Inventory, 'vCenter' | 'readSince'>[],
): readonly NodeLookup[] {
  if (spec === undefined) return lookups
  const vms = lookups.flatMap(({ lookup }) => vmsOf(lookup))
  const doubts = vms.flatMap((vm) => {
    const doubt = doubtOf(vm, spec, bound, vms)
    return doubt === '' ? [] : [{ vm, doubt }]
  })
  if (doubts.length === 0) return lookups
  // All of them are asked about, so that one call reads them all.
  const rereads = new Map(
    doubts.map(({ vm, doubt }) => {
      const inventory = inventories.find(({ vCenter }) => vCenter === vm.vCenter.name)
      return [vm, inventory?.readSince(vm.moref, doubt, node.name)] as const
    }),
  )
  const { digest } = spec.claim
  const isAwaited = [...rereads.values()].includes(false)
  return lookups.map((one): NodeLookup => {
    const found = vmsOf(one.lookup)
    const its = found.map((vm) => rereads.get(vm))
    const decides = isAwaited && digest !== undefined && found.some((vm) => shows(vm, digest))
    if (its.includes(false) || decides) return { ...one, lookup: { state: 'pending' } }
    const failure = its.find((each) => typeof each === 'object')
    return failure === undefined ? one : { ...one, lookup: { state: 'unknown', failure, alone: true } }
  })
}

/** What the report says that is not known of a VM which may be the Node's; empty where there is nothing. */
function doubtOf(
  vm: VirtualMachine,
  spec: NodeReportSpec,
  bound: BoundVM | undefined,
  vms: readonly VirtualMachine[],
): string {
  const { digest } = spec.claim
  // Most machines have one VM, of which nothing need be computed.
  const isCopied =
    vms.length > 1 && digest !== undefined && !shows(vm, digest) && vms.some((each) => shows(each, digest))
  const doubts = [...doubtedMACs(vm, spec, bound, vms), ...(isCopied ? [digest] : [])]
  if (doubts.length === 0 || vm.connectionState === 'connected') return doubts.join(' ')
  // Of a VM on a host that does not answer, vCenter says what it knew before: it is read once more when it answers.
  return [...doubts, vm.connectionState].join(' ')
}

function doubtedMACs(
  vm: VirtualMachine,
  spec: NodeReportSpec,
  bound: BoundVM | undefined,
  vms: readonly VirtualMachine[],
): readonly string[] {
  const isInDoubt =
    bound === undefined ? vms.every((each) => commonMACs(spec, each).length === 0) : isBoundTo(bound, vm)
  return isInDoubt ? unknownMACs(spec, vm) : []
}

function shows({ claim }: VirtualMachine, digest: string): boolean {
  const parsed = claim === undefined ? undefined : parseClaim(claim)
  return parsed !== undefined && claimDigest(parsed) === digest
}

/** The guest's MAC addresses that the VM is not known to have. */
function unknownMACs({ interfaces }: NodeReportSpec, { nics }: VirtualMachine): readonly string[] {
  const known = new Set(nics.map(({ mac }) => mac))
  return [...new Set(interfaces.map(({ mac }) => mac))].filter((mac) => !known.has(mac)).sort()
}
