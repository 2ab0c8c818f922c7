import type { DecisionConfig } from '../../../config/config.ts'
import type { InterlockState, PolicyState } from '../../../types/cluster-state.ts'
import type { Inventory } from '../../../types/inventory.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { isGone } from '../decide/lifecycle/evidence.ts'
import { presenceOf } from '../decide/lifecycle/presence.ts'
import type { NodeFacts, Rival } from '../decide/node-facts.ts'
import { knownNode } from '../facts/known-node.ts'
import { isUnseen } from '../facts/machines.ts'
import { previousStatus, specOf, verifiedVM } from '../facts/previous-status.ts'
import { providerUUIDs } from '../facts/provider-id.ts'
import type { ProbeTracker } from '../vm-probes/probe-tracker.ts'
import { lookUpInAll, provableInEach, vCenterState } from './across-vcenters.ts'
import type { NodeIndex } from './node-index.ts'
import { awaitReplacedNICs } from './replaced-nics.ts'

/** Where facts are read from: memory only, no calls. */
export interface Sources {
  readonly node: (name: string) => Node | undefined
  readonly report: (name: string) => NodeReport | undefined
  readonly index: NodeIndex
  readonly inventories: readonly Inventory[]
  readonly policy: () => PolicyState
  readonly interlock: () => InterlockState
  readonly csiTopologyKeys: (node: Node) => readonly string[] | undefined
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
    lookups: awaitReplacedNICs(
      lookUpInAll(index.uuidsOf(name), known, inventories, settings),
      specOf(report, node),
      known,
      inventories,
    ),
    vCenterState: (instanceUUID) => vCenterState(instanceUUID, inventories),
    rivals: rivals(name, report === undefined ? providerUUIDs(node) : machineUUID.uuids, sources),
    nodeByUID: index.nodeByUID,
    addressHolder(address) {
      const holder = index
        .addressHolders(address)
        .find((other) => other !== name && heldBy(other, sources).includes(address))
      if (holder === undefined) return undefined
      return sources.node(holder) ?? { name: holder, deletingSince: undefined, finalizers: [] }
    },
    policy: sources.policy(),
    interlock: sources.interlock(),
    csiTopologyKeys: sources.csiTopologyKeys(node),
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

function heldBy(name: string, sources: Sources): readonly string[] {
  const node = sources.node(name)
  return node === undefined
    ? sources.index.addressesOf(name)
    : heldAddresses({ node, report: sources.report(name) }, sources)
}

/**
 * What no other Node may use: this Node's name, and its addresses unless its machine is proven gone. One that is being deleted
 * holds no name either then: a finalizer may keep it for ever.
 */
export function heldAddresses(
  { node, report }: Pick<NodeFacts, 'node' | 'report'>,
  { index, tracker }: Pick<Sources, 'index' | 'tracker'>,
): readonly string[] {
  const { name } = node
  const gone = isGone(node, report, tracker.evidence(name))
  const held = index.addressesOf(name)
  if (!gone) return held
  return node.deleting ? [] : held.filter((each) => each === name)
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
