import {
  type IdentityLevel,
  type NodeReportSpec,
  timestamp,
} from '../../../../../agent/shared/node-report.ts'
import { type ConditionValue, no, yes } from '../../../../types/condition-value.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { judgeProviderID } from '../../facts/provider-id.ts'
import { deletionHangs } from '../../facts/removal.ts'
import { describeVM, isBoundTo, mayBeBoundTo } from '../bound-vm.ts'
import type { NodeFacts, Rival } from '../node-facts.ts'
import { CLAIM_GRACE_MS, type ClaimCheck, judgeClaim } from './claim.ts'
import { commonMACs, contradictionOf } from './fitting-vms.ts'

export interface Identity {
  /** Undefined where the identity is refused. */
  readonly level: IdentityLevel | undefined
  /** RFC 3339: the level falls at this time unless a claim comes first; where it is refused, until then it may come back. */
  readonly provenUntil?: string
  readonly condition: ConditionValue
  /** Whether a refusal ends what was verified before. */
  readonly ends: boolean
}

export interface IdentityQuery {
  readonly spec: NodeReportSpec
  readonly vm: VirtualMachine
  /** See `commonMACs`. */
  readonly macs: readonly string[]
  /** Another VM that fits and shows the same claim. */
  readonly rival: VirtualMachine | undefined
  /** Whether the Node was verified to be this VM before. */
  readonly holds: boolean
}

/**
 * Whether this Node is this VM, and how strongly that is known.
 *
 * `asserted`: the kubelet says so. `reported`: the node's own credential named the UUID, one VM fits it, and a MAC seen
 * in the guest is one of its vNICs. `proven`: the VM itself names this Node. Names and IP addresses never identify.
 */
export function verifyIdentity(query: IdentityQuery, facts: NodeFacts): Identity {
  const { spec, vm, holds, rival } = query
  const { previous, machineUUID } = facts
  const claim = judgeClaim(vm, spec, facts)
  const until = provenUntil(query, facts)
  const holdsProven = holds && previous.identityLevel === 'proven'
  const wasProven = holds ? holdsProven : until !== undefined
  const isBelieved =
    machineUUID.witness !== 'asserted' &&
    (claim.kind === 'proves' ? wasProven || rival === undefined : claim.kind === 'vouches' && wasProven)
  // The first one is told.
  const objection =
    contradictionOf(query, facts) ??
    notRunning(query, facts) ??
    verifiedOriginal(query, facts) ??
    claimedByAnother(vm, claim, facts) ??
    (isBelieved ? provenRival(query, facts) : until === undefined ? strongerRival(query, facts) : undefined)
  if (objection !== undefined) {
    const { reason } = objection
    // vCenter may show a vNIC that was replaced before the guest reports it. That does not make its claim one of two.
    const lasts = reason === 'MACsContradict' && until !== undefined
    return {
      level: undefined,
      // Any user of the guest can write a claim, so it does not end what was proven before.
      ends: !(reason === 'ClaimedByAnotherNode' && holdsProven),
      condition: objection,
      ...(lasts ? { provenUntil: until } : {}),
    }
  }
  if (isBelieved) {
    return {
      level: 'proven',
      ends: false,
      condition: yes('Proven', `${describeVM(vm)} itself names this Node and its current boot`),
    }
  }
  const why =
    'message' in claim
      ? `${claim.message} (${claim.reason})`
      : `${rival === undefined ? 'another VM' : describeVM(rival)} shows the same claim (ClaimShownTwice); remove that copy, then restart the agent, which writes a new claim`
  return withoutClaim(vm, { why, until }, facts)
}

/** @param why there is no usable claim, for the message */
function withoutClaim(
  vm: VirtualMachine,
  { why, until }: { readonly why: string; readonly until: string | undefined },
  { machineUUID }: NodeFacts,
): Identity {
  if (until !== undefined) {
    return {
      level: 'proven',
      ends: false,
      provenUntil: until,
      condition: yes(
        'ProvenBefore',
        `${describeVM(vm)} named this Node before, but not now: ${why}; the level falls to reported at ${until} unless it names the Node again`,
      ),
    }
  }
  if (machineUUID.witness === 'asserted') {
    return {
      level: 'asserted',
      ends: false,
      condition: yes(
        'Asserted',
        `the kubelet's system UUID is that of ${describeVM(vm)}, and nothing else was checked: the Node does not need an agent`,
      ),
    }
  }
  return {
    level: 'reported',
    ends: false,
    condition: yes('Reported', `UUID and MAC addresses are those of ${describeVM(vm)}; not proven: ${why}`),
  }
}

/**
 * Until when, RFC 3339, a Node that was proven to be this VM stays proven without a claim, or may be so again after its MAC
 * addresses were contradicted. Undefined where it was not proven, or that time is over.
 */
