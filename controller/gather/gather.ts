import type { BoundVM } from '../../agent/contract.ts'
import type { DecisionConfig } from '../config/config.ts'
import { isGone } from '../decide/lifecycle/evidence.ts'
import { presenceOf } from '../decide/lifecycle/presence.ts'
import type { NodeFacts, Rival } from '../decide/node-facts.ts'
import { knownNode } from '../node/known-node.ts'
import { isUnseen, machinesOf } from '../node/machines.ts'
import { previousStatus, specOf, verifiedVM } from '../node/previous-status.ts'
import { providerUUIDs } from '../node/provider-id.ts'
import type { ProbeTracker } from '../probes/probe-tracker.ts'
import type { InterlockState } from '../types/interlock-state.ts'
import type { Inventory } from '../types/inventory.ts'
import type { Node, NodeReport } from '../types/node.ts'
import type { PolicyState } from '../types/policy-state.ts'
import type { Proof } from '../types/vcenter-probe.ts'
import type { NodeIndex } from './node-index.ts'
import { oneViewOfEach } from './one-view.ts'

/** Where facts are read from: memory only, no calls. */
export interface Sources {
  readonly node: (name: string) => Node | undefined
  readonly report: (name: string) => NodeReport | undefined
  readonly index: NodeIndex
  readonly inventories: readonly Inventory[]
  readonly policy: () => PolicyState
  readonly interlock: () => InterlockState
  readonly settings: DecisionConfig
  readonly tracker: Pick<ProbeTracker, 'evidence' | 'fleet' | 'refusal' | 'absentSince' | 'tracksMissing'>
  /** Milliseconds since this replica became leader. */
  readonly leadingFor: () => number
}

/** All that is known about one Node at this moment; undefined where there is no such Node. */
export function gather(
  name: string,
  sources: Sources,
  times: { readonly now: number; readonly monotonic: number },
): NodeFacts | undefined {
  const { index, tracker, settings } = sources
  const node = sources.node(name)
  if (node === undefined) return undefined
  const report = sources.report(name)
  const known = knownNode(node, report, settings.identity)
  const { boundTo, machineUUID } = known
  return {
    node,
    report,
    ...known,
    lookups: lookups(name, boundTo, sources),
    rivals: rivals(name, report === undefined ? providerUUIDs(node) : machineUUID.uuids, sources),
    nodeByUID: index.nodeByUID,
    addressHolder: (address) =>
      index
        .addressHolders(address)
        .find((other) => other !== name && heldBy(other, sources).includes(address)),
    policy: sources.policy(),
    interlock: sources.interlock(),
    settings,
    evidence: tracker.evidence(name),
    provable: provable(boundTo, sources),
    deletionRefused: tracker.refusal(name),
    absentSince: tracker.absentSince(name, node.uid),
    fleet: (group) => ({
      bound: index.inGroup(group),
      ...tracker.fleet(group, name, index.latched()),
    }),
    uncounted: (group) => uncounted(group, name, sources),
    leadingFor: sources.leadingFor(),
    ...times,
  }
}

function lookups(
  name: string,
  bound: BoundVM | undefined,
  { index, inventories, settings }: Pick<Sources, 'index' | 'inventories' | 'settings'>,
): NodeFacts['lookups'] {
  const uuids = index.uuidsOf(name)
  const all = inventories.flatMap((inventory) =>
    uuids.map((uuid) => ({ vCenter: inventory.vCenter, uuid, lookup: inventory.lookup(uuid) })),
  )
  return inventories.length === 1 ? all : oneViewOfEach(all, bound?.vCenter, settings)
}

function uncounted(group: string, except: string, sources: Sources): string | undefined {
  for (const name of sources.index.namesInGroup(group)) {
    const node = sources.node(name)
    // A Node that is being deleted is not reconciled any more.
    if (name === except || node === undefined || node.deleting) continue
    if (sources.tracker.tracksMissing(name, node.uid)) continue
    const report = sources.report(name)
    const nodeMachines = machinesOf(node, report)
    // A machine that was never seen is probed only where its Node is silent.
    if (nodeMachines === undefined || isUnseen(nodeMachines.machines[0])) continue
    const seen = lookups(name, verifiedVM(previousStatus(report, node)), sources)
    if (presenceOf(nodeMachines, seen).kind === 'missing') return name
  }
  return undefined
}

function heldBy(name: string, sources: Sources): readonly string[] {
  const node = sources.node(name)
  return node === undefined
    ? sources.index.addressesOf(name)
    : heldAddresses({ node, report: sources.report(name) }, sources)
}

/** What no other Node may use: this Node's name, and its addresses unless its machine is proven gone. */
export function heldAddresses(
  { node, report }: Pick<NodeFacts, 'node' | 'report'>,
  { index, tracker }: Pick<Sources, 'index' | 'tracker'>,
): readonly string[] {
  const { name } = node
  const gone = isGone(node, report, tracker.evidence(name))
  const held = index.addressesOf(name)
  return gone ? held.filter((each) => each === name) : held
}

/** By vCenter, however many entries of the configuration name it: one account that may read enough will do. */
function provable(bound: BoundVM | undefined, { inventories }: Sources): readonly (Proof | undefined)[] {
  if (bound === undefined) return []
  const proofs = new Map<string, (Proof | undefined)[]>()
  for (const inventory of inventories) {
    const instanceUUID = inventory.instanceUUID()
    const proof = inventory.provable(instanceUUID === bound.vCenterInstanceUUID ? (bound.parents ?? []) : [])
    // As long as it has not said who it is, it counts by itself.
    const key = instanceUUID === '' ? `name ${inventory.vCenter}` : instanceUUID
    proofs.set(key, [...(proofs.get(key) ?? []), proof])
  }
  return Array.from(
    proofs.values(),
    (each) =>
      each.find((proof) => proof?.state === 'proven') ?? (each.includes(undefined) ? undefined : each[0]),
  )
}

function rivals(name: string, uuids: readonly string[], { index, node, report }: Sources): readonly Rival[] {
  const names = new Set(uuids.flatMap((uuid) => index.namesByUUID(uuid)))
  names.delete(name)
  const found: Rival[] = []
  for (const other of names) {
    const rival = node(other)
    if (rival === undefined) continue
    const own = report(other)
    const previous = previousStatus(own, rival)
    const { identityLevel: level } = previous
    found.push({ name: other, boundTo: verifiedVM(previous), level, spec: specOf(own, rival) })
  }
  return found
}
