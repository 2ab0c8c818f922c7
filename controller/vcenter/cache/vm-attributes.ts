import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { AttributeValues, VirtualMachine } from '../../types/virtual-machine.ts'
import { filterSpec, objectSpec, type PropertyReader, propertySpec } from '../collect/retrieve-properties.ts'
import { CUSTOM_VALUES_PATH, readNumber } from '../properties/property-values.ts'
import type { VMProperties } from '../properties/resync-properties.ts'
import { aloneOrThrow, SoapFault } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { child, textOf } from '../wire/xml.ts'

/** Joins the custom attributes of VMs, which vCenter pushes by key, with their names. */
export interface VMAttributes {
  /** Takes the names by key as they were read, or why they could not be: those that are known stay. */
  define(names: Result<ReadonlyMap<number, string>>): void
  /** Another vCenter answers from now on: it has other names. */
  forgetAll(): void
  of(machine: VMProperties): Pick<VirtualMachine, 'attributes'>
}

const NOT_READ = failed('the names of custom attributes are not read yet')

/** @param wanted the names of those that are of interest */
export function createVMAttributes(wanted: ReadonlySet<string>): VMAttributes {
  let names: Result<ReadonlyMap<number, string>> = NOT_READ

  function valuesOf(name: string, { customValues, unreadable }: VMProperties): AttributeValues {
    if (!names.ok) return { unread: names.message }
    const keys = [...names.value].flatMap(([key, each]) => (each === name ? key : []))
    if (keys.length === 0)
      return {
        unread: `vCenter shows no custom attribute "${name}" for VMs: create it under "Tags & Custom Attributes", or correct the name`,
      }
    if (unreadable.includes(CUSTOM_VALUES_PATH))
      return { unread: 'the account is not allowed to read the custom attributes of the VM' }
    return { values: customValues.flatMap(({ key, value }) => (keys.includes(key) ? value : [])) }
  }

  return {
    define(read) {
      if (read.ok || !names.ok) names = read
    },
    forgetAll() {
      names = NOT_READ
    },
    of: (machine) => ({
      attributes: new Map(Array.from(wanted, (name) => [name, valuesOf(name, machine)])),
    }),
  }
}

/** The names of the custom attributes that VMs may have, by key. A refusal is one of them alone: only a failure of vCenter throws. */
export async function readAttributeNames(
  reader: PropertyReader,
  manager: ManagedObjectReference | undefined,
  signal: AbortSignal,
): Promise<Result<ReadonlyMap<number, string>>> {
  if (manager === undefined) return failed('this vCenter has no custom attributes')
  const names = new Map<number, string>()
  let refusal: string | undefined
  try {
    await reader.read(
      [filterSpec(propertySpec('CustomFieldsManager', ['field']), objectSpec(manager))],
      ({ properties, missing }) => {
        refusal = missing.get('field')?.message
        for (const field of properties.get('field')?.children ?? []) {
          const [key, name] = [readNumber(child(field, 'key')), textOf(field, 'name')]
          const type = textOf(field, 'managedObjectType')
          const isOfVMs = type === undefined || type === 'VirtualMachine' || type === 'ManagedEntity'
          if (key !== undefined && name !== undefined && isOfVMs) names.set(key, name)
        }
      },
      signal,
    )
  } catch (error) {
    if (!(error instanceof SoapFault) || error.reason === 'SessionLost') throw error
    refusal = error.message
  }
  return refusal === undefined
    ? ok(names)
    : failed(
        `the names of custom attributes cannot be read: ${refusal}; give the account Read-only on the root folder`,
      )
}

/** Reads them for the attributes; where that fails although vCenter is `alive`, the attributes tell it. Throws where vCenter fails. */
export async function defineAttributes(
  attributes: VMAttributes,
  reader: PropertyReader,
  manager: ManagedObjectReference | undefined,
  alive: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  try {
    attributes.define(await readAttributeNames(reader, manager, signal))
  } catch (error) {
    const { message } = await aloneOrThrow(error, alive, signal)
    attributes.define(failed(`the names of custom attributes cannot be read: ${message}`))
  }
}
