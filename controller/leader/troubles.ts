import { isDeepStrictEqual } from 'node:util'
import { timestamp } from '../../agent/shared/node-report.ts'
import { attempt } from '../../agent/shared/result.ts'
import { reviewSelf } from '../kubernetes/access-review.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import type { EventRecorder } from '../kubernetes/event-recorder.ts'
import { type TroubleRecord, troublesIn, withTroubles } from '../kubernetes/leader-troubles.ts'
import type { LeaseRenewer } from '../kubernetes/lease.ts'
import { MAX_SKEW } from '../kubernetes/lease-holder.ts'
import { type Basics, every, type Task } from '../lib/tasks.ts'
import type { Trouble } from '../types/trouble.ts'

/** Milliseconds between two looks. */
const INTERVAL = 2_000
/** Milliseconds for which a trouble must last before it is reported: when a leader starts, some pass by themselves. */
const SETTLES = 10_000
/** Milliseconds after which the record is written again though nothing has changed. */
const REFRESH = 300_000

/**
 * Tells a leader's troubles beside its Lease, and each one once as an Event. Written when they have changed, and every five
 * minutes; each write renews the Lease, so it costs no more than a renewal. A trouble that the former leader had goes on, and is
 * not told again.
 */
export function tellTroubles(
  options: Pick<Basics, 'clock' | 'random'> & {
    /** The present troubles; undefined while the work begins anew. */
    readonly troubles: () => readonly Trouble[] | undefined
    readonly annotate: LeaseRenewer['annotate']
    /** The Lease's name, under which the Events are. */
    readonly lease: string
    readonly identity: string
    readonly events: Pick<EventRecorder, 'event'>
  },
): Task {
  const { clock, random, identity, annotate } = options
  /** When each was first seen, monotonic. */
  const seen = new Map<string, number>()
  let written: { readonly troubles: TroubleRecord['troubles']; readonly at: number } | undefined

  /** Those that last; undefined while nothing is to be written yet. */
  function settled(): readonly Trouble[] | undefined {
    const troubles = options.troubles()
    if (troubles === undefined) return undefined
    const now = clock.monotonic()
    const keys = new Set(troubles.map(({ key }) => key))
    for (const key of seen.keys()) if (!keys.has(key)) seen.delete(key)
    for (const key of keys) if (!seen.has(key)) seen.set(key, now)
    const lasting = troubles.filter(({ key }) => now - (seen.get(key) ?? now) >= SETTLES)
    // Before the first record it is better to wait than to say that there are none.
    return written === undefined && lasting.length < troubles.length ? undefined : lasting
  }

  /** In the namespace `default`, where those on Nodes are: the controller may write none elsewhere. */
  function tell({ message }: TroubleRecord['troubles'][number]): void {
    const regarding = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: options.lease, uid: '' }
    options.events.event({ regarding, type: 'Warning', reason: 'LeaderTroubled', message })
  }

  return every(
    INTERVAL,
    async (signal) => {
      const lasting = settled()
      if (lasting === undefined) return
      const now = clock.now()
      const recorded = (former: TroubleRecord['troubles']): TroubleRecord['troubles'] =>
        lasting.map(({ key, message, stops }) => ({
          key,
          message,
          since: former.find((each) => each.key === key)?.since ?? timestamp(now - ageOf(key)),
          ...(stops === undefined ? {} : { stops: stops === 'all' ? '' : stops.vCenter }),
        }))
      const due = written === undefined || clock.monotonic() - written.at >= REFRESH
      if (!due && isDeepStrictEqual(recorded(written?.troubles ?? []), written?.troubles)) return
      let news: TroubleRecord['troubles'] = []
      let troubles = news
      const done = await attempt(() =>
        annotate((annotations) => {
          // Of a former leader, where this one has written none yet.
          const former = written?.troubles ?? troublesIn(annotations)?.troubles ?? []
          troubles = recorded(former)
          news = troubles.filter(({ key }) => former.every((each) => each.key !== key))
          return withTroubles(annotations, { by: identity, at: timestamp(now), troubles })
        }, signal),
      )
      // A failure is retried at the next look: a replica that cannot write the Lease does not lead for long.
      if (!done.ok || !done.value) return
      written = { troubles, at: clock.monotonic() }
      for (const each of news) tell(each)
    },
    clock,
    random,
  )

  function ageOf(key: string): number {
    return clock.monotonic() - (seen.get(key) ?? clock.monotonic())
  }
}

/** Milliseconds between two comparisons of clocks. */
const COMPARES = 300_000

/** Compares this machine's clock with the API server's now and then. */
export function compareClocks({
  client,
  clock,
  random,
}: Pick<Basics, 'clock' | 'random'> & { readonly client: KubeClient }) {
  let skew = 0
  const look: Task = async (signal) => {
    const read = await attempt(() => reviewSelf(client, clock, signal))
    // What cannot be read says nothing about the clock.
    if (read.ok) skew = read.value.skew
  }
  return {
    troubles(): readonly Trouble[] {
      if (Math.abs(skew) <= MAX_SKEW) return []
      const minutes = Math.max(1, Math.round(Math.abs(skew) / 60_000))
      const text = `the clock of the machine where the leader runs is about ${minutes}m ${skew > 0 ? 'behind' : 'ahead of'} the API server's, so times that it writes are wrong: set it, by NTP`
      return [{ key: 'clock', text, message: text }]
    },
    async run(signal: AbortSignal): Promise<void> {
      try {
        await look(signal)
        await every(COMPARES, look, clock, random)(signal)
      } finally {
        // The leader runs elsewhere from now on.
        skew = 0
      }
    },
  }
}
