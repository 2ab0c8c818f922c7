import type { Clock } from '../clock.ts'
import { type Lease, type LeaseRecord, type LeaseStore, microTime } from './lease.ts'

export interface CandidateOptions {
  readonly lease: LeaseStore
  readonly identity: string
  readonly durationSeconds: number
  readonly clock: Clock
}

/** One who wants a Lease: what it saw of it and when, and the single steps. The loops are the election's. */
export interface Candidate {
  /** Who held the Lease when last looked at. */
  readonly holder: string
  /** Milliseconds until the Lease of another expires; 0 when it has, or is nobody's. */
  readonly expiresIn: number
  /** Monotonic time just before the last write of ours that succeeded was sent. */
  readonly renewedAt: number
  /** The same by the clock on the wall. */
  readonly renewedAtWall: number
  /**
   * Takes the Lease if it is free or expired, renews it if it is ours; resolves with whether it is ours now.
   *
   * @throws what the requests throw; whose the Lease is, is then unknown
   */
  acquireOrRenew(signal: AbortSignal): Promise<boolean>
  /**
   * Renews the Lease if nobody else has held it since it became ours, and makes it again if someone deleted it; never
   * takes it. Resolves with whether it is ours. May be under way twice at once.
   *
   * @throws as {@link acquireOrRenew}
   */
  renew(signal: AbortSignal): Promise<boolean>
  /** Gives the Lease back if it is ours, so that the next need not wait. */
  release(signal: AbortSignal): Promise<void>
}

/** The rules of client-go's `tryAcquireOrRenew` and `release`. */
export function createCandidate({
  lease: store,
  identity,
  durationSeconds,
  clock,
}: CandidateOptions): Candidate {
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
    return Math.max(0, seenAt + record.durationSeconds * 1000 - clock.monotonic())
  }

  /** The record of our next write: a term that goes on keeps its beginning and number. */
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
    observe(written)
    // Of two writes at once the answers may come in either order.
    if (sent.at >= renewed.at) renewed = sent
    return true
  }

  async function step(mayWrite: (found: LeaseRecord) => boolean, signal: AbortSignal): Promise<boolean> {
    const held = seen
    // Most often nobody has touched our Lease, and one request does.
    if (held?.record.holder === identity) {
      if (await write(() => store.update(held, ours(held.record), signal))) return true
    }
    const found = await store.get(signal)
    if (!found) return write(() => store.create(ours(undefined), signal))
    observe(found)
    if (!mayWrite(found.record)) return false
    return write(() => store.update(found, ours(found.record), signal))
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
    acquireOrRenew: (signal) => step(() => expiresIn() === 0, signal),
    renew(signal) {
      const term = seen?.record
      return step((found) => found.holder === identity && found.transitions === term?.transitions, signal)
    },
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

function sameRecord(a: LeaseRecord, b: LeaseRecord): boolean {
  return (
    a.holder === b.holder &&
    a.renewTime === b.renewTime &&
    a.acquireTime === b.acquireTime &&
    a.transitions === b.transitions &&
    a.durationSeconds === b.durationSeconds
  )
}
