import { ApiError } from '../../../agent/shared/api-error.ts'
import { API_GROUP, API_VERSION, PLURAL } from '../../../agent/shared/node-report.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { readList } from '../../kubernetes/list.ts'
import { parseNode, parseNodeReport } from '../../kubernetes/parse-node.ts'
import type { Node } from '../../types/node.ts'
import type { ClusterCopy } from './cluster-copy.ts'

/**
 * Fills the copy, and returns the Nodes as they are. Without Rollcall's CRD there are no reports.
 *
 * @throws as `KubeClient.request`
 */
export async function readCluster(
  client: KubeClient,
  copy: Pick<ClusterCopy, 'add' | 'addReport' | 'nodes'>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Node>> {
  await readList(
    client,
    { path: '/api/v1/nodes' },
    (object) => {
      const node = parseNode(object)
      if (node !== undefined) copy.add(node)
    },
    signal,
  )
  const before = new Map(copy.nodes)
  try {
    await readList(
      client,
      { path: `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}` },
      (object) => {
        const report = parseNodeReport(object)
        if (report !== undefined) copy.addReport(report)
      },
      signal,
    )
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 404) throw error
  }
  return before
}
