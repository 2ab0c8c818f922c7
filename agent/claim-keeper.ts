import { type ClaimResult, mayPass, writeClaim } from './claim.ts'
import type { Guestinfo } from './facts/guestinfo.ts'

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
