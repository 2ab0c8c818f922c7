/** Probes VMs while there is a session; while there is none, each probe fails with the reason. */

import type { Clock } from '../../../agent/shared/clock.ts'
import type { BoundVM } from '../../../agent/shared/node-report.ts'
import type { VCenterFailure } from '../../types/vcenter-failure.ts'
import type { VCenterProbe } from '../../types/vcenter-probe.ts'
import type { VMStore } from '../cache/vm-store.ts'
import type { Timings } from '../timings.ts'
import type { VCenterError } from '../wire/errors.ts'
import { createCanaryMemory, knownCanaries } from './canary.ts'
import { probeVM } from './probe.ts'
import { createProbeClient, type ProbeClient, type SessionAccess } from './probe-client.ts'
import { createProvability, type Provability } from './provability.ts'

export interface Prober {
  /**
   * Lets probes use this session until the signal aborts, which ends those under way. Throws the fault by which a probe
   * learns that the session is lost; logging in again is up to the caller.
   */
  run(access: SessionAccess, signal: AbortSignal): Promise<void>
  /** See `Inventory.probe`. */
  probe(vm: BoundVM, signal: AbortSignal): Promise<VCenterProbe>
  /** Refreshes what {@link provable} returns: in full at least once in each session. */
  refreshProvability(how: 'in full' | 'if new', signal: AbortSignal): Promise<void>
  /** See `Inventory.provable`. */
  readonly provable: Provability['provable']
  readonly provableEverywhere: Provability['provableEverywhere']
}

export interface ProberOptions {
  readonly vCenter: string
  /** See `VCenterProbe.server`. */
  readonly server: string
  readonly store: VMStore
  readonly timings: Timings
  readonly clock: Clock
  /** `about.instanceUuid`; empty as long as it has never answered. */
  readonly instanceUUID: () => string
  /** Why it does not answer at this moment. */
  readonly failure: () => VCenterFailure | undefined
  /** Called when the result of {@link Prober.provable} has changed. */
  readonly onProvability: () => void
}

interface Period {
  readonly access: SessionAccess
  readonly signal: AbortSignal
  readonly lost: (error: VCenterError) => void
}

export function createProber({
  vCenter,
  server,
  store,
  timings,
  clock,
  instanceUUID,
  failure,
  onProvability,
}: ProberOptions): Prober {
  let period: Period | undefined
  let session = 0
  let probes = 0
  const memory = createCanaryMemory()
  const provability = createProvability({ vCenter, store, memory, onChange: onProvability })
  let lookedIn: Period | undefined

  function clientIn({ access, signal: period, lost }: Period, signal: AbortSignal): ProbeClient {
    return createProbeClient({ vCenter, access, timings, clock, period, signal, lost })
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
      const about = { vCenter, server, vCenterInstanceUUID: uuid === '' ? undefined : uuid, session }
      if (period === undefined || period.signal.aborted) {
        return { ...about, ...unanswered(own, failure() ?? notConnected(vCenter)) }
      }
      const client = clientIn(period, signal)
      const canary = { vCenter, known: knownCanaries(store, vm, probes++), memory }
      return { ...about, ...(await probeVM({ client, vCenter, vm, own, canary })) }
    },
    async refreshProvability(how, signal) {
      const current = period
      if (current === undefined || current.signal.aborted) return
      const client = clientIn(current, signal)
      try {
        await provability.refresh(client, how === 'in full' || lookedIn !== current)
        lookedIn = current
        if (how === 'in full') await provability.sampleOthers(client)
      } catch (error) {
        // It is in the metrics of the call, and asked again at the next resync; a defect is thrown on.
        client.failure(error)
      }
    },
    provable: provability.provable,
    provableEverywhere: provability.provableEverywhere,
  }
}

/** What a probe finds while nothing can be asked; `own` where the VM may be one of this vCenter. */
export function unanswered(own: boolean, failure: VCenterFailure) {
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

export function notConnected(vCenter: string): VCenterFailure {
  return {
    vCenter,
    reason: 'NotConnected',
    message: 'there is no session with vCenter yet; one is being opened',
  }
}
