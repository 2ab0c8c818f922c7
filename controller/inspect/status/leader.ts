/** Who leads, what troubles the leader, and whether the clocks agree, in lines. */
import type { Clock } from '../../../agent/shared/clock.ts'
import { attempt, messageOf } from '../../../agent/shared/result.ts'
import { reviewSelf } from '../../kubernetes/access-review.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import {
  believedFor,
  createLeaseStore,
  type Lease,
  type LeaseName,
  type LeaseRecord,
} from '../../kubernetes/lease.ts'
import { lookAtHolder, MAX_SKEW } from '../../kubernetes/lease-holder.ts'
import { type TroubleRecord, troublesIn } from '../../kubernetes/lease-troubles.ts'
import { age, duration } from '../../lib/format.ts'

/** What the leader has written of its own troubles, or the last one before it stopped. */
export type LeaderTroubles = Pick<TroubleRecord, 'at' | 'troubles'>

export interface Leader {
  /** Who leads, in one line. */
  readonly text: string
  readonly leads: boolean
  readonly troubles: LeaderTroubles | undefined
}

/**
 * Who leads, and what troubles it.
 *
 * @param clock that of the API server
 * @throws as `KubeClient.request`
 */
export async function readLeader(
  client: KubeClient,
  lease: LeaseName,
  clock: Pick<Clock, 'now' | 'sleep'>,
  signal: AbortSignal,
): Promise<Leader> {
  const store = createLeaseStore(client, lease.namespace, lease.name)
  const { lease: found, alive, skew } = await lookAtHolder(store, clock, signal)
  const { text, ...leader } = leaderOf(found, lease, clock.now(), alive)
  const note =
    skew === undefined ? '' : `; its clock is ${differs(skew)} that of the API server: check NTP there`
  return { text: `${text}${note}`, ...leader }
}

/** @param found undefined where there is no such Lease */
export function leaderOf(
  found: Pick<Lease, 'record' | 'annotations'> | undefined,
  lease: LeaseName,
  now: number,
  leads: boolean = isHeld(found?.record, now),
): Leader {
  const record = found && troublesIn(found.annotations)
  // A leader that has only just begun has written nothing yet.
  const troubles = leads && record?.by !== found?.record.holder ? undefined : record
  return { text: leaderText(found?.record, lease, now, leads), leads, troubles }
}

function isHeld(record: LeaseRecord | undefined, now: number): boolean {
  if (record === undefined || record.holder === '') return false
  return Date.parse(record.renewTime) + believedFor(record) + MAX_SKEW >= now
}

/** One line for each, with the times by the leader's clock. */
export function troubleLines({ at, troubles }: LeaderTroubles = { at: '', troubles: [] }): readonly string[] {
  return troubles.map(({ message, since }) => `${message} (since ${since}; the leader wrote this at ${at})`)
}

/** That a leader has not written yet whether anything troubles it: no line would look as if nothing did. */
export function unsaid(leads: boolean | undefined, troubles: LeaderTroubles | undefined): readonly string[] {
  return leads === true && troubles === undefined
    ? [
        'the leader has not reported yet whether it has problems: it has just started, or runs an older version',
      ]
    : []
}

/** A controller that was started with another --lease-name leads as well. */
const RUNS = 'check that rollcall-controller is running with this --lease-name'

/** Who leads, or that nobody does: `record` is undefined where there is no such Lease. */
export function leaderText(
  record: LeaseRecord | undefined,
  lease: LeaseName,
  now: number,
  leads: boolean = isHeld(record, now),
): string {
  const held = `the Lease ${lease.namespace}/${lease.name}`
  if (record === undefined) return `no replica has ever held ${held}: ${RUNS}`
  const { holder, renewTime } = record
  if (holder === '')
    return `no replica has held ${held} for ${age(renewTime, now)}: ${RUNS}; this is the state that the last leader left`
  if (!leads) {
    const since =
      Date.parse(renewTime) > now
        ? ' by its own clock, and is not renewing it'
        : `, and no replica has held it for ${age(renewTime, now)}`
    return `${holder} held ${held} until ${renewTime}${since}: ${RUNS}; this is the state at that time`
  }
  return `${holder} leads, and holds ${held}`
}

/**
 * The API server's clock minus ours, and what is to be said of that. Where the API server does not say it, its clock is taken to
 * agree.
 */
export async function compareWithOurs(
  client: KubeClient,
  clock: Clock,
  signal: AbortSignal,
): Promise<{ readonly skew: number; readonly notes: readonly string[] }> {
  const self = await attempt(() => reviewSelf(client, clock, signal))
  if (self.ok) return { skew: self.value.skew, notes: clockNote(self.value.skew) }
  const note = `whether the clock of this machine agrees with that of the API server is not known, so times may be off: ${messageOf(self.error)}`
  return { skew: 0, notes: [note] }
}

/** What is said of the clock of this machine, by which no times are computed; nothing where it agrees. */
export function clockNote(skew: number): readonly string[] {
  return Math.abs(skew) <= MAX_SKEW
    ? []
    : [
        `the clock of this machine is ${differs(-skew)} that of the API server, by which all times are meant: check NTP`,
      ]
}

function differs(skew: number): string {
  return `${duration(Math.round(Math.abs(skew) / 1000) * 1000)} ${skew > 0 ? 'ahead of' : 'behind'}`
}
