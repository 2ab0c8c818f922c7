import {
  type Inventory,
  type Lookup,
  type VCenterProbe,
  type VMExistence,
  vmsOf,
} from '../../../types/inventory.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import { runs, type VirtualMachine } from '../../../types/virtual-machine.ts'
import { isBoundTo } from '../decide/bound-vm.ts'
import { isMachineOf } from '../decide/identity/fitting-vms.ts'
import type { Inhabitants } from '../decide/lifecycle/absence-proofs.ts'
import { speaksByKubeletAlone } from '../decide/lifecycle/doubted-vcenter.ts'
import { type Evidence, type Probed, probedOf } from '../decide/lifecycle/evidence.ts'
import { previousStatus, specOf } from '../facts/previous-status.ts'
import { isRemovalMeant } from '../facts/removal.ts'
import type { ProbeTracker } from './probe-tracker.ts'

/**
 * Returns a function that finds which Nodes, without one, say that a vCenter must have at least one VM, whatever it shows: see
 * `ProofFacts.inhabited`; undefined where none does.
 *
 * Every other Node that is bound to a VM there says so. Ignores Nodes that do not run and whose VM has been missing for
 * long: while an inventory loads all VMs are missing for a short time, and the machine of a Ready Node runs but is hidden.
 * Ignores Nodes too whose VM is seen in another vCenter; that nobody misses one that is not shown is not enough, for its
 * last probe may have found it here. Of a Node that runs, it must be its own machine that is seen there: no copy, nor the entry
 * that a failover has left behind.
 *
 * A Ready Node whose machine no vCenter shows may have it there too, for it runs somewhere: another provider may have
 * initialized that Node, or the VM may have moved there from another vCenter. It counts for the vCenter that had the Node's own
 * VM, and for all where nobody knows which one that was. It does not count for others, which may never have had a VM, unless the
 * Ready Node's own vCenter is no longer there: a vCenter that was installed anew has another identity, and may show nothing yet.
 *
 * A Node that somebody removes on purpose does not count as running, nor one for which a kubelet alone has spoken for long.
 */
