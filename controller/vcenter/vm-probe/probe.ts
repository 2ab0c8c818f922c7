/** Probes one missing VM in one vCenter: by moref, by both UUIDs, and whether an empty answer means anything. */
import type { BoundVM } from '../../../agent/shared/node-report.ts'
import type { VCenterFailure } from '../../types/vcenter-failure.ts'
import type { Proof, SeenVM, VCenterProbe, VMExistence } from '../../types/vcenter-probe.ts'
import { isGone, VCenterError } from '../wire/errors.ts'
import { vmReference } from '../wire/managed-object-reference.ts'
import { type CanaryOptions, proveCanary } from './canary.ts'
import { provePrivileges } from './privileges.ts'
import type { ProbeClient } from './probe-client.ts'
import { readVM } from './read-vm.ts'
import { searchVMs, type UUIDKind } from './search.ts'

export type ProbeFindings = Pick<
  VCenterProbe,
  'moref' | 'instanceUUID' | 'biosUUID' | 'privileges' | 'canary'
>

export interface ProbeOptions {
  readonly client: ProbeClient
  readonly vCenter: string
  readonly vm: BoundVM
  /** Whether the VM is bound to this vCenter. */
  readonly own: boolean
  readonly canary: CanaryOptions
}

/**
 * Makes the calls one after the other; each result is evidence by itself. A binding without an instance UUID is
 * searched for by BIOS UUID alone, and that result stands for both. Throws only for a defect.
 */
export async function probeVM({
  client,
  vCenter,
  vm,
  own,
  canary: options,
}: ProbeOptions): Promise<ProbeFindings> {
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

  async function byUUID(uuid: string, kind: UUIDKind): Promise<VMExistence> {
    if (uuid === '') return { state: 'unknown', failure: withoutUUID(vCenter) }
    const found = await searchVMs(client, uuid, kind)
    const [first] = found
    if (first === undefined) return { state: 'not-found' }
    const moref = own && found.includes(vm.moref) ? vm.moref : first
    const known = seen.get(moref) ?? (await readFound(client, moref))
    seen.set(moref, known)
    return { state: 'found', vm: known }
  }

  const moref = own ? await existence(byMoref) : undefined
  const instance =
    vm.instanceUUID === '' ? undefined : await existence(() => byUUID(vm.instanceUUID, 'instance'))
  const biosUUID = await existence(() => byUUID(vm.biosUUID, 'bios'))
  const parents = own ? (vm.parents ?? []) : []
  const privileges = await proof(() => provePrivileges(client, vCenter, parents))
  const canary = await proof(() => proveCanary(client, vm, options))
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
