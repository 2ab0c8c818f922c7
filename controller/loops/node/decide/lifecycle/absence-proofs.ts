import type { BoundVM } from '../../../../../agent/shared/node-report.ts'
import type { SeenVM, VCenterFailure, VCenterProbe, VMExistence } from '../../../../types/inventory.ts'
import { ANNOTATION_DELETION } from '../../../../types/node.ts'
import type { Reason } from '../../../../types/reasons.ts'
import { isUnseen } from '../../facts/machines.ts'

/** Why one precondition does not hold. */
export interface Unmet {
  readonly reason: Reason
  /** The present state, and the next step. */
  readonly message: string
}

export interface UnmetPrecondition extends Unmet {
  readonly name: string
}

/** Something that must hold before a Node is deleted. */
export interface Precondition<Facts> {
  readonly name: string
  /** What is so where it holds, in plain words. */
  readonly holds: string
  /** Tried only where nothing before it keeps the Node, or only its volumes do. */
  readonly costly?: true
  /** It comes and goes with each result, or with each heartbeat of a Ready Node: listed only where it alone is unmet. */
  readonly fleeting?: 'always' | 'while Ready'
  /** Undefined where it holds. */
  unmet(facts: Facts): Unmet | undefined
}

/** Which other Nodes say that a vCenter must have a VM. */
export type Inhabitants =
  /** It has shown the VM of one of them until lately, or does so still. */
  | { readonly kind: 'listed' }
  /** Ready Nodes, in order, that had their VMs there, of which it has not shown any for long, or others show copies. */
  | { readonly kind: 'unlisted'; readonly names: readonly string[] }
  /** Ready Nodes, in order, whose VMs no vCenter shows, and which were not theirs by the Nodes' bindings. */
  | { readonly kind: 'unshown'; readonly names: readonly string[] }

/** One machine, with what all vCenters said of it. */
export interface ProofFacts {
  readonly vm: BoundVM
  readonly probes: readonly VCenterProbe[]
  /**
   * vCenters (`about.instanceUuid`) that must show at least one VM, because other Nodes say that they have one there.
   * Bindings are in the reports, so this survives anything that happens to vCenter or the controller.
   */
  readonly inhabited: ReadonlyMap<string, Inhabitants>
}

/**
 * All that the vCenters must have said in one probe before a VM counts as gone. A search that finds nothing proves nothing
 * by itself: a missing privilege, an inaccessible VM and an inventory that is still loading look the same.
 *
 * Where several entries of the configuration name one vCenter, each account must find nothing, and one of them must be such
 * that its finding nothing means something: it may read enough, and the same search finds its canary. That one alone would
 * prove as much; what the others may not read takes nothing from it.
 */
export const PROOFS: readonly Precondition<ProofFacts>[] = [
  {
    name: 'OwnVCenterAnswers',
    holds: 'the vCenter that had the VM answers',
    unmet: ({ vm, probes }) =>
      // A machine that was never seen has no vCenter of its own: all are searched for its UUID.
      ownProbes(vm, probes).length === 0 && !isUnseen(vm)
        ? {
            reason: 'VCenterOfBindingMissing',
            message: `vCenter ${vm.vCenter} (instance UUID ${vm.vCenterInstanceUUID}), which had the VM, is not configured or does not answer; configure it, or delete the Node by hand if it is gone for good`,
          }
        : undefined,
  },
  {
    name: 'PrivilegesProven',
    holds: 'the account may read the root folder and all that was above the VM',
    unmet: ({ probes }) =>
      first(byVCenter(probes), (accounts) => (accounts.some(mayRead) ? undefined : lacking(accounts))),
  },
  {
    name: 'CanaryFound',
    holds: 'the same search finds another VM that is there',
    unmet: ({ probes, inhabited }) =>
      first(byVCenter(probes), (accounts) => {
        const able = accounts.filter(mayRead)
        const doubts = (able.length > 0 ? able : accounts).map((probe) => doubtOf(probe, inhabited))
        return doubts.includes(undefined) ? undefined : doubts[0]
      }),
  },
  {
    name: 'ReferenceNotFound',
    holds: 'vCenter knows no VM with its managed object reference',
    unmet({ vm, probes }) {
      const findings = ownProbes(vm, probes).map(({ moref }) => moref)
      // One account may not read what another one finds.
      const found = findings.find((finding) => finding?.state === 'found')
      return first(found === undefined ? findings : [found], (each) => fromFinding(each, 'by reference'))
    },
  },
  {
    name: 'InstanceUUIDNowhere',
    holds: 'no vCenter finds a VM by its instance UUID',
    unmet: ({ probes }) => first(probes, (probe) => fromFinding(probe.instanceUUID, 'by its instance UUID')),
  },
  {
    name: 'BIOSUUIDNowhere',
    holds: 'no vCenter finds a VM by its BIOS UUID',
    unmet: ({ probes }) => first(probes, (probe) => fromFinding(probe.biosUUID, 'by its BIOS UUID')),
  },
]