function provenUntil({ vm, holds }: IdentityQuery, { previous, now }: NodeFacts): string | undefined {
  const latest = now + CLAIM_GRACE_MS
  const recorded = previous.provenUntil === undefined ? undefined : Date.parse(previous.provenUntil)
  const proven = holds && previous.identityLevel === 'proven'
  const wasProven = previous.identityLevel === undefined && isBoundTo(previous.vm, vm)
  if (!proven && !wasProven) return undefined
  // A clock that was ahead may have written a time much later.
  const until = Math.min(recorded ?? (proven ? latest : now), latest)
  return until > now ? timestamp(until) : undefined
}

/**
 * A report cannot come from a VM that does not run, however much it knows about it; but it may have come before, where the
 * Node is silent and was initialized as that VM.
 */
function notRunning(
  { vm, holds }: IdentityQuery,
  { node, machineUUID }: NodeFacts,
): ConditionValue | undefined {
  if (holds || machineState(vm) !== 'off') return undefined
  const isSilent = node.ready?.status !== 'True' && judgeProviderID(node.providerID, vm.biosUUID) === 'ours'
  return no(
    'VMNotRunning',
    isSilent
      ? `${describeVM(vm)} is ${vm.powerState}, and was so before Rollcall first saw this Node; the Node is verified when the VM runs${machineUUID.witness === 'asserted' ? '' : ' and its agent reports again'}`
      : `${describeVM(vm)} is ${vm.powerState}, so the report cannot come from it; power it on if it is this Node's, otherwise look for a forged report`,
  )
}

/** The verified Node whose VM this is a copy of. Both would get the same provider ID, so the copy is refused. */
function verifiedOriginal({ vm, holds }: IdentityQuery, { rivals }: NodeFacts): ConditionValue | undefined {
  if (holds) return undefined
  const other = rivals.find(
    ({ boundTo }) => boundTo !== undefined && boundTo.biosUUID === vm.biosUUID && !mayBeBoundTo(boundTo, vm),
  )
  if (other?.boundTo === undefined) return undefined
  return no(
    'AmbiguousUUID',
    `${describeVM(vm)} has the BIOS UUID of VM "${other.boundTo.name}" (${other.boundTo.moref}), which is Node ${other.name}; give the copy its own UUID (power off, then set uuid.bios)`,
  )
}

/** The VM claims to be another Node that exists. */
function claimedByAnother(
  vm: VirtualMachine,
  claim: ClaimCheck,
  { node, machineUUID }: NodeFacts,
): ConditionValue | undefined {
  if (claim.kind !== 'contradicts') return undefined
  return no(
    'ClaimedByAnotherNode',
    `${describeVM(vm)} claims to be Node ${claim.nodeName}, but Node ${node.name} ${machineUUID.witness === 'asserted' ? 'has' : 'reports'} its UUID; delete the old Node if the VM was registered under a new name, otherwise look for a forged report`,
  )
}

/**
 * Another Node that was proven to be this VM. It keeps the VM, because any user of the guest can write a claim; a Node that
 * merely reported the VM gives way to a claim.
 */
function provenRival({ vm, holds }: IdentityQuery, { rivals }: NodeFacts): ConditionValue | undefined {
  if (holds) return undefined
  const holder = rivals.find(({ boundTo, level }) => level === 'proven' && mayBeBoundTo(boundTo, vm))
  if (holder === undefined) return undefined
  return no(
    'VMHasAnotherNode',
    `${describeVM(vm)} claims to be this Node, but Node ${holder.name} was proven to be it before; ${deletionHangs(holder) ?? 'delete that Node if the machine was renamed, otherwise look for a forged claim'}`,
  )
}

/**
 * Another Node that prevents verification where no claim decides. A second Node on the same VM makes both doubtful, except
 * the one that was verified to be this VM before.
 */
function strongerRival({ vm, holds }: IdentityQuery, { rivals }: NodeFacts): ConditionValue | undefined {
  const rival = rivals.find((other) => pointsTo(other, vm) && (!holds || mayBeBoundTo(other.boundTo, vm)))
  if (rival === undefined) return undefined
  return no(
    'VMHasAnotherNode',
    `Node ${rival.name} also points to ${describeVM(vm)}, and no claim in guestinfo tells which is right; ${deletionHangs(rival) ?? 'delete the Node that is wrong'}`,
  )
}

/** False for a Node on a copy of the VM with other vNICs: it only shares the UUID. */
function pointsTo({ boundTo, spec }: Rival, vm: VirtualMachine): boolean {
  if (boundTo !== undefined) return mayBeBoundTo(boundTo, vm)
  return spec === undefined || spec.machine.serialUUID === undefined || commonMACs(spec, vm).length > 0
}
