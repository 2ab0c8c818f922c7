import type { ApiClient } from './api/client.ts'
import { AGENT_FIELD_MANAGER, API_GROUP, API_VERSION, KIND, type NodeReportSpec, PLURAL } from './contract.ts'
import type { NodeIdentity } from './identity.ts'

/** The report as it is applied: named as its Node and owned by it, so that it goes when the Node goes. */
export function reportObject({ nodeName, nodeUID }: NodeIdentity, spec: NodeReportSpec) {
  return {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind: KIND,
    metadata: {
      name: nodeName,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUID }],
    },
    spec,
  }
}

/** Writes the report by server-side apply, which needs no read right and makes it where there is none. */
export async function publish(
  client: ApiClient,
  identity: NodeIdentity,
  spec: NodeReportSpec,
): Promise<void> {
  await client.request({
    method: 'PATCH',
    path: `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}/${encodeURIComponent(identity.nodeName)}?fieldManager=${AGENT_FIELD_MANAGER}&force=true`,
    contentType: 'application/apply-patch+yaml',
    body: reportObject(identity, spec),
  })
}
