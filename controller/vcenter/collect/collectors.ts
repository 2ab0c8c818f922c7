/** Property collectors for reads in pages: each read has one to itself for as long as it lasts. */
import type { Timings } from '../timings.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import type { SoapClient } from '../wire/soap.ts'
import { createObject, destroyObject } from './session-objects.ts'

export interface Collectors {
  /**
   * Does the work with a collector by which nobody else reads meanwhile: vCenter takes a continuation token only of the
   * collector's own previous result (vSphere API, RetrieveResult.token). They are made as they are needed, and kept.
   */
  use<T>(work: (collector: ManagedObjectReference) => Promise<T>, signal: AbortSignal): Promise<T>
  /** Gives back what this made in the session. */
  destroy(signal: AbortSignal): Promise<void>
}

export interface CollectorsOptions {
  readonly soap: SoapClient
  /** The session's own, which makes others. Small reads of one page may share it. */
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
