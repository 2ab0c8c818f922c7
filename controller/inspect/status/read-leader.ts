import type { KubeClient } from '../../kubernetes/client.ts'
import { believedFor, createLeaseStore, type LeaseName, type LeaseRecord } from '../../kubernetes/lease.ts'

/** Clocks of one cluster, and of a laptop, that differ by more than this have other worries, milliseconds. */
const MAX_SKEW = 60_000

/** Who leads, in one line. Throws as `KubeClient.request`. */
export async function readLeader(
  client: KubeClient,
  lease: LeaseName,
  now: number,
  signal: AbortSignal,
): Promise<string> {
  const found = await createLeaseStore(client, lease.namespace, lease.name).get(signal)
  return leaderText(found?.record, lease, now)
}

/** @param record undefined where there is no such Lease */
export function leaderText(record: LeaseRecord | undefined, lease: LeaseName, now: number): string {
  const held = `the Lease ${lease.namespace}/${lease.name}`
  if (record === undefined) return `no replica has ever held ${held}: check that rollcall-controller runs`
  const { holder, renewTime } = record
  if (holder === '')
    return `no replica holds ${held}: check that rollcall-controller runs; this is the state that the last leader left`
  const end = Date.parse(renewTime) + believedFor(record)
  if (end + MAX_SKEW < now)
    return `${holder} held ${held} until ${renewTime}, and none has since: check that rollcall-controller runs; this is the state at that time`
  return `${holder} leads, and holds ${held}`
}
