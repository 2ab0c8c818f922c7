import { formatClaim, GUESTINFO_CLAIM, type NodeReportSpec } from './contract.ts'
import type { Guestinfo } from './facts/guestinfo.ts'

export type ClaimResult = NodeReportSpec['claim']

export interface ClaimOptions {
  readonly nodeUID: string
  readonly bootID: string | undefined
  /** Write it even where it stands already: at start, so that vCenter sees a write of this very boot. */
  readonly always: boolean
}

/**
 * Sees to it that the claim stands in guestinfo, and reads back what was written: a host may take a write and drop it.
 * A failure is a result; what there is to do about it stands in its message.
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
  // Where reading is forbidden and writing is not, only vCenter can tell; the host said that it took it.
  if (!back.ok || back.value?.trim() === claim) return WRITTEN
  return {
    written: false,
    reason: 'NotKept',
    message: `the host took the write, but ${GUESTINFO_CLAIM} has another value: something else writes it, or the host drops it`,
  }
}

/** Why a claim was not written that may be over in seconds, with nobody's help but the host's or the package manager's. */
const PASSING = ['TimedOut', 'Failed', 'PrivilegedChannelFailed', 'NotKept', 'ToolMissing']

/** Whether it is worth trying again before the next refresh: what the host forbids, it forbids for long. */
export function mayPass({ written, reason }: ClaimResult): boolean {
  return !written && PASSING.includes(reason)
}

const WRITTEN: ClaimResult = {
  written: true,
  reason: 'Written',
  message: `the claim stands in ${GUESTINFO_CLAIM}`,
}
