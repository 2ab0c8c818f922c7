/** Whether the holder of a Lease lives: the leader, or a kubelet. */

import * as v from 'valibot'
import type { Clock } from '../../agent/shared/clock.ts'
import { hasStatus } from './api-error.ts'
import type { KubeClient } from './client.ts'
import { believedFor, type Lease, type LeaseStore } from './lease.ts'

/** Clocks that differ by more than this are not believed, and that is said, milliseconds. */
export const MAX_SKEW = 60_000
/** How long to look at a Lease at most, milliseconds. */
const LONGEST_LOOK = 20_000

/**
 * Finds out whether the holder of a Lease lives. The times in it are by its clock: where they do not fit, the Lease is read
 * again after it should have been renewed.
 *
 * @param clock that of the API server
 * @throws as `KubeClient.request`
 */
export async function lookAtHolder(
  store: Pick<LeaseStore, 'get'>,
  clock: Pick<Clock, 'now' | 'sleep'>,
  signal: AbortSignal,
): Promise<{
  /** Undefined where there is none. */
  readonly lease: Lease | undefined
  /** Whether it renews its Lease; false also where there is none. */
  readonly alive: boolean
  /** Its clock minus that of the API server where that is more than a minute, milliseconds. */
  readonly skew?: number
}> {
  const lease = await store.get(signal)
  if (lease === undefined || lease.record.holder === '') return { lease, alive: false }
  const lasts = believedFor(lease.record)
  const age = clock.now() - Date.parse(lease.record.renewTime)
  if (age >= -MAX_SKEW && age <= lasts) return { lease, alive: true }
  await clock.sleep(Math.min(lasts / 3, LONGEST_LOOK), signal)
  const later = await store.get(signal)
  const renewed =
    later !== undefined && later.record.holder !== '' && later.record.renewTime !== lease.record.renewTime
  if (!renewed) return { lease, alive: false }
  const skew = Date.parse(later.record.renewTime) - clock.now()
  return { lease: later, alive: true, ...(Math.abs(skew) > MAX_SKEW ? { skew } : {}) }
}

const KUBELET_LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases'

const KubeletLease = v.object({
  metadata: v.object({ uid: v.string() }),
  spec: v.nullish(v.object({ renewTime: v.nullish(v.string(), '') }), {}),
})

/**
 * A text that changes with each renewal of a kubelet's Lease, every ten seconds while the kubelet lives
 * (nodeLeaseDurationSeconds / 4). A constant text where there is no Lease.
 *
 * @throws as `KubeClient.request`, except for 404; Error for an answer that is not a Lease
 */
export async function heartbeatOf(
  client: KubeClient,
  nodeName: string,
  signal: AbortSignal,
): Promise<string> {
  const path = `${KUBELET_LEASES}/${encodeURIComponent(nodeName)}`
  let answer: unknown
  try {
    answer = await client.request({ method: 'GET', path, signal })
  } catch (error) {
    if (hasStatus(error, 404)) return 'none'
    throw error
  }
  const lease = v.safeParse(KubeletLease, answer)
  if (!lease.success) throw new Error(`GET ${path} was answered with an object that is not a Lease`)
  return `${lease.output.metadata.uid} ${lease.output.spec?.renewTime ?? ''}`
}
