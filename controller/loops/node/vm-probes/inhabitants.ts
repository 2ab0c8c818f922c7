import { type Inventory, type Lookup, vmsOf } from '../../../types/inventory.ts'
import type { Node, NodeReport } from '../../../types/node.ts'
import type { VCenterProbe, VMExistence } from '../../../types/vcenter-probe.ts'
import type { VirtualMachine } from '../../../types/virtual-machine.ts'
import { isMachineOf } from '../decide/identity/candidates.ts'
import type { Inhabitants } from '../decide/lifecycle/absence-proofs.ts'
import { type Probed, probedOf } from '../decide/lifecycle/evidence.ts'
import { speaksByKubeletAlone } from '../decide/lifecycle/living-machines.ts'
import { previousStatus, specOf } from '../facts/previous-status.ts'
import { isRemovalMeant } from '../facts/removal.ts'
import type { NodeIndex } from '../gather/node-index.ts'
import type { ProbeTracker } from './probe-tracker.ts'

/**
 * Returns a function that finds which Nodes, without one, say that a vCenter must have at least one VM, whatever it shows: see
 * `ProofFacts.inhabited`; undefined where none does.
 *
 * Every other Node that is bound to a VM there says so. Ignores Nodes that do not run and whose VM has been missing for
 * long: while an inventory loads all VMs are missing for a short time, and the machine of a Ready Node runs but is hidden.
 * Ignores Nodes too whose VM is seen in another vCenter; that nobody misses one that is not shown is not enough, for its
 * last probe may have found it here. Of a Node that runs, it must be its own machine that is seen there, and no copy.
 *
 * A Ready Node whose machine no vCenter shows may have it there too, for it runs somewhere: another provider may have
 * initialized that Node, or the VM may have moved there from another vCenter. It counts for the vCenter that had the Node's own
 * VM, and for all where nobody knows which one that was. It does not count for others, which may never have had a VM.
 *
 * A Node that somebody removes on purpose does not count as running, nor one for which a kubelet alone has spoken for long.
 */
export function createInhabitantsOf(options: {
  readonly index: Pick<NodeIndex, 'names' | 'namesIn' | 'uuidsOf'>
  readonly tracker: Pick<ProbeTracker, 'missingFor' | 'evidence'>
  readonly inventories: readonly Pick<Inventory, 'vCenter' | 'lookup'>[]
  readonly node: (
    name: string,
  ) => Pick<Node, 'uid' | 'ready' | 'deleting' | 'deletionAnnotation' | 'taints'> | undefined
  readonly report: (name: string) => NodeReport | undefined
  /** `lifecycle.absentFor`, milliseconds. */
  readonly absentFor: number
}) {
  const { index, tracker, inventories, node, report, absentFor } = options

  function runs(name: string): boolean {
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
    const isFoundElsewhere = (name: string, by: typeof findingsOf): boolean => {
      const evidence = tracker.evidence(name)
      const finders = evidence === undefined ? [] : probedOf(evidence).flatMap((each) => findersOf(each, by))
      return finders.length > 0 && !finders.includes(vCenter)
    }
    /** Whether the machine of a Node that runs is elsewhere: a VM that has its BIOS UUID there may be anybody's copy. */
    const runsElsewhere = (name: string): boolean => {
      const known = node(name)
      if (known === undefined) return false
      const { vm: bound, namedVM } = previousStatus(report(name), known)
      const machine = { bound: bound ?? namedVM, spec: specOf(report(name), known) }
      return (
        shownElsewhere(name).some((vm) => isMachineOf(machine, vm)) || isFoundElsewhere(name, keptFindingsOf)
      )
    }
    /** Whether it says nothing of this vCenter, or only that it runs while its VM has been missing for long. */
    const isAway = (name: string): boolean => {
      const missingFor = tracker.missingFor(name)
      if (missingFor > 0) return missingFor >= absentFor
      if (!isNotShown(name)) return false
      // One that is being deleted is probed, but not missed.
      return (
        shownElsewhere(name).length > 0 || isFoundElsewhere(name, findingsOf) || node(name)?.deleting === true
      )
    }
    const names = [...index.namesIn(vCenterInstanceUUID)]
    const unlisted: string[] = []
    for (const name of names) {
      if (name === except) continue
      if (!isAway(name)) return { kind: 'listed' }
      if (runs(name) && !runsElsewhere(name)) unlisted.push(name)
    }
    if (unlisted.length > 0) return { kind: 'unlisted', names: unlisted.sort() }
    const unseen = [...index.namesIn('')]
    if (!names.includes(except) && !unseen.includes(except)) return undefined
    const unshown = [...index.names()].filter((name) => name !== except && runs(name) && !runsElsewhere(name))
    return unshown.length > 0 ? { kind: 'unshown', names: unshown.sort() } : undefined
  }
}

/** The vCenters, by their names in the configuration, that found a machine in its last probe. */
function findersOf({ probes }: Pick<Probed, 'probes'>, by: typeof findingsOf): readonly string[] {
  return probes.flatMap((probe) =>
    by(probe).some((finding) => finding?.state === 'found') ? [probe.vCenter] : [],
  )
}

function findingsOf({ moref, instanceUUID, biosUUID }: VCenterProbe): readonly (VMExistence | undefined)[] {
  return [moref, instanceUUID, biosUUID]
}

/** What a machine keeps wherever it moves, and a copy does not have by itself. */
function keptFindingsOf({ moref, instanceUUID }: VCenterProbe): readonly (VMExistence | undefined)[] {
  return [moref, instanceUUID]
}
