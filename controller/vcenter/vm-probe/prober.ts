/** Probes VMs while there is a session; while there is none, each probe fails with the reason. */
import type { Clock } from '../../../agent/shared/clock.ts'
import type { BoundVM } from '../../../agent/shared/node-report.ts'
import type { Proof, SeenVM, VCenterFailure, VCenterProbe, VMExistence } from '../../types/inventory.ts'
import type { VMStore } from '../cache/vm-store.ts'
import { notConnected, unanswered } from '../running-inventory.ts'
import type { Timings } from '../timings.ts'
import { isGone, VCenterError } from '../wire/errors.ts'
import { vmReference } from '../wire/managed-object-reference.ts'
import { CanaryMemory, knownCanaries, proveCanary } from './canary.ts'
import { createProvability, provePrivileges } from './privileges.ts'
import { createProbeClient, type ProbeClient, type SessionAccess } from './probe-client.ts'
import { readVM, searchVMs } from './read-vm.ts'

interface Period {
  readonly access: SessionAccess
  readonly signal: AbortSignal
  readonly lost: () => void
}

export function createProber(options: {
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
  /** Called when the result of `provable` has changed, with the followed UUIDs that it concerns. */
  readonly onProvability: (uuids: ReadonlySet<string>) => void
}) {
  const { vCenter, server, store, timings, clock, instanceUUID, failure, onProvability } = options
  let period: Period | undefined
  let session = 0
  let probes = 0
  const memory = new CanaryMemory()
  const provability = createProvability({ vCenter, store, memory, onChange: onProvability })
  let lookedIn: Period | undefined

  function clientIn({ access, signal: period, lost }: Period, signal: AbortSignal): ProbeClient {
    return createProbeClient({ vCenter, access, timings, clock, period, signal, lost })
  }

  return {
    /**
     * Lets probes use this session until the signal aborts, which ends those under way. Throws where a probe learns that the
     * session is lost, and `alive` throws too; logging in again is up to the caller.
     */
    async run(
      access: SessionAccess,
      alive: (signal: AbortSignal) => Promise<void>,
      signal: AbortSignal,
    ): Promise<void> {
      session = access.login?.number ?? session
      try {
        await new Promise<void>((resolve, reject) => {
          period = { access, signal, lost: () => void alive(signal).catch(reject) }
          signal.addEventListener('abort', () => resolve(), { once: true })
          if (signal.aborted) resolve()
        })
      } finally {
        period = undefined
      }
    },
    /** See `Inventory.probe`. */
    async probe(vm: BoundVM, signal: AbortSignal): Promise<VCenterProbe> {
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
    /** Refreshes what `provable` returns: in full at least once in each session. */
    async refreshProvability(how: 'in full' | 'if new', signal: AbortSignal): Promise<void> {
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
    /** See `Inventory.provable`. */
    provable: provability.provable,
    provableEverywhere: provability.provableEverywhere,
  }
}

/**
 * Probes one missing VM in one vCenter: by moref, by both UUIDs, and whether an empty answer means anything. Makes the calls one
 * after the other; each result is evidence by itself. A binding without an instance UUID is
 * searched for by BIOS UUID alone, and that result stands for both. Throws only for a defect.
 */
export async function probeVM(options: {
  readonly client: ProbeClient
  readonly vCenter: string
  readonly vm: BoundVM
  /** Whether the VM is bound to this vCenter. */
  readonly own: boolean
  readonly canary: Parameters<typeof proveCanary>[2]
}): Promise<Pick<VCenterProbe, 'moref' | 'instanceUUID' | 'biosUUID' | 'privileges' | 'canary'>> {
  const { client, vCenter, vm, own } = options
  const existence = async (ask: () => Promise<VMExistence>): Promise<VMExistence> => {
    try {
      return await ask()
    } catch (error) {
      return { state: 'unknown', failure: client.failure(error) }
    }
  }
  const proof = async <P>(ask: () => Promise<P>): Promise<P | Proof> => {
    try {
      return await ask()
    } catch (error) {
      return { state: 'unproven', failure: client.failure(error) }
    }
  }
  const seen = new Map<string, SeenVM>()

  async function byMoref(): Promise<VMExistence> {
    try {
      const found = await readVM(client, vm.moref)
      seen.set(vm.moref, found)
      return { state: 'found', vm: found }
    } catch (error) {
      if (isGone(error, vmReference(vm.moref))) return { state: 'not-found' }
      throw error
    }
  }

  async function byUUID(uuid: string, kind: 'instance' | 'bios'): Promise<VMExistence> {
    if (uuid === '') return { state: 'unknown', failure: withoutUUID(vCenter) }
    const found = await searchVMs(client, uuid, kind)
    const [first] = found
    if (first === undefined) return { state: 'not-found' }
    const moref = own && found.includes(vm.moref) ? vm.moref : first
    const known = seen.get(moref) ?? (await readFound(client, moref))
    seen.set(moref, known)
    const others = found.filter((each) => each !== moref)
    return { state: 'found', vm: known, ...(others.length === 0 ? {} : { others }) }
  }

  const moref = own ? await existence(byMoref) : undefined
  const instance =
    vm.instanceUUID === '' ? undefined : await existence(() => byUUID(vm.instanceUUID, 'instance'))
  const biosUUID = await existence(() => byUUID(vm.biosUUID, 'bios'))
  const parents = own ? (vm.parents ?? []) : []
  const privileges = await proof(() => provePrivileges(client, vCenter, parents))
  const canary = await proof(() => proveCanary(client, vm, options.canary))
  return { moref, instanceUUID: instance ?? biosUUID, biosUUID, privileges, canary }
}

/** A VM that a search has found exists, whether or not it can be read. */
async function readFound(client: ProbeClient, moref: string): Promise<SeenVM> {
  try {
    return await readVM(client, moref)
  } catch (error) {
    if (!(error instanceof VCenterError)) throw error
    return {
      moref,
      name: moref,
      biosUUID: undefined,
      // As everywhere, an unknown state must look neither healthy nor shut down.
      connectionState: 'invalid',
      powerState: 'poweredOn',
      mayRestart: [`it cannot be read (${client.failure(error).reason})`],
    }
  }
}

function withoutUUID(vCenter: string): VCenterFailure {
  const message =
    'the VM was bound without a BIOS UUID, so it cannot be searched for; delete the Node by hand'
  return { vCenter, reason: 'UUIDUnknown', message }
}
