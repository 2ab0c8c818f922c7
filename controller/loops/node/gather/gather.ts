import { isGone } from '../decide/lifecycle/evidence.ts'
import { presenceOf } from '../decide/lifecycle/presence.ts'
import type { NodeFacts, Rival } from '../decide/node-facts.ts'
import { isUnseen, knownNode } from '../facts/machines.ts'
import { previousStatus, specOf, verifiedVM } from '../facts/previous-status.ts'
import { providerUUIDs } from '../facts/provider-id.ts'
import { lookUpInAll, provableInEach, vCenterState } from './across-vcenters.ts'
import { addressHolder } from './address-holders.ts'
import { awaitRereads } from './await-rereads.ts'
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
