import type { Cluster } from '../cluster.ts'
import { type Contents, readContents, type StoredObject } from './contents.ts'

/** So many requests at once, that a thousand Nodes do not open a thousand connections. */
const AT_ONCE = 20

/**
 * Deletes whatever is in the cluster besides `keep`, finalizers or not, through its API, so that no cache of the API
 * server is left with what is gone. What resists, or was changed, is for the next look at the contents to find.
 */
export async function emptyCluster(cluster: Cluster, keep: Contents): Promise<void> {
  const rest = [...(await readContents(cluster))].filter(([uid]) => !keep.has(uid)).map(([, found]) => found)
  const next = rest.values()
  const worker = async () => {
    for (const object of next) await remove(cluster, object)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

async function remove(cluster: Cluster, { path }: StoredObject): Promise<void> {
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
