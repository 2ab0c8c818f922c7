/** How a controller finds a vCenter's address, by the product's own rules, where name servers take long or are silent. */
import type { Clock } from '../../../agent/shared/clock.ts'
import { createNames, NameError } from '../../../controller/vcenter/wire/names.ts'
import type { VCenterModel } from './vcenter.ts'

/** Milliseconds for which a connection is kept without a request. */
const IDLE = 40_000
/** Milliseconds, for never: longer than anybody waits. */
const NEVER = 3_600_000

/** The names that one client of a vCenter resolves, and the connections that it keeps. */
export interface ModelNames {
  /** Resolves when a request may be sent, rejects where no address is found; undefined where a connection is kept. */
  connect(kind: 'call' | 'poll', now: number): Promise<unknown> | undefined
  /** An answer has come on a connection. */
  answered(kind: 'call' | 'poll', now: number): void
}

export function createModelNames(
  vCenter: VCenterModel,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): ModelNames {
  const answeredAt = { call: Number.NEGATIVE_INFINITY, poll: Number.NEGATIVE_INFINITY }
  const names = createNames({
    clock,
    signal,
    async find(name, _, { sleep }, over) {
      if (vCenter.resolving > 0) await sleep(Math.min(vCenter.resolving, NEVER), over)
      if (over.aborted) throw new NameError('EAI_AGAIN', name)
      return [{ address: '192.0.2.1', family: 4 }]
    },
  })
  return {
    connect(kind, now) {
      const last = answeredAt[kind]
      const isKept = now - last < IDLE && last > vCenter.brokeAt
      return isKept ? undefined : names.addressesOf(vCenter.name)
    },
    answered(kind, now) {
      answeredAt[kind] = now
    },
  }
}
