/** One object in an answer of the PropertyCollector: its properties, and those that may not be read. */
import { type SoapFault, VCenterError } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { readFaultDetail, toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'

/** One object's properties, as far as they are set and may be read. */
export interface ObjectContent {
  readonly reference: ManagedObjectReference
  readonly properties: ReadonlyMap<string, XMLElement>
  /** Why other properties could not be read, by path: usually NoPermission. */
  readonly missing: ReadonlyMap<string, SoapFault>
  /** Set where properties are missing because they are too large. */
  readonly excess: VCenterError | undefined
}

/** Parses one `ObjectContent`. Throws a VCenterError. */
export function readObject(record: XMLElement, whole = true): ObjectContent {
  const object = toReference(child(record, 'obj'))
  if (object === undefined) {
    throw new VCenterError('MalformedAnswer', 'vCenter answers with properties of an object without a name')
  }
  const properties = new Map<string, XMLElement>()
  for (const property of childrenOf(record, 'propSet')) {
    const name = textOf(property, 'name')
    const value = child(property, 'val')
    if (name !== undefined && value !== undefined) properties.set(name, value)
  }
  return {
    reference: object,
    properties,
    missing: readMissing(record),
    excess: whole ? undefined : tooLarge(object),
  }
}

function tooLarge({ type, value }: ManagedObjectReference): VCenterError {
  return new VCenterError(
    'MalformedAnswer',
    `the properties of ${type} ${value} are too large to be read; check what its guest reports`,
  )
}

/**
 * Why properties are missing, by path. Throws NotAuthenticated: without a session vCenter may answer normally and name that
 * fault for each property.
 */
export function readMissing(record: XMLElement): ReadonlyMap<string, SoapFault> {
  const faults = new Map<string, SoapFault>()
  for (const missing of childrenOf(record, 'missingSet')) {
    const outer = child(missing, 'fault')
    const fault = readFaultDetail(child(outer, 'fault'), textOf(outer, 'localizedMessage'))
    if (fault === undefined) continue
    if (fault.fault === 'NotAuthenticated') throw fault
    faults.set(textOf(missing, 'path') ?? '', fault)
  }
  return faults
}
