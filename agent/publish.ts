import type { ApiClient } from './api/client.ts'
import type { NodeIdentity } from './identity.ts'
import {
  AGENT_FIELD_MANAGER,
  ANNOTATION_REPORTED_AT,
  API_GROUP,
  API_VERSION,
  KIND,
  type NodeReportSpec,
  PLURAL,
  timestamp,
} from './shared/node-report.ts'

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
