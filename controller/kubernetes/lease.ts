import * as v from 'valibot'
import { hasStatus } from './api-error.ts'
import type { KubeClient } from './client.ts'

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

const TYPE = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease' }
const LeaseObject = v.object({
  metadata: v.looseObject({
    resourceVersion: v.string(),
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

  return {
    async get(signal) {
      const object = await unless(404, client.request({ method: 'GET', path, timeout, signal }))
      return object === undefined ? undefined : parseLease(path, object)
    },
    async create(record, signal) {
      const body = { ...TYPE, metadata: { namespace, name }, spec: specOf(record) }
      const object = await unless(
        409,
        client.request({ method: 'POST', path: collection, body, timeout, signal }),
      )
      return object === undefined ? undefined : parseLease(path, object)
    },
    async update(lease, record, signal) {
      const metadata = { ...lease.metadata, annotations: lease.annotations }
      const body = { ...TYPE, metadata, spec: specOf(record) }
      const object = await unless(409, client.request({ method: 'PUT', path, body, timeout, signal }))
      return object === undefined ? undefined : parseLease(path, object)
    },
  }
}

/**
 * Milliseconds for which another's Lease is believed without a renewal, whatever duration it names: whoever may create Leases
 * could otherwise stop this controller for 68 years with one request. A holder that lives renews it far more often, as the
 * CPI does with its 15 s.
 */
export const LONGEST_BELIEVED = 300_000

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

function specOf(record: LeaseRecord) {
  return {
    holderIdentity: record.holder,
    leaseDurationSeconds: record.durationSeconds,
    acquireTime: record.acquireTime,
    renewTime: record.renewTime,
    leaseTransitions: record.transitions,
  }
}

function parseLease(path: string, object: unknown): Lease {
  const parsed = v.safeParse(LeaseObject, object)
  if (!parsed.success) {
    throw new Error(`${path} was answered with something that is not a Lease`)
  }
  const { spec, metadata } = parsed.output
  return {
    metadata,
    annotations: metadata.annotations,
    record: {
      holder: spec.holderIdentity,
      durationSeconds: spec.leaseDurationSeconds,
      acquireTime: spec.acquireTime,
      renewTime: spec.renewTime,
      transitions: spec.leaseTransitions,
    },
  }
}

async function unless(status: number, answer: Promise<unknown>): Promise<unknown> {
  try {
    return await answer
  } catch (error) {
    if (hasStatus(error, status)) return undefined
    throw error
  }
}
