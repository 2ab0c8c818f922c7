import { applyManifests, policiesInForce } from '../manifests.ts'
import { type OwnCluster, startCluster } from '../start-cluster.ts'
import { type Contents, differences, readContents } from './contents.ts'
import { emptyCluster } from './empty.ts'
import { type Kind, readKinds } from './kinds.ts'
import { createPool, type Pool } from './pool.ts'

/** A cluster of the pool's, with Rollcall's manifests in force. */
export interface PooledCluster {
  readonly cluster: OwnCluster
  /** What was in it before its first user, and is after each. */
  readonly contents: Contents
  /** What it serves; a test that adds to these also leaves the definition, and with that they go. */
  readonly kinds: readonly Kind[]
}

/** What the pool has done, for who waits for the tests. */
export interface PoolCounts {
  booted: number
  lent: number
  /** Why each was that was not lent again. */
  readonly discarded: string[]
}

/** A pool of clusters, which are emptied between two users. */
export function createClusterPool(counts: PoolCounts): Pool<PooledCluster> {
  return createPool<PooledCluster>({
    async make() {
      counts.booted += 1
      const cluster = await startCluster()
      try {
        await applyManifests(cluster)
        return { cluster, contents: await readContents(cluster.etcdUrl), kinds: await readKinds(cluster) }
      } catch (error) {
        await cluster.stop()
        throw error
      }
    },
    clean: ({ cluster, contents, kinds }) => emptyCluster(cluster, contents, kinds),
    async inspect({ cluster, contents }) {
      const found = differences(contents, await readContents(cluster.etcdUrl))
      // That the objects are there does not say that they act.
      if (found.length === 0) await policiesInForce(cluster)
      return found
    },
    end: ({ cluster }) => cluster.stop(),
    onDiscard: (why) => void counts.discarded.push(why),
  })
}
