import { attempt } from '../../agent/shared/result.ts'
import type { Annotations, LeaseStore } from './lease.ts'
import type { EditAnnotations, LeaseElector } from './lease-elector.ts'

export interface SharedAnnotations extends Pick<LeaseElector, 'annotate'> {
  /** Why others do not see what is annotated here; undefined as long as they do. */
  alone(): string | undefined
}

/**
 * The annotations of the replicas' Lease for somebody who does not lead: logins are counted there, so that several processes
 * together do not lock an account. Who holds the Lease, and since when, stays as it is; a leader that renews it meanwhile
 * reads it once more.
 *
 * Where there is no such Lease (undefined: no API server), or it may not be written, what was read counts, and what is added is seen here alone.
 */
export function createSharedAnnotations(lease: LeaseStore | undefined): SharedAnnotations {
  let alone: string | undefined
  let own: Annotations | undefined
  /** What the next one waits for. It never fails. */
  let last: Promise<unknown> = Promise.resolve()

  function keep(annotations: Annotations, why: string): true {
    own = annotations
    alone = why
    return true
  }

  async function annotateNow(edit: EditAnnotations, signal: AbortSignal): Promise<boolean> {
    const read = await attempt(async () => lease?.get(signal))
    signal.throwIfAborted()
    const found = read.ok ? read.value : undefined
    const annotations = edit(own ?? found?.annotations ?? {})
    if (annotations === undefined) return true
    if (!read.ok) return keep(annotations, 'the Lease cannot be read')
    if (lease === undefined || found === undefined) return keep(annotations, 'there is no Lease')
    if (own !== undefined) return keep(annotations, alone ?? '')
    const written = await attempt(() => lease.update({ ...found, annotations }, found.record, signal))
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
