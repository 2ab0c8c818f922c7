/** A view of all VMs that the account may see, one in a session: sweeps read it, and push watches it. */
import type { ServiceContent } from '../session/session.ts'
import type { Timings } from '../timings.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { element, reference, type SoapClient } from '../wire/soap.ts'
import { objectSpec, traversal } from './retrieve-properties.ts'
import { createObject, destroyObject } from './session-objects.ts'

export interface AllVMs {
  /** An ObjectSpec that selects them. Creates the view where there is none yet. Throws a VCenterError. */
  select(signal: AbortSignal): Promise<string>
  /** Destroys the view. */
  destroy(signal: AbortSignal): Promise<void>
}

export interface AllVMsOptions {
  readonly soap: SoapClient
  readonly content: ServiceContent
  readonly timings: Timings
}

export function createAllVMs({ soap, content, timings }: AllVMsOptions): AllVMs {
  let opening: Promise<ManagedObjectReference> | undefined

  async function open(signal: AbortSignal): Promise<ManagedObjectReference> {
    const parameters =
      reference('container', content.rootFolder) +
      element('type', 'VirtualMachine') +
      element('recursive', true)
    try {
      return await createObject(soap, 'CreateContainerView', content.viewManager, parameters, timings, signal)
    } catch (error) {
      opening = undefined
      throw error
    }
  }

  return {
    async select(signal) {
      opening ??= open(signal)
      return objectSpec(await opening, true, traversal('all', 'ContainerView', 'view'))
    },
    async destroy(signal) {
      const view = await opening?.catch(() => undefined)
      opening = undefined
      if (view !== undefined) await destroyObject(soap, 'DestroyView', view, timings, signal)
    },
  }
}
