import type { Lease, LeaseRecord, LeaseStore } from '../lease.ts'

/** A Lease in memory that treats writers as the API server does, and the lines to it, each of which can be cut. */
export interface LeaseStub {
  /** What stands there now. */
  record: LeaseRecord | undefined
  /** Of the writes since the start, who wrote and what. */
  readonly writes: { readonly by: string; readonly record: LeaseRecord }[]
  line(by: string): LeaseLine
}

export interface LeaseLine extends LeaseStore {
  /** `deaf`: requests arrive, answers are lost. `hangs`: nothing comes before the request's signal aborts. */
  state: 'works' | 'cut' | 'hangs' | 'deaf'
}

export function createLeaseStub(): LeaseStub {
  let current: Lease | undefined
  const writes: LeaseStub['writes'][number][] = []

  function line(by: string): LeaseLine {
    async function send<V>(signal: AbortSignal, act: () => V): Promise<V> {
      if (self.state === 'cut') throw new Error('connection refused')
      if (self.state === 'hangs') {
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        throw signal.reason
      }
      const answer = act()
      if (self.state === 'deaf') throw new Error('connection reset')
      return answer
    }
    function write(record: LeaseRecord): Lease {
      writes.push({ by, record })
      current = { record, object: {} }
      return current
    }
    const self: LeaseLine = {
      state: 'works',
      get: (signal) => send(signal, () => current),
      create: (record, signal) => send(signal, () => (current ? undefined : write(record))),
      update: (lease, record, signal) => send(signal, () => (lease === current ? write(record) : undefined)),
    }
    return self
  }

  return {
    get record() {
      return current?.record
    },
    set record(record) {
      current = record && { record, object: {} }
    },
    writes,
    line,
  }
}
