import type { Clock } from '../../agent/shared/clock.ts'
import { attempt } from '../../agent/shared/result.ts'
import { WrongClock } from '../types/vcenter-login-attempts.ts'
import { reviewSelf } from './access-review.ts'
import type { KubeClient } from './client.ts'
import { type Annotations, createLeaseStore, type LeaseStore } from './lease.ts'
import type { EditAnnotations, LeaseRenewer } from './lease-renewer.ts'

export interface SharedAnnotations extends Pick<LeaseRenewer, 'annotate'> {
  /** Why others do not see what is annotated here; undefined as long as they do. */
  alone(): string | undefined
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
 * Where there is no such Lease (undefined: no API server), or it may not be written, what was read counts, and what is added is seen
 * here alone. `annotate` throws WrongClock, and edits nothing, where this machine's clock is off by more than a minute.
 */
export function createSharedAnnotations(shared: SharedLease | undefined): SharedAnnotations {
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
    return written.ok ? written.value !== undefined : keep(annotations, 'the Lease may not be written')
  }

  return {
    alone: () => alone,
    annotate(edit, signal) {
      // Several vCenters are logged in to at once: side by side, each write would be the conflict of all others.
      const turn = last.then(() => annotateNow(edit, signal))
      last = attempt(() => turn)
      return turn
    },
  }
}