/** What is still missing from the proof that a VM is gone; empty where the proof is complete. */
export function unmetProofs(
  vm: BoundVM,
  { probes, inhabited }: Omit<ProofFacts, 'vm'>,
): readonly UnmetPrecondition[] {
  return PROOFS.flatMap(({ name, unmet }) => {
    const found = unmet({ vm, probes, inhabited })
    return found === undefined ? [] : [{ name, ...found }]
  })
}

/**
 * What is still missing from the proof that its own vCenter no longer has a VM: the same as for a deletion, without what
 * others may have under the same UUID.
 */
export function unmetDepartureProofs(
  vm: BoundVM,
  { probes, inhabited }: Omit<ProofFacts, 'vm'>,
): readonly UnmetPrecondition[] {
  return unmetProofs(vm, { probes: ownProbes(vm, probes), inhabited }).filter(
    ({ name }) => name !== 'BIOSUUIDNowhere',
  )
}

/** The VM, or what else has one of its UUIDs, where any vCenter has it. */
export function seenIn(vm: BoundVM, probes: readonly VCenterProbe[]): SeenVM | undefined {
  const [itself] = seenByReference(vm, probes)
  const findings = probes.flatMap((probe) => [probe.instanceUUID, probe.biosUUID])
  return itself ?? first(findings, (finding) => (finding.state === 'found' ? finding.vm : undefined))
}

/** The VM itself, as its own vCenter shows it by its reference: by each account that it is shown to. */
export function seenByReference(vm: BoundVM, probes: readonly VCenterProbe[]): readonly SeenVM[] {
  return ownProbes(vm, probes).flatMap(({ moref }) => (moref?.state === 'found' ? [moref.vm] : []))
}

/**
 * The new moref of a VM that was registered again in its own vCenter, found by its instance UUID, which is unique there.
 * Undefined where the VM is not found or still has its moref, or where a second server that says it is this vCenter does not
 * find the same.
 */
export function registeredAs(vm: BoundVM, probes: readonly VCenterProbe[]): string | undefined {
  const own = ownProbes(vm, probes)
  if (vm.instanceUUID === '' || own.some(({ moref }) => moref?.state === 'found')) return undefined
  const found = byServer(own).map((accounts) =>
    first(accounts, ({ moref, instanceUUID: finding }) =>
      moref?.state === 'not-found' && finding.state === 'found' && finding.vm.moref !== vm.moref
        ? finding.vm.moref
        : undefined,
    ),
  )
  return new Set(found).size === 1 ? found[0] : undefined
}

/**
 * Whether the VM, read by moref, is powered off, and nothing readable says that vCenter is about to start it: neither HA,
 * nor Fault Tolerance, nor a task. A suspended VM does not count, since it goes on writing when it resumes. Each server that
 * says it is the VM's vCenter must show it so.
 */
export function isOffForGood(vm: BoundVM, probes: readonly VCenterProbe[]): boolean {
  const own = byServer(ownProbes(vm, probes))
  const isOff = ({ connectionState, powerState, mayRestart }: SeenVM): boolean =>
    connectionState === 'connected' && powerState === 'poweredOff' && mayRestart.length === 0
  return (
    own.length > 0 &&
    own.every((accounts) => {
      const seen = accounts.flatMap(({ moref }) => (moref?.state === 'found' ? [moref.vm] : []))
      return seen.length > 0 && seen.every(isOff)
    })
  )
}

