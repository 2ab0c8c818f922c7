/** Objects that live in our session: collectors, filters, views. */
import type { Timings } from '../timings.ts'
import { SoapFault, VCenterError } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { type SoapClient, toReference } from '../wire/soap.ts'
import { child } from '../wire/xml.ts'

/** Creates an object. Throws a VCenterError. */
export async function createObject(
  soap: SoapClient,
  operation: string,
  target: ManagedObjectReference,
  parameters: string,
  { callDeadline: deadline }: Timings,
  signal: AbortSignal,
): Promise<ManagedObjectReference> {
  const response = await soap.call({ operation, target, parameters, deadline, signal })
  const made = toReference(child(response, 'returnval'))
  if (made !== undefined) return made
  throw new VCenterError(
    'MalformedAnswer',
    `vCenter answers to ${operation} without naming the object it made`,
  )
}

/** Destroys an object, if it still exists. Throws a VCenterError. */
export async function destroyObject(
  soap: SoapClient,
  operation: string,
  target: ManagedObjectReference,
  { callDeadline: deadline }: Timings,
  signal: AbortSignal,
): Promise<void> {
  try {
    await soap.call({ operation, target, deadline, signal })
  } catch (error) {
    if (!(error instanceof SoapFault && error.fault === 'ManagedObjectNotFound')) throw error
  }
}
