import {
  type IdentityLevel,
  type NodeReportSpec,
  timestamp,
} from '../../../../../agent/shared/node-report.ts'
import { machineState, type VirtualMachine } from '../../../../types/virtual-machine.ts'
import { judgeProviderID } from '../../facts/provider-id.ts'
import { describeVM, isBoundTo } from '../bound-vm.ts'
import { type ConditionValue, no, yes } from '../condition-value.ts'
import type { NodeFacts } from '../node-facts.ts'
import { CLAIM_GRACE_MS, judgeClaim } from './claim.ts'
import { contradictionOf } from './contradiction.ts'
import { objectionsOf } from './rival.ts'

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
  const { previous, rivals } = facts
  const { witness } = facts.machineUUID
  const until = provenUntil(query, facts)
  const contradiction = contradictionOf(query, facts)
  if (contradiction !== undefined) {
    // vCenter may show a vNIC that was replaced before the guest reports it. That does not make its claim one of two.
    const lasts = contradiction.reason === 'MACsContradict' && until !== undefined
    return {
      level: undefined,
      ends: true,
      condition: contradiction,
      ...(lasts ? { provenUntil: until } : {}),
    }
  }

  if (!holds && machineState(vm) === 'off')
    return { level: undefined, ends: true, condition: notRunning(vm, facts.node) }
  const objections = objectionsOf(vm, holds, rivals)
  if (objections.original !== undefined)
    return { level: undefined, ends: true, condition: objections.original }
  const claim = judgeClaim(vm, spec, facts)
  if (claim.kind === 'contradicts') {
    return {
      level: undefined,
      // Any user of the guest can write a claim, so it does not end what was proven before.
      ends: !(holds && previous.identityLevel === 'proven'),
      condition: no(
        'ClaimedByAnotherNode',
        `${describeVM(vm)} claims to be Node ${claim.nodeName}, but Node ${facts.node.name} ${witness === 'asserted' ? 'has' : 'reports'} its UUID; delete the old Node if the VM was registered under a new name, otherwise look for a forged report`,
      ),
    }
  }
  const wasProven = holds ? previous.identityLevel === 'proven' : until !== undefined
  const believed =
    claim.kind === 'proves' ? wasProven || rival === undefined : claim.kind === 'vouches' && wasProven
  if (believed && witness !== 'asserted') {
    if (objections.proven !== undefined) return { level: undefined, ends: true, condition: objections.proven }
    return {
      level: 'proven',
      ends: false,
      condition: yes('Proven', `${describeVM(vm)} itself names this Node and its current boot`),
    }
  }
  const why =
    claim.kind === 'proves'
      ? `${rival === undefined ? 'another VM' : describeVM(rival)} shows the same claim (ClaimShownTwice); remove that copy, then restart the agent, which writes a new claim`
      : `${claim.message} (${claim.reason})`
  return withoutClaim(query, { why, objection: objections.withoutClaim, until }, facts)
}

/** @param why there is no usable claim, for the message */
function withoutClaim(
  { vm }: IdentityQuery,
  {
    why,
    objection,
    until,
  }: {
    readonly why: string
    readonly objection: ConditionValue | undefined
    readonly until: string | undefined
  },
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
  if (objection !== undefined) return { level: undefined, ends: true, condition: objection }
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
function notRunning(vm: VirtualMachine, node: NodeFacts['node']): ConditionValue {
  const isSilent = node.ready?.status !== 'True' && judgeProviderID(node.providerID, vm.biosUUID) === 'ours'
  return no(
    'VMNotRunning',
    isSilent
      ? `${describeVM(vm)} is ${vm.powerState}, and was so before Rollcall first saw this Node; the Node is verified when the VM runs and its agent reports again`
      : `${describeVM(vm)} is ${vm.powerState}, so the report cannot come from it; power it on if it is this Node's, otherwise look for a forged report`,
  )
}