/** The probes by the vCenter that the VM is bound to: one for each entry of the configuration that names it. */
function ownProbes(vm: BoundVM, probes: readonly VCenterProbe[]): readonly VCenterProbe[] {
  return probes.filter(({ vCenterInstanceUUID }) => vCenterInstanceUUID === vm.vCenterInstanceUUID)
}

/**
 * A group for each vCenter. One that has never answered is known by no more than its name, and may be any. Two servers that
 * say they are one vCenter are two groups: one of them may be a clone.
 */
function byVCenter(probes: readonly VCenterProbe[]): readonly (readonly VCenterProbe[])[] {
  const groups = Map.groupBy(probes, ({ vCenter, server, vCenterInstanceUUID }) =>
    vCenterInstanceUUID === undefined ? `name ${vCenter}` : `${vCenterInstanceUUID} ${server}`,
  )
  return [...groups.values()]
}

function byServer(probes: readonly VCenterProbe[]): readonly (readonly VCenterProbe[])[] {
  return [...Map.groupBy(probes, ({ server }) => server).values()]
}

/** Whether in each of these vCenters one account may read what a proof of absence needs. */
export function mayReadAll(probes: readonly VCenterProbe[]): boolean {
  return byVCenter(probes).every((accounts) => accounts.some(mayRead))
}

function mayRead({ privileges }: VCenterProbe): boolean {
  return privileges.state === 'proven'
}

function lacking(accounts: readonly VCenterProbe[]): Unmet | undefined {
  return first(accounts, ({ privileges }) =>
    privileges.state === 'unproven' ? fromFailure(privileges.failure) : undefined,
  )
}

/** Why an account's search is not to be trusted, judged by another VM. */
function doubtOf(
  { canary, vCenter, vCenterInstanceUUID = '' }: VCenterProbe,
  inhabited: ProofFacts['inhabited'],
): Unmet | undefined {
  if (canary.state === 'unproven') return fromFailure(canary.failure)
  const inhabitants = inhabited.get(vCenterInstanceUUID)
  return canary.state === 'none' && inhabitants !== undefined ? nothingShown(vCenter, inhabitants) : undefined
}

function fromFinding(finding: VMExistence | undefined, how: string): Unmet | undefined {
  if (finding === undefined || finding.state === 'not-found') return undefined
  if (finding.state === 'unknown') return fromFailure(finding.failure)
  const { name, moref, connectionState } = finding.vm
  return { reason: 'VMExists', message: `VM "${name}" (${moref}, ${connectionState}) is found ${how}` }
}

/**
 * An empty vCenter is believed to be empty only where no other Node says otherwise. That the account may read everything
 * does not replace that: an inventory that is still loading, or that an old backup has brought back, looks the same.
 */
function nothingShown(vCenter: string, inhabitants: Inhabitants): Unmet {
  return {
    reason: 'CanaryNotFound',
    message: `vCenter ${vCenter} shows no VM at all, so not finding one proves nothing, though ${livesThere(vCenter, inhabitants)}`,
  }
}

/** Who lives in a vCenter that shows nothing, and what ends that. */
function livesThere(vCenter: string, inhabitants: Inhabitants): string {
  if (inhabitants.kind === 'listed')
    return "other Nodes have theirs there: look whether it is still starting, and at the account's role"
  const [first = '', ...others] = inhabitants.names
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`
  const remove = `delete that Node or allow its deletion, so that vCenter ${vCenter} counts as empty: kubectl delete node ${first}, or kubectl annotate node ${first} ${ANNOTATION_DELETION}=proceed`
  return inhabitants.kind === 'unlisted'
    ? `Node ${first}${more} is Ready and had its VM there: register that VM again, or ${remove}`
    : `Node ${first}${more} is Ready and no vCenter shows its VM, which may be there: register that VM again, install the agent on the Node if it has none, or ${remove}`
}

function fromFailure({ vCenter, reason, message }: VCenterFailure): Unmet {
  return { reason, message: `vCenter ${vCenter}: ${message}` }
}

function first<T, R>(list: readonly T[], look: (item: T) => R | undefined): R | undefined {
  for (const item of list) {
    const found = look(item)
    if (found !== undefined) return found
  }
  return undefined
}
