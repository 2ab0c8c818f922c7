import { failed, ok, type Result } from '../../../agent/shared/result.ts'
import { readNumber } from '../properties/property-values.ts'
import { SoapFault } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { child, textOf } from '../wire/xml.ts'
import { filterSpec, objectSpec, type PropertyReader, propertySpec } from './retrieve-properties.ts'

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
