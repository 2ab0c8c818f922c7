/** Finds the VMs that have a BIOS UUID: few UUIDs one by one, many by reading the UUIDs of all VMs at once. */
import type { Clock } from '../../../agent/shared/clock.ts'
import { compact } from '../../lib/memory.ts'
import type { ServiceContent } from '../session/session.ts'
import type { Timings } from '../timings.ts'
import { isOfObjects, isRefusal, UnansweredError, type VCenterError } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { element, reference, type SoapClient, toReference } from '../wire/soap.ts'
import { childrenOf, type XMLElement } from '../wire/xml.ts'
import { callTwice, mayPass } from './refusals.ts'
import {
  filterSpec,
  objectSpec,
  type PropertyReader,
  propertySpec,
  traversal,
} from './retrieve-properties.ts'
import { createObject, destroyObject } from './session-objects.ts'

/** Up to this many UUIDs are searched for one by one; a sweep of a thousand VMs costs about three calls. */
const SEARCH_SINGLY = 8
/** Anything longer is not a UUID and is not kept. */
const UUID_LENGTH = 36
/** The key of a sweep in quarantine. */
const SWEEP = 'UUIDs of all VMs'

/** A view of all VMs that the account may see, one in a session: sweeps read it, and push watches it. */
export function createAllVMs(options: {
  readonly soap: SoapClient
  readonly content: ServiceContent
  readonly timings: Timings
}) {
  const { soap, content, timings } = options
  let opening: Promise<ManagedObjectReference> | undefined

  async function open(signal: AbortSignal): Promise<ManagedObjectReference> {
    const parameters =
      reference('container', content.rootFolder) +
      element('type', 'VirtualMachine') +
      element('recursive', true)
    try {
      const { viewManager } = content
      return await createObject(soap, 'CreateContainerView', viewManager, parameters, timings, signal, true)
    } catch (error) {
      opening = undefined
      throw error
    }
  }

  return {
    /** An ObjectSpec that selects them. Creates the view where there is none yet. Throws a VCenterError. */
    async select(signal: AbortSignal): Promise<string> {
      opening ??= open(signal)
      return objectSpec(await opening, true, traversal('all', 'ContainerView', 'view'))
    },
    /** Destroys the view. */
    async destroy(signal: AbortSignal): Promise<void> {
      const view = await opening?.catch(() => undefined)
      opening = undefined
      if (view !== undefined) await destroyObject(soap, 'DestroyView', view, timings, signal)
    },
  }
}

export type Located =
  /** Morefs of the VMs; `fresh` if vCenter said so just now. */
  { readonly vms: readonly string[]; readonly fresh: boolean } | { readonly error: VCenterError }

export function createLocator(options: {
  readonly soap: SoapClient
  readonly reader: PropertyReader
  readonly allVMs: ReturnType<typeof createAllVMs>
  readonly content: ServiceContent
  readonly timings: Timings
  readonly clock: Clock
}) {
  const { soap, reader, allVMs, content, timings, clock } = options
  const { quarantine } = reader
  let index: Map<string, readonly string[]> | undefined
  let indexed = -Infinity

  const isRecent = () => clock.monotonic() - indexed < timings.indexAge

  /**
   * Reads the UUIDs of all VMs. Until they are too old, later answers come from them. Undefined where vCenter refuses to list
   * them all: where some VM makes that fail, UUIDs are searched for one by one for a while.
   */
  async function sweep(signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
    if (quarantine?.held(SWEEP) !== undefined) return undefined
    try {
      return await readAll(signal)
    } catch (error) {
      if (!isOfObjects(error)) throw error
      if (error instanceof UnansweredError) quarantine?.holdCall(SWEEP, error, readAll)
      index = undefined
      indexed = clock.monotonic()
      return undefined
    }
  }

  async function readAll(signal: AbortSignal): Promise<ReadonlyMap<string, readonly string[]>> {
    // A fault tells that no view was made.
    const all = await allVMs.select(signal).catch((error: unknown) => {
      if (!isRefusal(error) || !mayPass(error)) throw error
      return allVMs.select(signal)
    })
    // Sets, because a read that had to restart reports some VMs twice.
    const found = new Map<string, Set<string>>()
    const read = () =>
      reader.read(
        [filterSpec(propertySpec('VirtualMachine', ['config.uuid']), all)],
        ({ reference: vm, properties }) => {
          const uuid = properties.get('config.uuid')?.text.toLowerCase()
          if (uuid === undefined || uuid === '' || uuid.length > UUID_LENGTH) return
          const vms = found.get(uuid)
          if (vms === undefined) found.set(uuid, new Set([vm.value]))
          else vms.add(vm.value)
        },
        signal,
      )
    await callTwice(read)
    index = new Map(Array.from(found, ([uuid, vms]) => compact([uuid, [...vms]] as const)))
    indexed = clock.monotonic()
    return index
  }

  function find(uuid: string, deadline: number, signal: AbortSignal): Promise<XMLElement> {
    return soap.call({
      // FindByUuid would silently return one of several. No datacenter: the VM may have moved.
      operation: 'FindAllByUuid',
      target: content.searchIndex,
      parameters: element('uuid', uuid) + element('vmSearch', true) + element('instanceUuid', false),
      deadline,
      ofObjects: true,
      signal,
    })
  }

  async function search(uuid: string, signal: AbortSignal): Promise<Located> {
    const held = quarantine?.held(uuid)
    if (held !== undefined) return { error: held.error.about(`VMs with the UUID ${uuid}`) }
    try {
      const response = await callTwice(() => find(uuid, timings.readDeadline, signal))
      const vms = childrenOf(response, 'returnval').flatMap((each) => toReference(each)?.value ?? [])
      return { vms, fresh: true }
    } catch (error) {
      if (!isOfObjects(error)) throw error
      if (!(error instanceof UnansweredError)) return { error }
      quarantine?.holdCall(uuid, error, (signal) => find(uuid, timings.callDeadline, signal))
      return { error: error.about(`VMs with the UUID ${uuid}`) }
    }
  }

  return {
    /**
     * Answers for the UUIDs (lower case), or only for some: the others must be located again. Throws when vCenter fails as a
     * whole.
     */
    async locate(uuids: readonly string[], signal: AbortSignal): Promise<Map<string, Located>> {
      const recent = isRecent()
      const known = recent ? index : undefined
      const located = new Map<string, Located>()
      const unknown: string[] = []
      for (const uuid of uuids) {
        const vms = known?.get(uuid)
        if (vms === undefined) unknown.push(uuid)
        else located.set(uuid, { vms, fresh: false })
      }
      // Nodes that keep changing their UUIDs must not cause one sweep after the other.
      const found = unknown.length > SEARCH_SINGLY && !recent ? await sweep(signal) : undefined
      if (found !== undefined) {
        for (const uuid of unknown) located.set(uuid, { vms: found.get(uuid) ?? [], fresh: true })
      } else {
        const some = unknown.slice(0, SEARCH_SINGLY)
        const answers = await Promise.all(some.map((uuid) => search(uuid, signal)))
        for (const [i, uuid] of some.entries()) {
          const answer = answers[i]
          if (answer !== undefined) located.set(uuid, answer)
        }
      }
      return located
    },
    sweep,
    /** Marks UUIDs as doubtful: they are no longer answered from the last sweep. */
    forget(uuids: Iterable<string>): void {
      for (const uuid of uuids) index?.delete(uuid)
    },
    /** Drops the last sweep where it is too old to answer: it has the UUIDs of all VMs, not only of Nodes. */
    dropOld(): void {
      if (!isRecent()) index = undefined
    },
  }
}
