import { GUESTINFO_CLAIM, type NodeReportSpec, parseClaim } from '../../agent/contract.ts'
import type { NodeFacts } from './facts.ts'

/** What a VM's own guestinfo says of the Node that it is. */
export type ClaimVerdict =
  /** The VM names this Node and this boot. */
  | { readonly kind: 'proves' }
  /** The VM names another Node that exists: somebody reports a VM that is not theirs. */
  | { readonly kind: 'contradicts'; readonly nodeName: string }
  /** Nothing to rest on, for this reason; a later claim raises the level by itself. */
  | { readonly kind: 'absent'; readonly reason: string; readonly message: string }

/** Judges the text of `guestinfo.rollcall.claim` as vCenter shows it. */
export function judgeClaim(
  text: string | undefined,
  spec: NodeReportSpec,
  facts: Pick<NodeFacts, 'nodeNameByUID'>,
): ClaimVerdict {
  if (text === undefined || text === '') {
    return spec.claim.written
      ? absent('ClaimNotSeenYet', `the agent wrote ${GUESTINFO_CLAIM}, vCenter does not show it yet`)
      : absent(
          `Claim${spec.claim.reason}`,
          `the agent could not write ${GUESTINFO_CLAIM}: ${spec.claim.message}`,
        )
  }
  const claim = parseClaim(text)
  if (claim === undefined) {
    return absent('ClaimMalformed', `${GUESTINFO_CLAIM} holds ${text.length} characters that are no claim`)
  }
  if (claim.nodeUID !== spec.nodeUID) {
    const nodeName = facts.nodeNameByUID(claim.nodeUID)
    return nodeName === undefined
      ? absent('ClaimOfFormerNode', `${GUESTINFO_CLAIM} names a Node that is no more`)
      : { kind: 'contradicts', nodeName }
  }
  if (claim.bootID !== spec.bootID) {
    return absent('ClaimOfEarlierBoot', `${GUESTINFO_CLAIM} is from another boot of this Node`)
  }
  return { kind: 'proves' }
}

export function proves(verdict: ClaimVerdict): boolean {
  return verdict.kind === 'proves'
}

function absent(reason: string, message: string): ClaimVerdict {
  return { kind: 'absent', reason, message }
}
