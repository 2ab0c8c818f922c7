import type { ApiClient } from './api/client.ts'
import type { ClaimKeeper } from './claim.ts'
import type { NodeIdentity } from './identity.ts'
import {
  AGENT_FIELD_MANAGER,
  ANNOTATION_REPORTED_AT,
  API_GROUP,
  API_VERSION,
  claimDigest,
  KIND,
  type NodeReportSpec,
  PLURAL,
  timestamp,
} from './shared/node-report.ts'
import { ApiError } from './shared/result.ts'

/**
 * The report as applied: named after its Node and owned by it, so that it is deleted with the Node.
 *
 * @param reportedAt RFC 3339, seconds
 */
export function reportObject({ nodeName, nodeUID }: NodeIdentity, spec: NodeReportSpec, reportedAt?: string) {
  return {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind: KIND,
    metadata: {
      name: nodeName,
      ...(reportedAt === undefined ? {} : { annotations: { [ANNOTATION_REPORTED_AT]: reportedAt } }),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUID }],
    },
    spec,
  }
}

/**
 * Writes the report by server-side apply, which needs no permission to read and creates the report if necessary. An apply
 * that changes nothing would leave no trace; the time in an annotation does, without a new generation.
 *
 * @param now milliseconds since 1970
 * @param options with `dryRun` the API server says what it would do, and does nothing
 */
export async function publish(
  client: ApiClient,
  identity: NodeIdentity,
  spec: NodeReportSpec,
  now: number,
  { dryRun = false } = {},
): Promise<void> {
  await client.request({
    method: 'PATCH',
    path: `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}/${encodeURIComponent(identity.nodeName)}?fieldManager=${AGENT_FIELD_MANAGER}&force=true${dryRun ? '&dryRun=All' : ''}`,
    contentType: 'application/apply-patch+yaml',
    body: reportObject(identity, spec, timestamp(now)),
  })
}

/**
 * Sends a report after the claim that it speaks of was written, without the time between two reports where the CRD of an older
 * controller has no field for it. A CRD that has no field for the claim's digest is one of an
 * older controller, which takes a claim with a nonce for none: the claim is written again without one, and the report sent
 * without the digest. Each later look at the claim, until the field is there, asks by a dry run whether it is.
 *
 * @returns the report that was sent
 */
export async function sendReport(options: {
  readonly claim: Pick<ClaimKeeper, 'known' | 'hasNonce' | 'useNonce'>
  /** Makes sure that the claim stands, and resolves with a report that says so. */
  readonly compose: () => Promise<NodeReportSpec>
  /** Applies a report; a dry run changes nothing. */
  readonly send: (spec: NodeReportSpec, how?: { readonly dryRun: boolean }) => Promise<void>
}): Promise<NodeReportSpec> {
  const { claim, compose } = options
  const send: typeof options.send = async (spec, how) => {
    try {
      await options.send(spec, how)
    } catch (error) {
      if (!isUnknown('refreshSeconds', error)) throw error
      const { refreshSeconds: _, ...rest } = spec
      await options.send(rest, how)
    }
  }
  const looks = claim.known() === undefined
  let spec = await compose()
  if (looks && !claim.hasNonce() && (await hasDigest(spec, send))) {
    claim.useNonce(true)
    spec = await compose()
  }
  try {
    await send(spec)
  } catch (error) {
    if (!isUnknown('claim.digest', error)) throw error
    claim.useNonce(false)
    spec = await compose()
    await send(spec)
  }
  return spec
}

/** Whether the API server's CRD has the field. A dry run asks for one digest as well as for another. */
async function hasDigest(
  spec: NodeReportSpec,
  send: Parameters<typeof sendReport>[0]['send'],
): Promise<boolean> {
  const digest = claimDigest({ nodeUID: spec.nodeUID, bootID: spec.bootID })
  try {
    await send({ ...spec, claim: { ...spec.claim, digest } }, { dryRun: true })
    return true
  } catch (error) {
    if (isUnknown('claim.digest', error)) return false
    throw error
  }
}

/** Server-side apply does not prune a field that is in no schema, as other writes do, but refuses the whole object. */
function isUnknown(field: string, error: unknown): boolean {
  return error instanceof ApiError && error.message.includes(`.spec.${field}: field not declared in schema`)
}
