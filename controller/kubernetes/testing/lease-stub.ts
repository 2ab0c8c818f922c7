import type { Clock } from '../../../agent/shared/clock.ts'
import { type Lease, type LeaseRecord, type LeaseStore, REQUEST_TIMEOUT } from '../lease.ts'

/** A Lease in memory that treats writers as the API server does, and the lines to it, each of which can be cut. */
export interface LeaseStub {
  /** What stands there now. */
  record: LeaseRecord | undefined
  /** Of the writes since the start, who wrote and what. */
  readonly writes: { readonly by: string; readonly record: LeaseRecord }[]
  line(by: string): LeaseLine
}

export interface LeaseLine extends LeaseStore {
  /** `deaf`: requests arrive, answers are lost. `hangs`: nothing comes before the request is given up. */
  state: 'works' | 'cut' | 'hangs' | 'deaf'
}

export function createLeaseStub(clock: Clock): LeaseStub {
  let current: Lease | undefined
  const writes: LeaseStub['writes'][number][] = []

  function line(by: string): LeaseLine {
    async function send<V>(signal: AbortSignal, act: () => V): Promise<V> {
      if (self.state === 'cut') throw new Error('connection refused')
      if (self.state === 'hangs') {
        await clock.sleep(REQUEST_TIMEOUT, signal)
        throw signal.aborted ? signal.reason : new Error('nothing came')
      }
      const answer = act()
      if (self.state === 'deaf') throw new Error('connection reset')
      return answer
    }
    function write(record: LeaseRecord, annotations: Lease['annotations'] = {}): Lease {
      writes.push({ by, record })
      current = { record, annotations, metadata: {} }
      return current
    }
    const self: LeaseLine = {
      state: 'works',
      get: (signal) => send(signal, () => current),
      create: (record, signal) => send(signal, () => (current ? undefined : write(record))),
      update: (lease, record, signal) =>
        send(signal, () => (lease.record === current?.record ? write(record, lease.annotations) : undefined)),
    }
    return self
  }

  return {
    get record() {
      return current?.record
    },
    set record(record) {
      current = record && { record, annotations: {}, metadata: {} }
    },
    writes,
    line,
  }
}
