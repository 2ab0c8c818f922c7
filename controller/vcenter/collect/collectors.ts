/** Property collectors for paged reads: each read has one to itself while it lasts. */
import type { Timings } from '../timings.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import type { SoapClient } from '../wire/soap.ts'
import { createObject, destroyObject } from './session-objects.ts'

export interface Collectors {
  /**
   * Works with a collector that nobody else uses meanwhile: vCenter accepts a continuation token only from the collector's
   * own previous result (vSphere API, RetrieveResult.token). Collectors are created as needed and reused.
   */
  use<T>(work: (collector: ManagedObjectReference) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Destroys what this created in the session. */
  destroy(signal: AbortSignal): Promise<void>
}

export interface CollectorsOptions {
  readonly soap: SoapClient
  /** The session's own, which creates others. Small reads of one page may share it. */
  readonly propertyCollector: ManagedObjectReference
  readonly timings: Timings
}

export function createCollectors({ soap, propertyCollector, timings }: CollectorsOptions): Collectors {
  const free: ManagedObjectReference[] = []

  const create = (signal: AbortSignal) =>
    createObject(soap, 'CreatePropertyCollector', propertyCollector, '', timings, signal)

  return {
    async use(work, signal) {
      const collector = free.pop() ?? (await create(signal))
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
