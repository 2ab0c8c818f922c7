import { type ClaimResult, mayPass, writeClaim } from './claim.ts'
import type { Guestinfo } from './facts/guestinfo.ts'

/** Knows how the claim of this machine stands, so that a report asks the host only where something is to be done. */
export interface ClaimKeeper {
  /** How the claim for this Node and boot stands: as known, else it is looked at and, where it must be, written. */
  stand(nodeUID: string, bootID: string | undefined): Promise<ClaimResult>
  /** The last answer; undefined before the first and after {@link forget}. */
  known(): ClaimResult | undefined
  /** Whether it was not written for a cause that may pass by itself. */
  pending(): boolean
  /** Tries once more to write it for the Node and boot of the last answer. */
  retry(): Promise<void>
  /** The host is asked again by the next {@link stand}. */
  forget(): void
}

export function createClaimKeeper(guestinfo: Guestinfo): ClaimKeeper {
  let of: { readonly nodeUID: string; readonly bootID: string | undefined } | undefined
  let result: ClaimResult | undefined
  let everWritten = false

  const write = async (nodeUID: string, bootID: string | undefined) => {
    // Written at start even where it stands already, so that vCenter sees a write of this very boot.
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
