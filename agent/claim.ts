import type { AgentReason } from './facts/files.ts'
import type { Guestinfo } from './facts/guestinfo.ts'
import type { LocalFacts } from './gather.ts'
import type { NodeIdentity } from './identity.ts'
import {
  type Claim,
  claimDigest,
  formatClaim,
  GUESTINFO_CLAIM,
  type NodeReportSpec,
  parseClaim,
} from './shared/node-report.ts'

export type ClaimResult = NodeReportSpec['claim']

/** Reason of a claim that was written for an older controller. */
export const WITHOUT_NONCE = 'WithoutNonce' satisfies AgentReason

/**
 * Writes a claim and reads it back: a host may accept a write and drop it. A failure is returned as a result whose message
 * says what to do; no result has the claim itself, because nobody may learn its nonce from a report or a log.
 *
 * @param look whether the claim may be there already, and then need not be written
 */
export async function writeClaim(
  guestinfo: Guestinfo,
  claim: Claim,
  { look }: { readonly look: boolean },
): Promise<ClaimResult> {
  const text = formatClaim(claim)
  if (look) {
    const present = await guestinfo.get(GUESTINFO_CLAIM)
    if (present.ok && present.value?.trim() === text) return written(claim)
  }
  const set = await guestinfo.set(GUESTINFO_CLAIM, text)
  if (!set.ok) return { written: false, reason: set.reason, message: set.message }
  const back = await guestinfo.get(GUESTINFO_CLAIM)
  // Where writing is allowed but reading is not, only vCenter can tell; the host accepted the write.
  if (!back.ok || back.value?.trim() === text) return written(claim)
  return {
    written: false,
    reason: 'NotKept',
    message: `the host took the write, but ${GUESTINFO_CLAIM} has another value: something else writes it, or the host drops it`,
  }
}

function written(claim: Claim): ClaimResult {
  if (claim.nonce === undefined) {
    return {
      written: true,
      reason: WITHOUT_NONCE,
      message: `the claim is in ${GUESTINFO_CLAIM} without a nonce: the CRD is older than this agent; apply the manifests of its release`,
    }
  }
  return {
    written: true,
    reason: 'Written',
    message: `the claim is in ${GUESTINFO_CLAIM}`,
    digest: claimDigest(claim),
  }
}

/**
 * The present claim, read without writing; `ours` where the agent of this Node has written it in this boot. What the agent
 * knows its claim by, the nonce, is known to its process alone, and printed by none.
 */
export async function describeClaim(
  guestinfo: Guestinfo,
  { nodeUID }: NodeIdentity,
  { bootID }: LocalFacts,
): Promise<{ readonly ours: boolean; readonly message: string }> {
  const present = await guestinfo.get(GUESTINFO_CLAIM)
  const other = (message: string) => ({ ours: false, message: `${GUESTINFO_CLAIM} ${message}` })
  if (!present.ok) return other(`cannot be read: ${present.message}`)
  if (present.value === undefined) return other('is not set')
  const claim = parseClaim(present.value)
  const boot = bootID.ok ? bootID.value : undefined
  if (claim?.nodeUID !== nodeUID || claim.bootID !== boot) return other('has another claim')
  if (claim.nonce === undefined) return other("has this Node's claim of this boot without a nonce")
  return { ours: true, message: `${GUESTINFO_CLAIM} has this Node's claim of this boot` }
}

/** Reasons for a failed write that may pass within seconds, without anyone's help. */
const PASSING = ['TimedOut', 'Failed', 'PrivilegedChannelFailed', 'NotKept', 'ToolMissing']

/** Whether to retry before the next refresh; not where the host forbids it, which lasts. */
function mayPass({ written, reason }: ClaimResult): boolean {
  return !written && PASSING.includes(reason)
}

/**
 * Remembers this machine's claim and its state, so that a report calls the host only if there is something to do. The nonce
 * is drawn when the process starts, and whenever Node or boot change; a refresh or a failed report keeps it. No disk has it:
 * an agent that is started again draws another, which tells a VM from a copy that brought its claim along.
 */
export interface ClaimKeeper {
  /** The state of the claim for this Node and boot; unless known, the claim is read and, if necessary, written. */
  stand(nodeUID: string, bootID: string | undefined): Promise<ClaimResult>
  /** The last result; undefined before the first and after {@link forget}. */
  known(): ClaimResult | undefined
  /** Whether it was not written for a reason that may pass by itself. */
  pending(): boolean
  /** Tries once more to write it for the Node and boot of the last result. */
  retry(): Promise<void>
  /** Makes the next {@link stand} call the host again. */
  forget(): void
  /** Whether claims have a nonce; true at first. */
  hasNonce(): boolean
  /** Makes the next {@link stand} write the claim with its nonce or, for an older controller, without one. */
  useNonce(use: boolean): void
}

/** @param drawNonce 32 hexadecimal digits that nobody can guess */
export function createClaimKeeper(guestinfo: Guestinfo, drawNonce: () => string): ClaimKeeper {
  let claim: Claim | undefined
  let hasNonce = true
  let result: ClaimResult | undefined
  /** Text of the claim that stood when it was last looked at. */
  let stood: string | undefined

  const write = async (of: Claim) => {
    const shown = hasNonce ? of : { ...of, nonce: undefined }
    const text = formatClaim(shown)
    const now = await writeClaim(guestinfo, shown, { look: stood === text })
    if (now.written) stood = text
    result = now
    return now
  }
  return {
    async stand(nodeUID, bootID) {
      const same = claim?.nodeUID === nodeUID && claim.bootID === bootID
      if (claim === undefined || !same) claim = { nodeUID, bootID, nonce: drawNonce() }
      else if (result !== undefined) return result
      return write(claim)
    },
    known: () => result,
    pending: () => result !== undefined && mayPass(result),
    async retry() {
      if (claim === undefined) return
      guestinfo.renew()
      await write(claim)
    },
    forget() {
      result = undefined
    },
    hasNonce: () => hasNonce,
    useNonce(use) {
      hasNonce = use
      result = undefined
    },
  }
}
