/** Answers probes while there is a session, and says why not while there is none. */
import type { BoundVM } from '../../../agent/contract.ts'
import type { Clock } from '../../clock.ts'
import type { VCenterFailure } from '../../types/vcenter-failure.ts'
import type { VCenterProbe } from '../../types/vcenter-probe.ts'
import type { Table } from '../cache/table.ts'
import type { Timings } from '../timings.ts'
import type { VCenterError } from '../wire/errors.ts'
import { createCanaryMemory, knownCanaries } from './canary.ts'
import { type Access, type Line, openLine } from './line.ts'
import { createOutlook, type Outlook } from './outlook.ts'
import { askAll } from './probe.ts'

export interface Prober {
  /**
   * Lets probes ask in this session until the signal aborts, which ends those under way. Throws the fault by which a
   * probe learns that the session is lost: to log in again is for whoever runs this.
   */
  run(access: Access, signal: AbortSignal): Promise<void>
  /** See `Inventory.probe`. */
  probe(vm: BoundVM, signal: AbortSignal): Promise<VCenterProbe>
  /** Finds out what {@link provable} tells; in full once in each session, and where it is said so. */
  look(how: 'in full' | 'if new', signal: AbortSignal): Promise<void>
  /** See `Inventory.provable`. */
  readonly provable: Outlook['provable']
  readonly provableEverywhere: Outlook['provableEverywhere']
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
  /** What {@link Prober.provable} tells has changed. */
  readonly onOutlook: () => void
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
  onOutlook,
}: ProberOptions): Prober {
  let period: Period | undefined
  let session = 0
  let probes = 0
  const memory = createCanaryMemory()
  const outlook = createOutlook({ vCenter, table, memory, onChange: onOutlook })
  let lookedIn: Period | undefined

  function lineIn({ access, signal: period, lost }: Period, signal: AbortSignal): Line {
    return openLine({ vCenter, access, timings, clock, period, signal, lost })
  }

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
      const line = lineIn(period, signal)
      const canary = { vCenter, known: knownCanaries(table, vm, probes++), memory }
      return { ...about, ...(await askAll({ line, vCenter, vm, own, canary })) }
    },
    async look(how, signal) {
      const current = period
      if (current === undefined || current.signal.aborted) return
      const line = lineIn(current, signal)
      try {
        await outlook.look(line, how === 'in full' || lookedIn !== current)
        lookedIn = current
        if (how === 'in full') await outlook.remember(line)
      } catch (error) {
        // It is in the metrics of the call, and asked again at the next resync; a defect is thrown on.
        line.failure(error)
      }
    },
    provable: outlook.provable,
    provableEverywhere: outlook.provableEverywhere,
  }
}

function unanswered(own: boolean, failure: VCenterFailure) {
  const unknown = { state: 'unknown', failure } as const
  const unproven = { state: 'unproven', failure } as const
  return {
    moref: own ? unknown : undefined,
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
