import { type BoundVM, timestamp } from '../../../../../agent/shared/node-report.ts'
import type { DecisionConfig } from '../../../../config/config.ts'
import { type ConditionValue, unknown } from '../../../../types/condition-value.ts'
import type { SeenVM } from '../../../../types/inventory.ts'
import type { Node, Taint } from '../../../../types/node.ts'
import { brakeGroup, type NodeMachines } from '../../facts/machines.ts'
import { hasUninitializedTaint } from '../../facts/needs-initialization.ts'
import { describeBound } from '../bound-vm.ts'
import type { Deletion } from '../decision.ts'
import { type Draft, recordAbsence, say } from '../draft.ts'
import { deletingNode, type NodeEvent } from '../node-events.ts'
import type { NodeFacts } from '../node-facts.ts'
import { registeredAs, seenIn } from './absence-proofs.ts'
import { brakeEngaged } from './brake.ts'
import { keptRegardless } from './deletion-preconditions.ts'
import { judgeDeletion, notProbedYet } from './deletion-step.ts'
import { type Evidence, evidenceOn, probedOf } from './evidence.ts'
import { type BrakeState, judgeBrake } from './judge-brake.ts'
import { isOwnOutOfServiceTaint, OUT_OF_SERVICE } from './out-of-service.ts'
import { LOOK, planProbe } from './probe-plan.ts'

/** What follows where no vCenter shows any of a Node's machines: they are probed, and once proven gone the Node is deleted. */
export function followMissingVM(draft: Draft, nodeMachines: NodeMachines, facts: NodeFacts): Draft {
  const { node, previous, now } = facts
  const [bound] = nodeMachines.machines
  const evidence = evidenceOn(nodeMachines, facts)
  const there = evidence === undefined ? undefined : firstSeen(evidence)
  const group = brakeGroup(nodeMachines)
  const fleet = facts.fleet(group)
  const goesUnseen = mayGoUnseen(nodeMachines, facts)
  const seenAs = there && (isRenamed(there.machine, there.vm) ? 'renamed' : 'unsearchable')
  const brake = judgeBrake(nodeMachines, { goesUnseen, evidence, there: seenAs, fleet }, facts)
  const absence = there === undefined ? { absence: brake.absence } : {}
  const namedVM =
    previous.namedVM ??
    (evidence !== undefined && nodeMachines.bound ? registeredAgain(bound, evidence) : undefined)
  const recorded = recordAbsence(draft, {
    ...brake.status,
    ...(namedVM === undefined ? {} : { namedVM }),
  })
  if (evidence === undefined) {
    const kept = keptRegardless(nodeMachines, { node, goesUnseen, settings: facts.settings })
    const condition = notProbedYet(nodeMachines.machines, kept)
    return {
      ...say(recorded, { DeletionPending: condition }),
      probePlan: planProbe(nodeMachines, facts, { due: true, missing: true, ...absence }),
      recheck: [],
      requeueAfter: LOOK,
      events: brakeEvents(node, bound, brake.engages, condition),
    }
  }
  const { condition, unmet, listed, deletes, detaches, probeDue, requeueAfter } = judgeDeletion({
    ...facts,
    bound: nodeMachines.bound,
    goesUnseen,
    evidence,
    fleet,
    braked: brake.holds,
    uncounted: () => facts.uncounted(group),
  })
  const found =
    there?.machine === evidence.request.vm ? { VMFound: existsThoughNotFound(bound, there.vm) } : {}
  const searches = there !== undefined || (evidence.absent !== undefined && !probeDue)
  return {
    ...say(recorded, { ...found, DeletionPending: condition }, listed),
    deletionUnmet: unmet,
    ...(deletes ? { deletion: deletionOf(bound, brake, condition, node.name) } : {}),
    ...(detaches ? { taints: outOfService(recorded.taints, now) } : {}),
    ...(deletes || detaches ? { confirmLease: true } : {}),
    // From now on it counts as deleted. Counted as missing too, two deletions would look like four and engage the brake.
    probePlan: planProbe(nodeMachines, facts, {
      due: probeDue,
      missing: true,
      ...(deletes ? {} : absence),
    }),
    // One search costs less than a probe.
    recheck: searches ? nodeMachines.machines.map(({ biosUUID }) => biosUUID) : [],
    requeueAfter: Math.min(LOOK, brake.requeueAfter ?? LOOK, probeDue ? LOOK : requeueAfter),
    events: [...brakeEvents(node, bound, brake.engages, condition), ...(detaches ? [detaching(bound)] : [])],
  }
}

