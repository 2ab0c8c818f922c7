/** Login attempts in an annotation of the replicas' Lease, written by the leader or by somebody who does not lead. */
import * as v from 'valibot'
import type { Clock } from '../../agent/shared/clock.ts'
import { attempt } from '../../agent/shared/result.ts'
import {
  type LoginAttempt,
  type LoginAttempts,
  REMEMBERED,
  WrongClock,
} from '../types/vcenter-login-attempts.ts'
import { reviewSelf } from './access-review.ts'
import type { KubeClient } from './client.ts'
import {
  type Annotations,
  createLeaseStore,
  type EditAnnotations,
  type LeaseRenewer,
  type LeaseStore,
} from './lease.ts'

const ANNOTATION = 'rollcall.dev/login-attempts'
/**
 * Names that are kept, about four for each account: far more than anyone configures, and less than half of the 256 KiB of an
 * object's annotations.
 */
const MAX_NAMES = 128
/** Characters; we write less. More comes from somebody else, and could keep every login from being recorded. */
const MAX_TEXT = 128 * 1024
/** How often a write is tried that conflicts with others. */
const TRIES = 5

const AttemptText = v.object({ at: v.pipe(v.string(), v.isoTimestamp()), refused: v.boolean() })
const AccountsText = v.pipe(v.string(), v.parseJson(), v.record(v.string(), v.array(AttemptText)))

type AttemptText = v.InferOutput<typeof AttemptText>

/**
 * Keeps login attempts in an annotation of the replicas' Lease: only the leader logs in, the next leader reads the
 * annotation with the Lease, and no further permission is needed. Each write also renews the Lease, so it never delays a
 * renewal.
 */
export function createLoginAttempts(lease: Pick<LeaseRenewer, 'annotate'>): LoginAttempts {
  return {
    async update(names, change, signal) {
      for (let tries = 0; tries < TRIES; tries++) {
        const done = await lease.annotate((annotations) => {
          const accounts = new Map(Object.entries(parseAccounts(annotations[ANNOTATION])))
          const changed = change(names.map((name) => (accounts.get(name) ?? []).map(fromText)))
          if (changed === undefined) return undefined
          for (const name of names) accounts.delete(name)
          const kept = lately(accounts, changed.flat(), MAX_NAMES - names.length)
          const own = names
            .map((name, index) => [name, (changed[index] ?? []).map(toText)] as const)
            .filter(([, after]) => after.length > 0)
          return { ...annotations, [ANNOTATION]: JSON.stringify(Object.fromEntries([...kept, ...own])) }
        }, signal)
        if (done) return
      }
      throw new Error('this replica does not lead, or others wrote the Lease each time')
    },
  }
}

/** The accounts whose attempts may still count at the latest of these; of too many, those tried last. */
function lately(
  accounts: ReadonlyMap<string, readonly AttemptText[]>,
  attempts: readonly LoginAttempt[],
  most: number,
): (readonly [name: string, tried: readonly AttemptText[]])[] {
  const now = Math.max(...attempts.map(({ at }) => at))
  return (
    Array.from(accounts, ([name, tried]) => ({
      name,
      tried,
      last: Math.max(...tried.map(({ at }) => Date.parse(at))),
    }))
      // Without attempts there is no time to compare with.
      .filter(({ last }) => attempts.length === 0 || Math.abs(now - last) < REMEMBERED)
      .toSorted((a, b) => b.last - a.last)
      .slice(0, Math.max(0, most))
      .map(({ name, tried }) => [name, tried] as const)
  )
}

function fromText({ at, refused }: AttemptText): LoginAttempt {
  return { at: Date.parse(at), refused }
}

function toText({ at, refused }: LoginAttempt): AttemptText {
  return { at: new Date(at).toISOString(), refused }
}

/** Anything not in the form that we write comes from somebody else and is ignored. */
function parseAccounts(text: string | undefined): v.InferOutput<typeof AccountsText> {
  if (text !== undefined && text.length > MAX_TEXT) return {}
  const parsed = v.safeParse(AccountsText, text)
  return parsed.success ? parsed.output : {}
}

/** The replicas' Lease, and the API server's clock minus ours, in milliseconds. */
export interface SharedLease {
  readonly lease: LeaseStore
  /** @throws as `KubeClient.request` */
  readonly skew: (signal: AbortSignal) => Promise<number>
}

export function shareLease(
  client: KubeClient,
  { namespace, name }: { readonly namespace: string; readonly name: string },
  clock: Clock,
): SharedLease {
  return {
    lease: createLeaseStore(client, namespace, name),
    skew: async (signal) => (await reviewSelf(client, clock, signal)).skew,
  }
}

/** Milliseconds. A clock that differs by more does not see the attempts of others for what they are, and could erase them. */
const MAX_SKEW = 60_000

/**
 * The annotations of the replicas' Lease for somebody who does not lead: logins are counted there, so that several processes
 * together do not lock an account. Who holds the Lease, and since when, stays as it is; a leader that renews it meanwhile
 * reads it once more.
 *
 * Where there is no such Lease (undefined: no API server), or it may not be written, what was read counts, and only this process
 * sees what is added. `annotate` throws WrongClock, and edits nothing, where this machine's clock is off by more than a minute.
 */
export function createSharedAnnotations(shared: SharedLease | undefined) {
  let alone: string | undefined
  let own: Annotations | undefined
  let measured: number | undefined
  /** What the next one waits for. It never fails. */
  let last: Promise<unknown> = Promise.resolve()

  function keep(annotations: Annotations, why: string): true {
    own = annotations
    alone = why
    return true
  }

  async function annotateNow(edit: EditAnnotations, signal: AbortSignal): Promise<boolean> {
    const time = await attempt(async () => (measured ??= await shared?.skew(signal)))
    signal.throwIfAborted()
    if (time.ok && Math.abs(time.value ?? 0) > MAX_SKEW) throw new WrongClock(time.value ?? 0)
    const read = await attempt(async () => shared?.lease.get(signal))
    signal.throwIfAborted()
    const found = read.ok ? read.value : undefined
    const annotations = edit(own ?? found?.annotations ?? {})
    if (annotations === undefined) return true
    if (!read.ok) return keep(annotations, 'the Lease cannot be read')
    if (shared === undefined || found === undefined) return keep(annotations, 'there is no Lease')
    if (!time.ok) return keep(annotations, 'the API server does not say what time it is')
    if (own !== undefined) return keep(annotations, alone ?? '')
    const written = await attempt(() => shared.lease.update({ ...found, annotations }, found.record, signal))
    signal.throwIfAborted()
    return written.ok
      ? written.value !== undefined
      : keep(annotations, 'this controller is not allowed to write the Lease')
  }

  return {
    /** Why others do not see what is annotated here; undefined as long as they do. */
    alone: (): string | undefined => alone,
    annotate(edit: EditAnnotations, signal: AbortSignal): Promise<boolean> {
      // Several vCenters are logged in to at once: side by side, each write would be the conflict of all others.
      const turn = last.then(() => annotateNow(edit, signal))
      last = attempt(() => turn)
      return turn
    },
  }
}
