import { until } from '../../fixtures/until.ts'
import { applyManifests, policiesInForce, withdrawOwnReport } from '../manifests.ts'
import { type OwnCluster, startCluster } from '../start-cluster.ts'
import { type Contents, changedKeys, differences, readContents, restoreContents } from './contents.ts'
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

/** Resolves once the cluster is as it was, and acts so. */
async function restore({ cluster, contents }: PooledCluster): Promise<void> {
  const restoreNow = async () => {
    const found = await readContents(cluster.etcdUrl)
    await restoreContents(cluster.etcdUrl, contents, found)
    return changedKeys(contents, found)
  }
  const changed = await restoreNow()
  // The API server may still be at work on what the test deleted: a CRD that is written back meanwhile goes again.
  await until('nothing is changed any more', async () => (await restoreNow()).length === 0)
  await policiesInForce(cluster)
  if (!changed.some((key) => contents.has(key))) return
  // That the manifests are stored does not say that they act: policies are looked at once a second, those that mutate
  // apart from the others. One that goes and comes in between proves a second look at all of them.
  await withdrawOwnReport(cluster)
  await restoreNow()
  await policiesInForce(cluster)
}
