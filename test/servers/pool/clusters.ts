import { applyManifests, LAST_POLICY_BINDING, policiesInForce } from '../manifests.ts'
import { type OwnCluster, startCluster } from '../start-cluster.ts'
import { type Contents, differences, readContents, restoreContents } from './contents.ts'
import { createPool, type Pool } from './pool.ts'

/** A cluster of the pool's, with Rollcall's manifests in force. */
export interface PooledCluster {
  readonly cluster: OwnCluster
  /** What was in it before its first user, and is after each. */
  readonly contents: Contents
}

/** What the pool has done, for who waits for the tests. */
export interface PoolCounts {
  booted: number
  lent: number
  /** Why each was that was not lent again. */
  readonly discarded: string[]
}

/** A pool of clusters, which are as new for each user. */
export function createClusterPool(counts: PoolCounts): Pool<PooledCluster> {
  return createPool<PooledCluster>({
    async make() {
      counts.booted += 1
      const cluster = await startCluster()
      try {
        await applyManifests(cluster)
        return { cluster, contents: await readContents(cluster.etcdUrl) }
      } catch (error) {
        await cluster.stop()
        throw error
      }
    },
    clean: restore,
    inspect: async ({ cluster, contents }) => differences(contents, await readContents(cluster.etcdUrl)),
    end: ({ cluster }) => cluster.stop(),
    onDiscard: (why) => void counts.discarded.push(why),
  })
}

async function restore({ cluster, contents }: PooledCluster): Promise<void> {
  const { etcdUrl } = cluster
  const found = await readContents(etcdUrl)
  if (differences(contents, found).some((difference) => /^\S*admissionpolic/.test(difference))) {
    // That policies are stored does not say that they act: the last one's binding is taken away, and put back once the
    // API server has noticed, as `applyManifests` waits for it.
    const before = new Map(contents)
    before.delete(LAST_POLICY_BINDING)
    await restoreContents(etcdUrl, before, found)
    await policiesInForce(cluster, false)
  }
  await restoreContents(etcdUrl, contents, await readContents(etcdUrl))
  await policiesInForce(cluster)
}
