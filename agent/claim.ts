import type { Guestinfo } from './facts/guestinfo.ts'
import { formatClaim, GUESTINFO_CLAIM, type NodeReportSpec } from './shared/node-report.ts'

export type ClaimResult = NodeReportSpec['claim']

interface ClaimOptions {
  readonly nodeUID: string
  readonly bootID: string | undefined
  /** Write it even if it is there already: at start, so that vCenter sees a write of this boot. */
  readonly always: boolean
}

/**
 * Makes sure that the claim is in guestinfo, and reads it back: a host may accept a write and drop it. A failure is returned
 * as a result whose message says what to do.
 */
export async function writeClaim(guestinfo: Guestinfo, options: ClaimOptions): Promise<ClaimResult> {
  const claim = formatClaim(options)
  if (!options.always) {
    const present = await guestinfo.get(GUESTINFO_CLAIM)
    if (present.ok && present.value?.trim() === claim) return WRITTEN
  }
  const set = await guestinfo.set(GUESTINFO_CLAIM, claim)
  if (!set.ok) return { written: false, reason: set.reason, message: set.message }
  const back = await guestinfo.get(GUESTINFO_CLAIM)
  // Where writing is allowed but reading is not, only vCenter can tell; the host accepted the write.
  if (!back.ok || back.value?.trim() === claim) return WRITTEN
  return {
    written: false,
    reason: 'NotKept',
    message: `the host took the write, but ${GUESTINFO_CLAIM} has another value: something else writes it, or the host drops it`,
  }
}

/** Reasons for a failed write that may pass within seconds, without anyone's help. */
const PASSING = ['TimedOut', 'Failed', 'PrivilegedChannelFailed', 'NotKept', 'ToolMissing']

/** Whether to retry before the next refresh; not where the host forbids it, which lasts. */
function mayPass({ written, reason }: ClaimResult): boolean {
  return !written && PASSING.includes(reason)
}

/** Remembers the state of this machine's claim, so that a report calls the host only if there is something to do. */
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
}

export function createClaimKeeper(guestinfo: Guestinfo): ClaimKeeper {
  let of: { readonly nodeUID: string; readonly bootID: string | undefined } | undefined
  let result: ClaimResult | undefined
  let everWritten = false

  const write = async (nodeUID: string, bootID: string | undefined) => {
    // Written at start even if it is there already, so that vCenter sees a write of this boot.
    const now = await writeClaim(guestinfo, { nodeUID, bootID, always: !everWritten })
    everWritten ||= now.written
    of = { nodeUID, bootID }
    result = now
    return now
  }
  return {
    async stand(nodeUID, bootID) {
      if (result !== undefined && of?.nodeUID === nodeUID && of.bootID === bootID) return result
      return write(nodeUID, bootID)
    },
    known: () => result,
    pending: () => result !== undefined && mayPass(result),
    async retry() {
      if (of === undefined) return
      guestinfo.renew()
      await write(of.nodeUID, of.bootID)
    },
    forget() {
      result = undefined
    },
  }
}

const WRITTEN: ClaimResult = {
  written: true,
  reason: 'Written',
  message: `the claim is in ${GUESTINFO_CLAIM}`,
}
