import type { Inventory, Lookup } from '../../../types/inventory.ts'
import type { Node } from '../../../types/node.ts'
import type { VCenterProbe } from '../../../types/vcenter-probe.ts'
import type { Inhabitants } from '../decide/lifecycle/absence-proofs.ts'
import { probedOf } from '../decide/lifecycle/evidence.ts'
import { speaksByKubeletAlone } from '../decide/lifecycle/living-machines.ts'
import { isRemovalMeant } from '../facts/removal.ts'
import type { NodeIndex } from '../gather/node-index.ts'
import type { ProbeTracker } from './probe-tracker.ts'

export interface InhabitantsOptions {
  readonly index: Pick<NodeIndex, 'names' | 'namesIn' | 'uuidsOf'>
  readonly tracker: Pick<ProbeTracker, 'missingFor' | 'evidence'>
  readonly inventories: readonly Pick<Inventory, 'vCenter' | 'lookup'>[]
  readonly node: (
    name: string,
  ) => Pick<Node, 'ready' | 'deleting' | 'deletionAnnotation' | 'taints'> | undefined
  /** `lifecycle.absentFor`, milliseconds. */
  readonly absentFor: number
}

/**
 * Which Nodes, without this one, say that a vCenter must have at least one VM, whatever it shows: see
 * `ProofFacts.inhabited`. Undefined where none does.
 */
export type InhabitantsOf = (
  vCenter: Pick<VCenterProbe, 'vCenter' | 'vCenterInstanceUUID'>,
  except: string,
) => Inhabitants | undefined

/**
 * Every other Node that is bound to a VM there says so. Ignores Nodes that do not run and whose VM has been missing for
 * long: while an inventory loads all VMs are missing for a short time, and the machine of a Ready Node runs but is hidden.
 * Ignores Nodes too whose VM is seen in another vCenter; that nobody misses one that is not shown is not enough, for its
 * last probe may have found it here.
 *
 * A Ready Node whose machine no vCenter shows may have it there too, for it runs somewhere: another provider may have
 * initialized that Node, or the VM may have moved there from another vCenter. It counts for the vCenter that had the Node's own
 * VM, and for all where nobody knows which one that was. It does not count for others, which may never have had a VM.
 *
 * A Node that somebody removes on purpose does not count as running, nor one for which a kubelet alone has spoken for long.
 */
export function createInhabitantsOf(options: InhabitantsOptions): InhabitantsOf {
  const { index, tracker, inventories, node, absentFor } = options

  function runs(name: string): boolean {
    const known = node(name)
    if (known?.ready?.status !== 'True' || known.deleting || isRemovalMeant(known)) return false
    return !speaksByKubeletAlone(tracker.evidence(name), { absentFor })
  }

  return ({ vCenter, vCenterInstanceUUID = '' }, except) => {
    const lookups = (name: string, here: boolean): readonly Lookup[] =>
      inventories
        .filter((each) => (each.vCenter === vCenter) === here)
        .flatMap((each) => index.uuidsOf(name).map((uuid) => each.lookup(uuid)))
    const isNotShown = (name: string): boolean =>
      lookups(name, true).every(
        (lookup) => lookup.state === 'answered' && lookup.vms.length === 0 && lookup.incomplete === undefined,
      )
    const isShownElsewhere = (name: string): boolean =>
      lookups(name, false).some((lookup) => lookup.state === 'answered' && lookup.vms.length > 0)
    const isFoundElsewhere = (name: string): boolean => {
      const evidence = tracker.evidence(name)
      const finders = evidence === undefined ? [] : probedOf(evidence).flatMap(findersOf)
      return finders.length > 0 && !finders.includes(vCenter)
    }
    /** Whether it says nothing of this vCenter, or only that it runs while its VM has been missing for long. */
    const isAway = (name: string): boolean => {
      const missingFor = tracker.missingFor(name)
      if (missingFor > 0) return missingFor >= absentFor
      if (!isNotShown(name)) return false
      // One that is being deleted is probed, but not missed.
      return isShownElsewhere(name) || isFoundElsewhere(name) || node(name)?.deleting === true
    }
    const names = [...index.namesIn(vCenterInstanceUUID)]
    const unlisted: string[] = []
    for (const name of names) {
      if (name === except) continue
      if (!isAway(name)) return { kind: 'listed' }
      if (tracker.missingFor(name) > 0 && runs(name)) unlisted.push(name)
    }
    if (unlisted.length > 0) return { kind: 'unlisted', names: unlisted.sort() }
    const unseen = [...index.namesIn('')]
    if (!names.includes(except) && !unseen.includes(except)) return undefined
    const unshown = [...index.names()].filter(
      (name) => name !== except && runs(name) && !isShownElsewhere(name) && !isFoundElsewhere(name),
    )
    return unshown.length > 0 ? { kind: 'unshown', names: unshown.sort() } : undefined
  }
}

/** The vCenters, by their names in the configuration, that found a machine in its last probe. */
function findersOf({ probes }: { readonly probes: readonly VCenterProbe[] }): readonly string[] {
  return probes.flatMap(({ vCenter, moref, instanceUUID, biosUUID }) =>
    [moref, instanceUUID, biosUUID].some((finding) => finding?.state === 'found') ? [vCenter] : [],
  )
}
