import type { OwnCluster } from '../start-cluster.ts'
import { type Contents, readContents } from './contents.ts'
import { apiPath, type Kind } from './kinds.ts'

/** So many requests at once, that a thousand Nodes do not open a thousand connections. */
const AT_ONCE = 20

/**
 * Deletes whatever is in the cluster besides `keep`, finalizers or not, through its API, so that no cache of the API
 * server is left with what is gone. What resists, was changed, or is of none of these kinds, is for the next look at the
 * contents to find.
 */
export async function emptyCluster(
  cluster: OwnCluster,
  keep: Contents,
  kinds: readonly Kind[],
): Promise<void> {
  const rest = [...(await readContents(cluster.etcdUrl)).keys()].filter((key) => !keep.has(key))
  const next = rest.values()
  const worker = async () => {
    for (const key of next) {
      const path = apiPath(key, kinds)
      if (path !== undefined) await remove(cluster, path)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

async function remove(cluster: OwnCluster, path: string): Promise<void> {
  const { body } = await cluster.request<{ metadata?: { finalizers?: string[] } }>('DELETE', path, {
    gracePeriodSeconds: 0,
    propagationPolicy: 'Background',
  })
  // An object that waits for its finalizers is the answer; one that is gone is a Status, which has none.
  if ((body.metadata?.finalizers ?? []).length === 0) return
  await cluster.request(
    'PATCH',
    path,
    { metadata: { finalizers: null } },
    { contentType: 'application/merge-patch+json' },
  )
}