export function createInhabitantsOf(options: {
  /** The Nodes by the vCenters that they may be in: see `NodeIndex`. */
  readonly index: {
    names(): Iterable<string>
    namesIn(vCenterInstanceUUID: string): Iterable<string>
    uuidsOf(name: string): readonly string[]
  }
  readonly tracker: Pick<ProbeTracker, 'missingFor' | 'evidence'>
  readonly inventories: readonly Pick<Inventory, 'vCenter' | 'instanceUUID' | 'lookup'>[]
  readonly node: (
    name: string,
  ) => Pick<Node, 'uid' | 'ready' | 'deleting' | 'deletionAnnotation' | 'taints'> | undefined
  readonly report: (name: string) => NodeReport | undefined
  /** `lifecycle.absentFor`, milliseconds. */
  readonly absentFor: number
}) {
  const { index, tracker, inventories, node, report, absentFor } = options

  function isAlive(name: string): boolean {
    const known = node(name)
    if (known?.ready?.status !== 'True' || known.deleting || isRemovalMeant(known)) return false
    return !speaksByKubeletAlone(tracker.evidence(name), { absentFor })
  }

  return (
    { vCenter, vCenterInstanceUUID = '' }: Pick<VCenterProbe, 'vCenter' | 'vCenterInstanceUUID'>,
    except: string,
  ): Inhabitants | undefined => {
    const lookups = (name: string, here: boolean): readonly Lookup[] =>
      inventories
        .filter((each) => (each.vCenter === vCenter) === here)
        .flatMap((each) => index.uuidsOf(name).map((uuid) => each.lookup(uuid)))
    const isNotShown = (name: string): boolean =>
      lookups(name, true).every(
        (lookup) => lookup.state === 'answered' && lookup.vms.length === 0 && lookup.incomplete === undefined,
      )
    const shownElsewhere = (name: string): readonly VirtualMachine[] => lookups(name, false).flatMap(vmsOf)
    const isFoundElsewhere = (
      name: string,
      findersIn: (evidence: Evidence) => readonly string[],
    ): boolean => {
      const evidence = tracker.evidence(name)
      const finders = evidence === undefined ? [] : findersIn(evidence)
      return finders.length > 0 && !finders.includes(vCenter)
    }
    /**
     * Whether the machine of a Node that runs is elsewhere: a VM that has its BIOS UUID there may be anybody's copy, and one that
     * the Node is not bound to and that is not known to run may be what the machine has left.
     */
    const runsElsewhere = (name: string): boolean => {
      const known = node(name)
      if (known === undefined) return false
      const { vm: bound, namedVM } = previousStatus(report(name), known)
      const machine = { bound: bound ?? namedVM, spec: specOf(report(name), known) }
      const isItself = (vm: VirtualMachine): boolean =>
        isMachineOf(machine, vm) && (runs(vm) || isBoundTo(machine.bound, vm))
      return shownElsewhere(name).some(isItself) || isFoundElsewhere(name, findersOfItself)
    }
    /** Whether it says nothing of this vCenter, or only that it runs while its VM has been missing for long. */
    const isAway = (name: string): boolean => {
      const missingFor = tracker.missingFor(name)
      if (missingFor > 0) return missingFor >= absentFor
      if (!isNotShown(name)) return false
      // One that is being deleted is probed, but not missed.
      return (
        shownElsewhere(name).length > 0 ||
        isFoundElsewhere(name, findersOfAny) ||
        node(name)?.deleting === true
      )
    }
    const hasLostItsVCenter = (name: string): boolean => {
      const known = node(name)
      const home = known && previousStatus(report(name), known).vm?.vCenterInstanceUUID
      return home !== undefined && inventories.every((each) => each.instanceUUID() !== home)
    }
    const names = [...index.namesIn(vCenterInstanceUUID)]
    const unlisted: string[] = []
    for (const name of names) {
      if (name === except) continue
      if (!isAway(name)) return { kind: 'listed' }
      if (isAlive(name) && !runsElsewhere(name)) unlisted.push(name)
    }
    if (unlisted.length > 0) return { kind: 'unlisted', names: unlisted.sort() }
    const mayBeFromHere = names.includes(except) || [...index.namesIn('')].includes(except)
    const unshown = [...index.names()].filter(
      (name) =>
        name !== except &&
        isAlive(name) &&
        (mayBeFromHere || hasLostItsVCenter(name)) &&
        !runsElsewhere(name),
    )
    return unshown.length > 0 ? { kind: 'unshown', names: unshown.sort() } : undefined
  }
}

/** The vCenters, by their names in the configuration, that found anything of a Node's machines in its last probe. */
function findersOfAny(evidence: Evidence): readonly string[] {
  return probedOf(evidence).flatMap((each) =>
    findersOf(each, ({ moref, instanceUUID, biosUUID }) => [moref, instanceUUID, biosUUID].some(isFound)),
  )
}

/**
 * The same of what a machine keeps wherever it moves, and a copy does not have by itself: the VM that the Node is bound to, in
 * whatever state, and others that run.
 */
function findersOfItself(evidence: Evidence): readonly string[] {
  const isRunning = (finding: VMExistence | undefined): boolean =>
    finding?.state === 'found' && runs(finding.vm)
  return [
    ...findersOf(evidence, ({ moref }) => isFound(moref)),
    ...probedOf(evidence).flatMap((each) =>
      findersOf(each, ({ moref, instanceUUID }) => isRunning(moref) || isRunning(instanceUUID)),
    ),
  ]
}

function findersOf(
  { probes }: Pick<Probed, 'probes'>,
  hasFound: (probe: VCenterProbe) => boolean,
): readonly string[] {
  return probes.filter(hasFound).map(({ vCenter }) => vCenter)
}

function isFound(finding: VMExistence | undefined): boolean {
  return finding?.state === 'found'
}
