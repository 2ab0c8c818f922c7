/** Reads VMs, and the objects above them, by moref. */

import { refusalOf, refused } from '../cache/unreadable.ts'
import {
  hasAllCards,
  READ_PATHS,
  READ_PATHS_WITH_DEVICES,
  readMachine,
  type VMProperties,
} from '../cache/vm-properties.ts'
import { SoapFault, type VCenterError } from '../wire/errors.ts'
import { keyOf, type ManagedObjectReference } from '../wire/managed-object-reference.ts'
import type { ObjectContent } from './object-content.ts'
import { lenientFilterSpec, objectSpec, type PropertyReader, propertySpec } from './properties.ts'

/** Objects per request; each takes about 150 bytes. */
const BATCH = 1_000
/** How many objects may fail a call, one after the other, before the call itself counts as failed. */
const MAX_REFUSALS = 8

export interface UnreadObjects {
  /** By key: named by a ManagedObjectNotFound. */
  readonly gone: ReadonlySet<string>
  /** By key: refused or unreadable, with the reason. */
  readonly denied: ReadonlyMap<string, VCenterError>
}

/**
 * Reads these VMs; `known` returns the present state of a VM. A VM in none of the results was silently left out by vCenter.
 */
export async function readMachines(
  reader: PropertyReader,
  vms: readonly string[],
  known: (vm: string) => VMProperties | undefined,
  signal: AbortSignal,
): Promise<UnreadObjects & { readonly machines: ReadonlyMap<string, VMProperties> }> {
  const machines = new Map<string, VMProperties>()
  const gone = new Set<string>()
  const denied = new Map<string, VCenterError>()

  /** Returns the VMs whose network cards were not all among the properties. */
  async function readAll(some: readonly string[], withDevices: boolean): Promise<string[]> {
    const properties = propertySpec('VirtualMachine', withDevices ? READ_PATHS_WITH_DEVICES : READ_PATHS)
    const incomplete = new Set<string>()
    const refusals = await readObjects(
      reader,
      some.map(toVM),
      (objects) => [lenientFilterSpec(properties, objects.map((each) => objectSpec(each)).join(''))],
      // Parsed at once: a VM's XML is a hundred times larger.
      (object) => {
        const { reference, excess } = object
        const before = known(reference.value)
        const refusal = excess ?? refusalOf(object, before)
        if (refusal !== undefined) {
          if (isNotFound(refusal)) gone.add(keyOf(reference))
          else denied.set(keyOf(reference), refusal)
        } else if (withDevices || hasAllCards(object.properties)) {
          machines.set(reference.value, toMachine(object, before))
        } else incomplete.add(reference.value)
      },
      signal,
    )
    for (const key of refusals.gone) gone.add(key)
    for (const vm of some) {
      const key = keyOf(toVM(vm))
      const fault = refusals.denied.get(key)
      if (fault !== undefined) denied.set(key, refused(fault, 'anything', vm, known(vm)?.name))
    }
    return [...incomplete]
  }

  const incomplete = await readAll(vms, false).catch((error: unknown) => {
    // A server that does not know keyed paths fails the whole call.
    if (error instanceof SoapFault && error.fault === 'InvalidProperty') return vms
    throw error
  })
  if (incomplete.length > 0) await readAll(incomplete, true)
  return { machines, gone, denied }
}

/** The VM that an answer describes; it must not be refused, see {@link refusalOf}. */
export function toMachine(
  { reference, properties, missing }: ObjectContent,
  before: VMProperties | undefined,
): VMProperties {
  return readMachine(reference.value, properties, before, [...missing.keys()])
}

function toVM(value: string): ManagedObjectReference {
  return { type: 'VirtualMachine', value }
}

function isNotFound(error: VCenterError): boolean {
  return error instanceof SoapFault && error.fault === 'ManagedObjectNotFound'
}

/**
 * Reads what `specs` selects for these objects. If a fault names one of them, the others are read without it.
 */
export async function readObjects(
  reader: PropertyReader,
  objects: readonly ManagedObjectReference[],
  specs: (objects: readonly ManagedObjectReference[]) => readonly string[],
  take: (object: ObjectContent) => void,
  signal: AbortSignal,
): Promise<{ readonly gone: ReadonlySet<string>; readonly denied: ReadonlyMap<string, SoapFault> }> {
  const gone = new Set<string>()
  const denied = new Map<string, SoapFault>()
  for (let i = 0; i < objects.length; i += BATCH) {
    let left = objects.slice(i, i + BATCH)
    for (let refusals = 0; left.length > 0; refusals++) {
      try {
        await reader.read(specs(left), take, signal)
        break
      } catch (error) {
        const culprit = culpritOf(error, left)
        if (culprit === undefined || !(error instanceof SoapFault) || refusals >= MAX_REFUSALS) throw error
        if (error.fault === 'NoPermission') denied.set(culprit, error)
        else gone.add(culprit)
        left = left.filter((each) => keyOf(each) !== culprit)
      }
    }
  }
  return { gone, denied }
}

function culpritOf(error: unknown, objects: readonly ManagedObjectReference[]): string | undefined {
  if (!(error instanceof SoapFault) || error.object === undefined) return undefined
  if (error.fault !== 'NoPermission' && error.fault !== 'ManagedObjectNotFound') return undefined
  const key = keyOf(error.object)
  return objects.some((each) => keyOf(each) === key) ? key : undefined
}