/** With our own taint of a Node whose volumes are to be detached, dated now. */
function outOfService(taints: readonly Taint[], now: number): readonly Taint[] {
  const others = taints.filter((taint) => !isOwnOutOfServiceTaint(taint))
  return [...others, { ...OUT_OF_SERVICE, timeAdded: timestamp(now) }]
}

/** An Event says that the brake engages even where the condition gives another reason first. */
function brakeEvents(
  node: Node,
  bound: BoundVM,
  engages: boolean,
  condition: ConditionValue,
): readonly NodeEvent[] {
  if (!engages || condition.reason === 'BrakeEngaged') return []
  return [{ type: 'Warning', ...brakeEngaged(node, bound) }]
}

function detaching(bound: BoundVM): NodeEvent {
  return {
    type: 'Warning',
    reason: 'OutOfService',
    message: `${describeBound(bound)} is gone; the taint ${OUT_OF_SERVICE.key}:${OUT_OF_SERVICE.effect} lets the Node's volumes go to other nodes, then it is deleted`,
  }
}

/**
 * A VM that was registered again, noted while a search for its instance UUID still finds it: in a storage outage none would.
 * Whether it is the Node's is for identity to judge. It must be gone, too, before a deletion.
 */
function registeredAgain(bound: BoundVM, { probes }: Evidence): BoundVM | undefined {
  const moref = registeredAs(bound, probes)
  return moref === undefined ? undefined : { ...bound, moref }
}

/** The first machine that any vCenter still has although no search by its UUID finds it, with the VM as it is there now. */
function firstSeen(evidence: Evidence): { readonly machine: BoundVM; readonly vm: SeenVM } | undefined {
  for (const { vm: machine, probes } of probedOf(evidence)) {
    const vm = seenIn(machine, probes)
    if (vm !== undefined) return { machine, vm }
  }
  return undefined
}

function isRenamed(bound: BoundVM, { biosUUID }: SeenVM): boolean {
  return biosUUID !== undefined && biosUUID !== bound.biosUUID
}

/** The condition for a VM that exists although a search by its known UUID does not find it. */
export function existsThoughNotFound(bound: BoundVM, seen: SeenVM): ConditionValue {
  const name = describeBound(bound)
  if (isRenamed(bound, seen)) {
    return unknown(
      'BIOSUUIDChanged',
      `the BIOS UUID of ${name} was ${bound.biosUUID} and is ${seen.biosUUID} now, so the Node is kept; set uuid.bios back, or delete the Node and let it register again; after a restore of vCenter this may be another VM`,
    )
  }
  if (seen.moref !== bound.moref) {
    return unknown(
      'UUIDOfAnotherVM',
      `${name} is not found, but VM "${seen.name}" (${seen.moref}) has its UUID, and the Node is kept; give a copy its own UUID, or delete the Node if its machine is gone`,
    )
  }
  return unknown(
    'VMNotSearchable',
    `${name} is there (${seen.connectionState}), but no search finds it by its UUID, and the Node is kept; bring its host and datastore back`,
  )
}

function deletionOf(
  { vCenter }: BoundVM,
  { absence }: BrakeState,
  { message }: ConditionValue,
  name: string,
): Deletion {
  return {
    vCenter,
    group: absence.group,
    vanished: absence.counts ? { from: absence.from, until: absence.until } : undefined,
    event: { type: 'Normal', reason: 'NodeDeleted', message },
    cpiEvent: deletingNode(name),
  }
}

/**
 * Whether a Node may go although no vCenter has ever shown one of its machines, which is then known by its UUID alone.
 *
 * Never where the Node was verified before: such a machine took it over only recently. Always where the Node still waits
 * for a cloud provider and a witness that the configuration accepts names its VM: nothing was ever scheduled to it, and an
 * autoscaler may remove a VM before any vCenter has shown it. Otherwise as `lifecycle.unbound` says: the Node may run pods,
 * or belong to another provider.
 */
export function mayGoUnseen(
  { bound }: Pick<NodeMachines, 'bound'>,
  {
    node,
    machineUUID,
    settings,
  }: Pick<NodeFacts, 'node' | 'machineUUID'> & { readonly settings: Pick<DecisionConfig, 'lifecycle'> },
): boolean {
  if (bound) return false
  const named = machineUUID.uuids.length > 0
  return (hasUninitializedTaint(node) && named) || settings.lifecycle.unbound === 'delete'
}
