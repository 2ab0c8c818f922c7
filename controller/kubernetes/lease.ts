import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import type { Clock } from '../../agent/shared/clock.ts'
import { hasStatus } from './api-error.ts'
import type { KubeClient, KubeRequest } from './client.ts'
import { readList } from './list.ts'

/** Where a Lease is. */
export interface LeaseName {
  readonly namespace: string
  readonly name: string
}

/** What a `coordination.k8s.io/v1` Lease says. */
export interface LeaseRecord {
  /** Empty: nobody holds it. */
  readonly holder: string
  readonly durationSeconds: number
  /** RFC 3339 with microseconds, by the holder's clock: for people, never for decisions. */
  readonly acquireTime: string
  readonly renewTime: string
  readonly transitions: number
}

export type Annotations = Readonly<Record<string, string>>

export interface Lease {
  readonly record: LeaseRecord
  readonly annotations: Annotations
  /** No Lease of another cluster has it. */
  readonly uid?: string | undefined
  /** As received, to be sent back: labels, for example, belong to others. */
  readonly metadata: object
}

export interface LeaseStore {
  /** Undefined when there is none. */
  get(signal: AbortSignal): Promise<Lease | undefined>
  /** Undefined when someone else created it first. */
  create(record: LeaseRecord, signal: AbortSignal): Promise<Lease | undefined>
  /**
   * Writes a record and the annotations of `lease` over exactly this version; undefined when someone else wrote
   * meanwhile.
   */
  update(lease: Lease, record: LeaseRecord, signal: AbortSignal): Promise<Lease | undefined>
}

const Named = v.object({ metadata: v.object({ name: v.string() }) })
const TYPE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }
const LeaseObject = v.object({
  metadata: v.looseObject({
    resourceVersion: v.string(),
    uid: v.optional(v.string()),
    annotations: v.nullish(v.record(v.string(), v.string()), {}),
  }),
  spec: v.nullish(
    v.object({
      holderIdentity: v.nullish(v.string(), ''),
      leaseDurationSeconds: v.nullish(v.number(), 0),
      acquireTime: v.nullish(v.string(), ''),
      renewTime: v.nullish(v.string(), ''),
      leaseTransitions: v.nullish(v.number(), 0),
    }),
    {},
  ),
})

/**
 * Milliseconds of one request by default: half of the time in which a leader must renew, as in client-go's
 * `NewFromKubeconfig`. Per request, not per attempt: where each answer takes seconds, an attempt with a conflict takes
 * three requests, and one that is given up before its last answer only meets the next conflict.
 */
export const REQUEST_TIMEOUT = 5_000

/**
 * Reads and writes one Lease. Writes are PUTs with the resourceVersion that was read, so one of two concurrent writers fails.
 *
 * @param timeout milliseconds of one request
 */
export function createLeaseStore(
  client: KubeClient,
  namespace: string,
  name: string,
  timeout: number = REQUEST_TIMEOUT,
): LeaseStore {
  const collection = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`
  const path = `${collection}/${encodeURIComponent(name)}`

  /** The Lease that the request is answered with; undefined where it is answered with this HTTP status. */
  async function leaseUnless(status: number, request: KubeRequest): Promise<Lease | undefined> {
    try {
      return parseLease(path, await client.request(request))
    } catch (error) {
      if (hasStatus(error, status)) return undefined
      throw error
    }
  }

  return {
    get: (signal) => leaseUnless(404, { method: 'GET', path, timeout, signal }),
    create(record, signal) {
      const body = { ...TYPE, metadata: { namespace, name }, spec: specOf(record) }
      return leaseUnless(409, { method: 'POST', path: collection, body, timeout, signal })
    },
    update(lease, record, signal) {
      const metadata = { ...lease.metadata, annotations: lease.annotations }
      const body = { ...TYPE, metadata, spec: specOf(record) }
      return leaseUnless(409, { method: 'PUT', path, body, timeout, signal })
    },
  }
}

/**
 * All Leases of a namespace, by name.
 *
 * @throws as `readList`
 */
export async function readLeases(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Lease>> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/leases`
  const leases = new Map<string, Lease>()
  const take = (object: unknown) =>
    void leases.set(v.parse(Named, object).metadata.name, parseLease(path, object))
  await readList(client, { path }, take, signal)
  return leases
}

