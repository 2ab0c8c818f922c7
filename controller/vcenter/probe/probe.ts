/** All questions about one VM that is missed, one after the other: each answer is evidence by itself. */
import type { BoundVM } from '../../../agent/contract.ts'
import type { VCenterFailure } from '../../types/vcenter-failure.ts'
import type { Finding, Proof, SeenVM, VCenterProbe } from '../../types/vcenter-probe.ts'
import { VCenterError } from '../wire/errors.ts'
import { type CanaryOptions, proveCanary } from './canary.ts'
import type { Line } from './line.ts'
import { provePrivileges } from './privileges.ts'
import { isGone, readVM, vmReference } from './read-vm.ts'
import { searchVMs, type UUIDKind } from './search.ts'

export type ProbeFindings = Pick<
  VCenterProbe,
  'moref' | 'instanceUUID' | 'biosUUID' | 'privileges' | 'canary'
>

export interface ProbeOptions {
  readonly line: Line
  readonly vCenter: string
  readonly vm: BoundVM
  /** Whether the VM is bound to this vCenter. */
  readonly own: boolean
  readonly canary: CanaryOptions
}

/**
 * Asks them. A binding without an instance UUID leaves that question out: what the search by BIOS UUID answers stands
 * for both. Throws only for a defect.
 */
export async function askAll({
  line,
  vCenter,
  vm,
  own,
  canary: options,
}: ProbeOptions): Promise<ProbeFindings> {
  const finding = async (ask: () => Promise<Finding>): Promise<Finding> => {
    try {
      return await ask()
    } catch (error) {
      return { state: 'unknown', failure: line.failure(error) }
    }
  }
  const proof = async <P>(ask: () => Promise<P>): Promise<P | Proof> => {
    try {
      return await ask()
    } catch (error) {
      return { state: 'unproven', failure: line.failure(error) }
    }
  }
  const seen = new Map<string, SeenVM>()

  async function byMoref(): Promise<Finding> {
    try {
      const found = await readVM(line, vm.moref)
      seen.set(vm.moref, found)
      return { state: 'found', vm: found }
    } catch (error) {
      if (isGone(error, vmReference(vm.moref))) return { state: 'not-found' }
      throw error
    }
  }

  async function byUUID(uuid: string, kind: UUIDKind): Promise<Finding> {
    if (uuid === '') return { state: 'unknown', failure: withoutUUID(vCenter) }
    const found = await searchVMs(line, uuid, kind)
    const [first] = found
    if (first === undefined) return { state: 'not-found' }
    const moref = own && found.includes(vm.moref) ? vm.moref : first
    const known = seen.get(moref) ?? (await readFound(line, moref))
    seen.set(moref, known)
    return { state: 'found', vm: known }
  }

  const moref = own ? await finding(byMoref) : undefined
  const instance =
    vm.instanceUUID === '' ? undefined : await finding(() => byUUID(vm.instanceUUID, 'instance'))
  const biosUUID = await finding(() => byUUID(vm.biosUUID, 'bios'))
  const parents = own ? (vm.parents ?? []) : []
  const privileges = await proof(() => provePrivileges(line, vCenter, parents))
  const canary = await proof(() => proveCanary(line, vm, options))
  return { moref, instanceUUID: instance ?? biosUUID, biosUUID, privileges, canary }
}

/** A VM that a search has found exists, whether or not more can be learnt of it. */
async function readFound(line: Line, moref: string): Promise<SeenVM> {
  try {
    return await readVM(line, moref)
  } catch (error) {
    if (!(error instanceof VCenterError)) throw error
    return {
      moref,
      name: moref,
      biosUUID: undefined,
      // As everywhere: what cannot be told looks neither healthy nor shut down.
      connectionState: 'invalid',
      powerState: 'poweredOn',
      mayRestart: [`it cannot be read (${line.failure(error).reason})`],
    }
  }
}

function withoutUUID(vCenter: string): VCenterFailure {
  const message =
    'the VM was bound without a BIOS UUID, so that it cannot be searched for, delete the Node by hand'
  return { vCenter, reason: 'UUIDUnknown', message }
}
