/** Answers probes while there is a session, and says why not while there is none. */
import type { BoundVM } from '../../../agent/contract.ts'
import type { Clock } from '../../clock.ts'
import type { Probe } from '../../facts/existence.ts'
import type { VCenterFailure } from '../../facts/vcenter-failure.ts'
import type { Table } from '../facts/table.ts'
import type { Timings } from '../timings.ts'
import type { VCenterError } from '../wire/errors.ts'
import { createCanaryMemory, knownCanaries } from './canary.ts'
import { type Access, openLine } from './line.ts'
import { askAll } from './probe.ts'

export interface Prober {
  /**
   * Lets probes ask in this session until the signal aborts, which ends those under way. Throws the fault by which a
   * probe learns that the session is lost: to log in again is for whoever runs this.
   */
  run(access: Access, signal: AbortSignal): Promise<void>
  /** See `Inventory.probe`. */
  probe(vm: BoundVM, signal: AbortSignal): Promise<Probe>
}

export interface ProberOptions {
  readonly vCenter: string
  readonly table: Table
  readonly timings: Timings
  readonly clock: Clock
  /** `about.instanceUuid`; empty as long as it has never answered. */
  readonly instanceUUID: () => string
  /** Why it does not answer at this moment. */
  readonly failure: () => VCenterFailure | undefined
}

interface Period {
  readonly access: Access
  readonly signal: AbortSignal
  readonly lost: (error: VCenterError) => void
}

export function createProber({
  vCenter,
  table,
  timings,
  clock,
  instanceUUID,
  failure,
}: ProberOptions): Prober {
  let period: Period | undefined
  let session = 0
  let probes = 0
  const memory = createCanaryMemory()

  return {
    async run(access, signal) {
      session = access.login?.number ?? session
      try {
        await new Promise<void>((resolve, reject) => {
          period = { access, signal, lost: reject }
          signal.addEventListener('abort', () => resolve(), { once: true })
          if (signal.aborted) resolve()
        })
      } finally {
        period = undefined
      }
    },
    async probe(vm, signal) {
      const uuid = instanceUUID()
      // As long as vCenter has not said who it is, the VM may be its own.
      const own = uuid === '' || uuid === vm.vCenterInstanceUUID.toLowerCase()
      const about = { vCenter, vCenterInstanceUUID: uuid === '' ? undefined : uuid, session }
      if (period === undefined || period.signal.aborted) {
        return { ...about, ...unanswered(own, failure() ?? notConnected(vCenter)) }
      }
      const { access, lost } = period
      const line = openLine({ vCenter, access, timings, clock, period: period.signal, signal, lost })
      const canary = { vCenter, known: knownCanaries(table, vm, probes++), memory }
      return { ...about, ...(await askAll({ line, vCenter, vm, own, canary })) }
    },
  }
}

function unanswered(own: boolean, failure: VCenterFailure) {
  const unknown = { state: 'unknown', failure } as const
  const unproven = { state: 'unproven', failure } as const
  return {
    reference: own ? unknown : undefined,
    instanceUUID: unknown,
    biosUUID: unknown,
    privileges: unproven,
    canary: unproven,
  }
}

function notConnected(vCenter: string): VCenterFailure {
  return {
    vCenter,
    reason: 'NotConnected',
    message: 'there is no session with vCenter yet, which passes by itself',
  }
}