/**
 * Milliseconds for which another's Lease is believed without a renewal, whatever duration it names: anybody who may create
 * Leases could otherwise stop this controller for 68 years with one request. A holder that lives renews it far more often, as
 * the CPI does with its 15 s.
 */
const LONGEST_BELIEVED = 300_000

/**
 * For how long this Lease is believed, milliseconds.
 *
 * @param longest at most; {@link LONGEST_BELIEVED} by default
 */
export function believedFor(
  { durationSeconds }: Pick<LeaseRecord, 'durationSeconds'>,
  longest: number = LONGEST_BELIEVED,
): number {
  return Math.min(durationSeconds * 1000, longest)
}

/** `metav1.MicroTime` takes no other number of digits. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace(/Z$/, '000Z')
}

function specOf({ holder, durationSeconds, transitions, ...times }: LeaseRecord) {
  return {
    holderIdentity: holder,
    leaseDurationSeconds: durationSeconds,
    leaseTransitions: transitions,
    ...times,
  }
}

function parseLease(path: string, object: unknown): Lease {
  const parsed = v.safeParse(LeaseObject, object)
  if (!parsed.success) throw new Error(`${path} was answered with something that is not a Lease`)
  const { spec, metadata } = parsed.output
  const {
    holderIdentity: holder,
    leaseDurationSeconds: durationSeconds,
    leaseTransitions: transitions,
    ...times
  } = spec
  return {
    metadata,
    annotations: metadata.annotations,
    uid: metadata.uid,
    record: { holder, durationSeconds, transitions, ...times },
  }
}

export type EditAnnotations = (annotations: Annotations) => Annotations | undefined

/** Acquires, renews and releases a Lease, one request at a time, and knows its last seen state. The election has the loops. */
export interface LeaseRenewer {
  /** Who held the Lease when it was last read. */
  readonly holder: string
  /** The UID of the Lease when it was last read. */
  readonly leaseUID: string | undefined
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
export function createLeaseRenewer(options: {
  readonly lease: LeaseStore
  readonly identity: string
  readonly durationSeconds: number
  /** Told that a Lease which is ours could not be renewed by one request: somebody else wrote it meanwhile. */
  readonly onSlowPath?: () => void
  readonly clock: Clock
}): LeaseRenewer {
  const { lease: store, identity, durationSeconds, onSlowPath, clock } = options
  // The replicas of one Deployment have one duration, however long.
  const longest = Math.max(LONGEST_BELIEVED, durationSeconds * 1000)
  let seen: Lease | undefined
  let seenAt = 0
  let renewed = { at: 0, wall: 0 }

  function observe(lease: Lease): void {
    if (!seen || !isDeepStrictEqual(seen.record, lease.record)) seenAt = clock.monotonic()
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
    if (!found) return (await write(() => store.create(ours(undefined), signal))) && edit === unchanged
    observe(found)
    return mayWrite(found.record) && update(found, edit, signal)
  }

  /** Whether it is the same term, not another one of ours with its own work. */
  const isSameTerm = (term: LeaseRecord | undefined) => (found: LeaseRecord) =>
    found.holder === identity && found.transitions === term?.transitions

  return {
    get holder() {
      return seen?.record.holder ?? ''
    },
    get leaseUID() {
      return seen?.uid
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
    acquireOrRenew: (signal) => step(() => expiresIn() === 0, unchanged, signal),
    renew: (signal) => step(isSameTerm(seen?.record), unchanged, signal),
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

const unchanged: EditAnnotations = (annotations) => annotations
