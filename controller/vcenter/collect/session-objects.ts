/** Objects that live in our session: collectors, filters, views. */
import type { Timings } from '../timings.ts'
import { malformed, SoapFault, wasTurnedAway } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { type SoapClient, toReference } from '../wire/soap.ts'
import { child } from '../wire/xml.ts'

/** Creates an object; `ofObjects` where what it is made of may keep that from being answered. Throws a VCenterError. */
export async function createObject(
  soap: SoapClient,
  operation: string,
  target: ManagedObjectReference,
  parameters: string,
  { readDeadline: deadline }: Timings,
  signal: AbortSignal,
  ofObjects = false,
): Promise<ManagedObjectReference> {
  const response = await soap.call({ operation, target, parameters, deadline, ofObjects, signal })
  const made = toReference(child(response, 'returnval'))
  if (made !== undefined) return made
  throw malformed(`vCenter answers to ${operation} without naming the object it made`)
}

/** Operations that create an object which lives until it is destroyed by name; a filter ends with its collector. */
const MAKING: ReadonlySet<string> = new Set([
  'CreateListView',
  'CreateContainerView',
  'CreatePropertyCollector',
])

/**
 * A client that notes when vCenter may have created an object whose name is unknown, because the answer was lost. Such an object
 * lives until its session ends. What `note` throws is thrown instead of the call's own error.
 */
export function createNotingSoap(soap: SoapClient, note: () => void): SoapClient {
  return {
    ...soap,
    async call(call) {
      try {
        return await soap.call(call)
      } catch (error) {
        // These tell that nothing was made.
        const isAnswer = error instanceof SoapFault || wasTurnedAway(error)
        if (MAKING.has(call.operation) && !isAnswer) note()
        throw error
      }
    },
  }
}

/** Destroys an object, if it still exists. Throws a VCenterError. */
export async function destroyObject(
  soap: SoapClient,
  operation: string,
  target: ManagedObjectReference,
  { readDeadline: deadline }: Timings,
  signal: AbortSignal,
): Promise<void> {
  try {
    await soap.call({ operation, target, deadline, signal })
  } catch (error) {
    if (!(error instanceof SoapFault && error.fault === 'ManagedObjectNotFound')) throw error
  }
}

/** Property collectors for paged reads: each read has one to itself while it lasts. */
export interface Collectors {
  /**
   * Works with a collector that nobody else uses meanwhile: vCenter accepts a continuation token only from the collector's
   * own previous result (vSphere API, RetrieveResult.token). Collectors are created as needed and reused.
   */
  use<T>(work: (collector: ManagedObjectReference) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Destroys what this created in the session. */
  destroy(signal: AbortSignal): Promise<void>
}

/** `propertyCollector` is the session's own, which creates others. Small reads of one page may share it. */
export function createCollectors(options: {
  readonly soap: SoapClient
  readonly propertyCollector: ManagedObjectReference
  readonly timings: Timings
}): Collectors {
  const { soap, propertyCollector, timings } = options
  const free: ManagedObjectReference[] = []

  return {
    async use(work, signal) {
      const collector =
        free.pop() ??
        (await createObject(soap, 'CreatePropertyCollector', propertyCollector, '', timings, signal))
      try {
        return await work(collector)
      } finally {
        free.push(collector)
      }
    },
    async destroy(signal) {
      for (const collector of free.splice(0)) {
        await destroyObject(soap, 'DestroyPropertyCollector', collector, timings, signal)
      }
    },
  }
}
