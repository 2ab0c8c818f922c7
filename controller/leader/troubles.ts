import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { timestamp } from '../../agent/shared/node-report.ts'
import { attempt, messageOf } from '../../agent/shared/result.ts'
import { reviewSelf } from '../kubernetes/access-review.ts'
import { hasStatus } from '../kubernetes/api-error.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import type { EventRecorder } from '../kubernetes/event-recorder.ts'
import type { Informer, InformerOptions, Listed } from '../kubernetes/informer.ts'
import type { LeaseRenewer } from '../kubernetes/lease.ts'
import { MAX_SKEW } from '../kubernetes/lease-holder.ts'
import { CLOCK_TROUBLE, type TroubleRecord, troublesIn, withTroubles } from '../kubernetes/lease-troubles.ts'
import { type Basics, every, type Task } from '../lib/tasks.ts'
import { type Trouble, troubleOf, withoutNumbers } from '../types/trouble.ts'

/** Longest key in the record. */
const MAX_KEY = 128
/** Milliseconds between two looks. */
const INTERVAL = 2_000
/**
 * Milliseconds for which a trouble must last before it is reported, since some pass by themselves when a leader starts, and for
 * which it must be away before it is over: after a change of the configuration the leader finds it anew.
 */
const SETTLES = 10_000
/** Milliseconds after which the first record is written although something has not settled. */
const FIRST_RECORD = 60_000
/** Milliseconds after which the record is written again though nothing has changed. */
const REFRESH = 300_000

/** A trouble of this leader, with monotonic times. */
interface Seen {
  readonly trouble: Trouble
  readonly since: number
  readonly last: number
  /** Since when it is this text, but for the numbers in it. */
  readonly sameSince: number
}

/**
 * Tells a leader's troubles beside its Lease, and each one once as an Event: again where it has become another for a while, as a
 * vCenter that was away and now refuses the login. Written when they have changed, and every five minutes; each write renews the
 * Lease, so it costs no more than a renewal. A trouble that the former leader had goes on, and is not told again.
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
  const seen = new Map<string, Seen>()
  /** The texts that were told of each trouble. */
  const told = new Map<string, Set<string>>()
  /** The keys of what the former leader has told; only until this one has written. */
  let inherited: ReadonlySet<string> = new Set()
  let begun: number | undefined
  let written: { readonly troubles: TroubleRecord['troubles']; readonly at: number } | undefined

  function look(troubles: readonly Trouble[], now: number): void {
    for (const trouble of troubles) {
      const before = seen.get(trouble.key)
      const same =
        before !== undefined && withoutNumbers(before.trouble.text) === withoutNumbers(trouble.text)
      seen.set(trouble.key, {
        trouble,
        since: before?.since ?? now,
        last: now,
        sameSince: same ? before.sameSince : now,
      })
    }
    for (const [key, { since, last }] of seen) {
      const isOver = now - last >= SETTLES || (now > last && last - since < SETTLES)
      if (isOver) seen.delete(key)
    }
    for (const key of told.keys()) if (!seen.has(key)) told.delete(key)
  }

  /** Those that last; undefined while nothing is to be written yet. */
  function settled(): readonly Seen[] | undefined {
    const troubles = options.troubles()
    if (troubles === undefined) return undefined
    const now = clock.monotonic()
    begun ??= now
    look(
      troubles.map((each) => ({ ...each, key: shortKey(each.key) })),
      now,
    )
    const all = [...seen.values()]
    const lasting = all.filter(({ since }) => now - since >= SETTLES)
    // Before the first record it is better to wait than to say that there are none.
    const waits = written === undefined && lasting.length < all.length && now - begun < FIRST_RECORD
    return waits ? undefined : lasting
  }

  function tell({ trouble: { key, text }, sameSince }: Seen, isNew: boolean): void {
    const texts = told.get(key)
    const words = withoutNumbers(text)
    if (texts?.has(words) || (texts !== undefined && clock.monotonic() - sameSince < SETTLES)) return
    told.set(key, new Set(texts).add(words))
    if (!isNew) return
    // In the namespace `default`, where those on Nodes are, since the controller may write none elsewhere. More people read
    // Events there than the Lease.
    options.events.event({
      regarding: { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', name: options.lease, uid: '' },
      type: 'Warning',
      reason: 'LeaderTroubled',
      message: `${text}; see rollcall-controller status`,
    })
  }

  return every(
    INTERVAL,
    async (signal) => {
      const lasting = settled()
      if (lasting === undefined) return
      const [now, monotonic] = [clock.now(), clock.monotonic()]
      const recorded = (former: TroubleRecord['troubles']): TroubleRecord['troubles'] =>
        lasting.map(({ trouble: { key, message, stops }, since }) => ({
          key,
          message,
          since: former.find((each) => each.key === key)?.since ?? timestamp(now - (monotonic - since)),
          ...(stops === undefined ? {} : { stops: stops === 'all' ? '' : stops.vCenter }),
        }))
      const due = written === undefined || monotonic - written.at >= REFRESH
      if (due || !isDeepStrictEqual(recorded(written?.troubles ?? []), written?.troubles)) {
        let troubles: TroubleRecord['troubles'] = []
        const done = await attempt(() =>
          annotate((annotations) => {
            // Of a former leader, where this one has written none yet.
            const former = written?.troubles ?? troublesIn(annotations)?.troubles ?? []
            if (written === undefined) inherited = new Set(former.map(({ key }) => key))
            troubles = recorded(former)
            return withTroubles(annotations, { by: identity, at: timestamp(now), troubles })
          }, signal),
        )
        // A failure is retried at the next look: a replica that cannot write the Lease does not lead for long.
        if (!done.ok || !done.value) return
        written = { troubles, at: monotonic }
      }
      for (const each of lasting) tell(each, !inherited.has(each.trouble.key))
      inherited = new Set()
    },
    clock,
    random,
  )
}

/** In the record there is no room for a key that names many objects. */
function shortKey(key: string): string {
  return key.length <= MAX_KEY ? key : hash('sha256', key, 'hex')
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
      return [{ key: CLOCK_TROUBLE, text, message: text }]
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

/** Why a leader does not know the Nodes, or the reports, as they are now. */
export function createListFailures() {
  /** The last error of each kind that cannot be listed, or followed, now. */
  const errors = new Map<string, unknown>()
  return {
    of:
      (kind: string): NonNullable<InformerOptions<Listed>['onFailing']> =>
      (error) => {
        if (error === undefined) errors.delete(kind)
        else errors.set(kind, error)
      },
    /** Until the first list is complete. */
    notListed(kind: string, { synced }: Pick<Informer<Listed>, 'synced'>): readonly Trouble[] {
      if (synced) return []
      const told = troubleOf(`${kind} are not listed yet`)
      const error = errors.get(kind)
      return [error === undefined ? told : { ...told, message: `${told.text}: ${why(error)}` }]
    },
    /** After that, while the watch is broken: what is known is as it was. */
    notFollowed(kind: string, { synced }: Pick<Informer<Listed>, 'synced'>): readonly Trouble[] {
      const error = errors.get(kind)
      if (!synced || error === undefined) return []
      const told = troubleOf(`${kind} are not followed, so what changes there is not seen`)
      return [{ ...told, message: `${told.text}: ${why(error)}` }]
    },
  }
}

function why(error: unknown): string {
  const said = messageOf(error)
  if (hasStatus(error, 403)) return `${said}; apply rbac.yaml`
  return hasStatus(error, 404) ? `${said}; the CRD is not there: apply crd.yaml` : said
}
