import {
  claimDigest,
  GUESTINFO_CLAIM,
  type NodeReportSpec,
  parseClaim,
} from '../../../../../agent/shared/node-report.ts'
import type { ClaimReason } from '../../../../types/reasons.ts'
import type { VirtualMachine } from '../../../../types/virtual-machine.ts'
import { mayBeBoundTo } from '../bound-vm.ts'
import type { NodeFacts } from '../node-facts.ts'

/**
 * How long vCenter may take to show a claim, milliseconds. A reboot clears guestinfo or leaves the old boot's claim in it. The
 * agent writes a new claim when it starts and checks it every 3 to 3½ minutes; vCenter shows it seconds to minutes
 * later.
 */
export const CLAIM_GRACE_MS = 15 * 60_000

/** What a VM's own guestinfo says about which Node it is. */
export type ClaimCheck =
  /** The VM shows the claim that the report speaks of: its nonce is known to that machine alone. */
  | { readonly kind: 'proves' }
  /**
   * The VM names this Node and this boot, as an older agent does. Anybody could make that up, so it keeps what was proven and
   * proves nothing new.
   */
  | { readonly kind: 'vouches'; readonly reason: ClaimReason; readonly message: string }
  /** The VM names another Node that exists: somebody reports a VM that is not theirs. */
  | { readonly kind: 'contradicts'; readonly nodeName: string }
  /** There is no usable claim, for this reason; a later claim raises the level by itself. */
  | { readonly kind: 'absent'; readonly reason: string; readonly message: string }

/** Judges `guestinfo.rollcall.claim` as vCenter shows it on a VM, for the Node whose report this is. */
export function judgeClaim(
  vm: VirtualMachine,
  spec: NodeReportSpec,
  { nodeByUID }: Pick<NodeFacts, 'nodeByUID'>,
): ClaimCheck {
  const text = vm.claim
  if (text === undefined && vm.unreadable.includes('claim')) {
    return absent(
      'ClaimUnreadable',
      `the vCenter account is not allowed to read ${GUESTINFO_CLAIM} of the VM; give it the role Read-only on the root folder, with propagation`,
    )
  }
  if (text === undefined || text === '') {
    return spec.claim.written
      ? absent(
          'ClaimNotSeenYet',
          `the agent wrote ${GUESTINFO_CLAIM}, but vCenter does not show it yet; that takes seconds to minutes, and if it lasts the report may come from another machine`,
        )
      : {
          kind: 'absent',
          reason: `Claim${spec.claim.reason}`,
          message: `the agent could not write ${GUESTINFO_CLAIM}: ${spec.claim.message}`,
        }
  }
  const claim = parseClaim(text)
  if (claim === undefined) {
    return absent(
      'ClaimMalformed',
      `${GUESTINFO_CLAIM} holds ${text.length} characters that are not a claim; see what in the guest writes it`,
    )
  }
  if (claim.nodeUID !== spec.nodeUID) return ofAnother(claim.nodeUID, vm, nodeByUID)
  const { digest } = spec.claim
  if (claim.nonce === undefined) return withoutNonce(claim.bootID, spec)
  if (digest === undefined && spec.claim.written) {
    return absent(
      'ClaimNotInReport',
      `the VM shows a claim and the report has no digest of it; apply the CRD of this controller's release, then wait for the agent's next refresh`,
    )
  }
  if (claimDigest(claim) === digest) return { kind: 'proves' }
  return absent(
    'ClaimOfEarlierBoot',
    `${GUESTINFO_CLAIM} is not the claim of this report, but of another boot or an earlier start of the agent; the agent writes a new one when it starts`,
  )
}

/**
 * Judges a claim of version 1. Without a boot ID it says nothing of when it was made, and an agent that reports a digest
 * writes none.
 */
function withoutNonce(claimed: string | undefined, { bootID, claim }: NodeReportSpec): ClaimCheck {
  if (claimed === undefined || claimed !== bootID) {
    return absent(
      'ClaimOfEarlierBoot',
      `${GUESTINFO_CLAIM} is from another boot of this Node; the agent writes a new one when it starts`,
    )
  }
  const reason: ClaimReason = 'ClaimOfOlderAgent'
  const what = `the claim in ${GUESTINFO_CLAIM} has no nonce, so anybody can make it up`
  return claim.digest === undefined
    ? {
        kind: 'vouches',
        reason,
        message: `${what}: it keeps what was proven before, and proves nothing new; install an agent of this release`,
      }
    : absent(reason, `${what}, and it is not the one that the agent has written; see what else writes it`)
}

/** A clone carries the claim of its original, whose Node is known to run elsewhere. */
function ofAnother(uid: string, vm: VirtualMachine, nodeByUID: NodeFacts['nodeByUID']): ClaimCheck {
  const named = nodeByUID(uid)
  if (named === undefined) {
    return absent(
      'ClaimOfFormerNode',
      `${GUESTINFO_CLAIM} names a Node that no longer exists: the Node was registered again, or the VM was made from a template; the agent writes its own when it reports for this one`,
    )
  }
  if (named.boundTo === undefined) {
    if (vm.biosUUID !== undefined && named.uuids.includes(vm.biosUUID)) {
      return { kind: 'contradicts', nodeName: named.name }
    }
    // Otherwise any user of the guest could have its own Node refused by naming some other Node.
    return absent(
      'ClaimOfOtherNode',
      `${GUESTINFO_CLAIM} names Node ${named.name}, which points to another machine; see what in the guest writes it`,
    )
  }
  if (mayBeBoundTo(named.boundTo, vm)) return { kind: 'contradicts', nodeName: named.name }
  return absent(
    'ClaimCopied',
    `${GUESTINFO_CLAIM} names Node ${named.name}, which is another VM (${named.boundTo.moref}): it was copied with a clone, and the agent will write its own`,
  )
}

/** Whether a VM shows the claim that the report speaks of. */
export function provesClaim(
  vm: VirtualMachine,
  spec: NodeReportSpec,
  facts: Pick<NodeFacts, 'nodeByUID'>,
): boolean {
  return judgeClaim(vm, spec, facts).kind === 'proves'
}

function absent(reason: ClaimReason, message: string): ClaimCheck {
  return { kind: 'absent', reason, message }
}
