import type { ClaimKeeper } from './claim.ts'
import { ApiError } from './shared/api-error.ts'
import { claimDigest, type NodeReportSpec } from './shared/node-report.ts'

export interface SendReportOptions {
  readonly claim: Pick<ClaimKeeper, 'known' | 'hasNonce' | 'useNonce'>
  /** Makes sure that the claim stands, and resolves with a report that says so. */
  readonly compose: () => Promise<NodeReportSpec>
  /** Applies a report; a dry run changes nothing. */
  readonly send: (spec: NodeReportSpec, how?: { readonly dryRun: boolean }) => Promise<void>
}

/**
 * Sends a report after the claim that it speaks of was written. A CRD that has no field for the claim's digest is one of an
 * older controller, which takes a claim with a nonce for none: the claim is written again without one, and the report sent
 * without the digest. Each later look at the claim, until the field is there, asks by a dry run whether it is.
 *
 * @returns the report that was sent
 */
export async function sendReport({ claim, compose, send }: SendReportOptions): Promise<NodeReportSpec> {
  const looks = claim.known() === undefined
  let spec = await compose()
  if (looks && !claim.hasNonce() && (await hasDigest(spec, send))) {
    claim.useNonce(true)
    spec = await compose()
  }
  try {
    await send(spec)
  } catch (error) {
    if (!isDigestUnknown(error)) throw error
    claim.useNonce(false)
    spec = await compose()
    await send(spec)
  }
  return spec
}

/** Whether the API server's CRD has the field. A dry run asks for one digest as well as for another. */
async function hasDigest(spec: NodeReportSpec, send: SendReportOptions['send']): Promise<boolean> {
  const digest = claimDigest({ nodeUID: spec.nodeUID, bootID: spec.bootID })
  try {
    await send({ ...spec, claim: { ...spec.claim, digest } }, { dryRun: true })
    return true
  } catch (error) {
    if (isDigestUnknown(error)) return false
    throw error
  }
}

/** Server-side apply does not prune a field that is in no schema, as other writes do, but refuses the whole object. */
function isDigestUnknown(error: unknown): boolean {
  return (
    error instanceof ApiError && error.message.includes('.spec.claim.digest: field not declared in schema')
  )
}
