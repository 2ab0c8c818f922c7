import type { Clock } from '../../agent/shared/clock.ts'
import {
  type Annotations,
  believedFor,
  type Lease,
  type LeaseRecord,
  type LeaseStore,
  LONGEST_BELIEVED,
  microTime,
} from './lease.ts'

export interface LeaseRenewerOptions {
  readonly lease: LeaseStore
  readonly identity: string
  readonly durationSeconds: number
  /** Told that a Lease which is ours could not be renewed by one request: somebody else wrote it meanwhile. */
  readonly onSlowPath?: () => void
  readonly clock: Clock
}

export type EditAnnotations = (annotations: Annotations) => Annotations | undefined

/** Acquires, renews and releases a Lease, one request at a time, and knows what was last seen of it. The election has the loops. */
export interface LeaseRenewer {
  /** Who held the Lease when it was last read. */
  readonly holder: string
  /** Milliseconds until another's Lease expires; 0 if it has expired or nobody holds it. */
  readonly expiresIn: number
  /** Monotonic time just before our last successful write was sent. */
  readonly renewedAt: number
  /** The same by the wall clock. */
  readonly renewedAtWall: number
  /**
   * Takes the Lease if it is free or expired, renews it if it is ours; resolves with whether it is ours now.
   *
   * @throws what the requests throw; the holder is then unknown
   */
  acquireOrRenew(signal: AbortSignal): Promise<boolean>
  /**
   * Renews the Lease if nobody else has held it since it became ours, and creates it again if someone deleted it; never
   * takes it over. Resolves with whether it is ours. Two calls may be under way at once.
   *
   * @throws as {@link acquireOrRenew}
   */
  renew(signal: AbortSignal): Promise<boolean>
  /**
   * Renews the Lease with the annotations that `edit` returns for the present ones; does nothing where that is undefined.
   * Resolves with whether it is done: false where the Lease is not ours or somebody else wrote meanwhile.
   *
   * @throws as {@link acquireOrRenew}
   */
  annotate(edit: EditAnnotations, signal: AbortSignal): Promise<boolean>
  /** Releases the Lease if it is ours, so that the next leader need not wait. */
  release(signal: AbortSignal): Promise<void>
}

/** The rules of client-go's `tryAcquireOrRenew` and `release`. */
export function createLeaseRenewer({
  lease: store,
  identity,
  durationSeconds,
  onSlowPath,
  clock,
}: LeaseRenewerOptions): LeaseRenewer {
  // The replicas of one Deployment have one duration, however long.
  const longest = Math.max(LONGEST_BELIEVED, durationSeconds * 1000)
  let seen: Lease | undefined
  let seenAt = 0
  let renewed = { at: 0, wall: 0 }

  function observe(lease: Lease): void {
    if (!seen || !sameRecord(seen.record, lease.record)) seenAt = clock.monotonic()
    seen = lease
  }

  function expiresIn(): number {
    const record = seen?.record
    if (!record || record.holder === '' || record.holder === identity) return 0
    return Math.max(0, seenAt + believedFor(record, longest) - clock.monotonic())
  }

  /** The record to write next: within a term, its start and number stay. */
  function ours(before: LeaseRecord | undefined): LeaseRecord {
    const now = microTime(clock.now())
    const goesOn = before?.holder === identity
    return {
      holder: identity,
      durationSeconds,
      acquireTime: goesOn ? before.acquireTime : now,
      renewTime: now,
      transitions: goesOn ? before.transitions : before ? before.transitions + 1 : 0,
    }
  }

  async function write(send: () => Promise<Lease | undefined>): Promise<boolean> {
    const sent = { at: clock.monotonic(), wall: clock.now() }
    const written = await send()
    if (!written) return false
    // The answers to two concurrent writes may arrive in either order.
    if (sent.at >= renewed.at) {
      renewed = sent
      observe(written)
    }
    return true
  }

  async function update(found: Lease, edit: EditAnnotations, signal: AbortSignal): Promise<boolean> {
    const annotations = edit(found.annotations)
    if (annotations === undefined) return true
    return write(() => store.update({ ...found, annotations }, ours(found.record), signal))
  }

  async function step(
    mayWrite: (found: LeaseRecord) => boolean,
    edit: EditAnnotations,
    signal: AbortSignal,
  ): Promise<boolean> {
    // Usually nobody has touched our Lease and one request is enough. Where another write of ours came first, its answer is
    // as new as anything that could be read.
    for (let held = seen, before: Lease | undefined; held !== before; before = held, held = seen) {
      if (held?.record.holder === identity && (await update(held, edit, signal))) return true
    }
    if (seen?.record.holder === identity) onSlowPath?.()
    const found = await store.get(signal)
    // A Lease that was just created has no annotations yet.
    if (!found) return (await write(() => store.create(ours(undefined), signal))) && edit === asTheyAre
    observe(found)
    return mayWrite(found.record) && update(found, edit, signal)
  }

  /** Whether it is the same term, not another one of ours with its own work. */
  function isSameTerm(term: LeaseRecord | undefined): (found: LeaseRecord) => boolean {
    return (found) => found.holder === identity && found.transitions === term?.transitions
  }

  return {
    get holder() {
      return seen?.record.holder ?? ''
    },
    get expiresIn() {
      return expiresIn()
    },
    get renewedAt() {
      return renewed.at
    },
    get renewedAtWall() {
      return renewed.wall
    },
    acquireOrRenew: (signal) => step(() => expiresIn() === 0, asTheyAre, signal),
    renew: (signal) => step(isSameTerm(seen?.record), asTheyAre, signal),
    annotate: (edit, signal) => step(isSameTerm(seen?.record), edit, signal),
    async release(signal) {
      const found = await store.get(signal)
      if (found?.record.holder !== identity) return
      const now = microTime(clock.now())
      const free = { ...found.record, holder: '', durationSeconds: 1, acquireTime: now, renewTime: now }
      const released = await store.update(found, free, signal)
      if (released) observe(released)
    },
  }
}

function asTheyAre(annotations: Annotations): Annotations {
  return annotations
}

function sameRecord(a: LeaseRecord, b: LeaseRecord): boolean {
  return (
    a.holder === b.holder &&
    a.renewTime === b.renewTime &&
    a.acquireTime === b.acquireTime &&
    a.transitions === b.transitions &&
    a.durationSeconds === b.durationSeconds
  )
}
