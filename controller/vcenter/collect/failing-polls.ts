/** What makes each poll fail although vCenter is well: single VMs, or the watch of all. Found by polls in collectors of their own. */
import type { ServiceContent } from '../session/session.ts'
import type { Timings } from '../timings.ts'
import { aloneOrThrow, isGone, isRefusal, type SoapFault, UnansweredError } from '../wire/errors.ts'
import { type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import { element, type SoapClient } from '../wire/soap.ts'
import { child, textOf } from '../wire/xml.ts'
import { UPDATE_DEPTH } from './read-updates.ts'
import { callTwice, callWithoutRefused } from './refusals.ts'
import { createObject, destroyObject } from './session-objects.ts'

/** Where more VMs than these make polls fail, it is vCenter that does not push. */
const MOST = 16
/** VMs that are tried at once. */
const BATCH = 1_000
/** Objects per answer. */
const AT_ONCE = 500

/** Makes filters in this collector. */
type MakeFilters = (collector: ManagedObjectReference, signal: AbortSignal) => Promise<unknown>

/** Polls beside what runs, once each. */
export function createTrialPolls(options: {
  readonly soap: SoapClient
  readonly content: Pick<ServiceContent, 'propertyCollector'>
  /** Throws where the session has ended. */
  readonly alive: (signal: AbortSignal) => Promise<void>
  readonly timings: Timings
}) {
  const { soap, content, alive, timings } = options
  /** Collectors that still exist. */
  const collectors = new Set<ManagedObjectReference>()

  async function end(collector: ManagedObjectReference, signal: AbortSignal): Promise<void> {
    await destroyObject(soap, 'DestroyPropertyCollector', collector, timings, signal)
    collectors.delete(collector)
  }

  /** Has vCenter tell all that the filters of this collector select. */
  async function pollAll(target: ManagedObjectReference, signal: AbortSignal): Promise<void> {
    let version = ''
    for (;;) {
      const response = await soap.call({
        operation: 'WaitForUpdatesEx',
        target,
        parameters:
          element('version', version) +
          `<options>${element('maxWaitSeconds', 0)}${element('maxObjectUpdates', AT_ONCE)}</options>`,
        deadline: timings.readDeadline,
        ofObjects: true,
        records: { name: 'objectSet', depth: UPDATE_DEPTH, take: () => undefined },
        signal,
      })
      const set = child(response, 'returnval')
      const next = textOf(set, 'version')
      if (textOf(set, 'truncated') !== 'true' || next === undefined || next === version) return
      version = next
    }
  }

  return {
    /** Polls what these filters select. Throws a VCenterError, in most cases that of the poll. */
    async poll(makeFilters: MakeFilters, signal: AbortSignal): Promise<void> {
      const { propertyCollector: own } = content
      const made = await createObject(soap, 'CreatePropertyCollector', own, '', timings, signal, true)
      collectors.add(made)
      try {
        await makeFilters(made, signal)
        await pollAll(made, signal)
      } finally {
        await end(made, signal).catch((error: unknown) => aloneOrThrow(error, alive, signal))
      }
    },
    /** Destroys what this created in the session. */
    async destroy(signal: AbortSignal): Promise<void> {
      for (const collector of collectors) await end(collector, signal)
    },
  }
}

/** Why polls fail. */
export interface Culprits {
  /** By moref. */
  readonly vms: ReadonlyMap<string, SoapFault>
  /** The fault of a watch of all UUIDs. */
  readonly allUUIDs: SoapFault | undefined
}

/**
 * Finds what makes each poll fail with a fault; undefined where a poll for nothing fails too, nothing is found, or VMs are too
 * many. Of many members not all may be found: then the next poll fails again. Throws a VCenterError where vCenter fails as a whole.
 */
export async function findCulprits(
  members: readonly string[],
  polls: {
    readonly nothing: () => Promise<void>
    readonly members: (vms: readonly string[]) => Promise<void>
    readonly allUUIDs: () => Promise<void>
  },
): Promise<Culprits | undefined> {
  if ((await faultOf(polls.nothing)) !== undefined) return undefined
  const groups: (readonly string[])[] = []
  for (let i = 0; i < members.length; i += BATCH) groups.push(members.slice(i, i + BATCH))
  const vms = new Map<string, SoapFault>()
  await callWithoutRefused({
    groups,
    objectOf: vmReference,
    call: polls.members,
    onRefused(vm, fault) {
      if (!isGone(fault, vmReference(vm))) vms.set(vm, fault)
    },
  })
  const allUUIDs = await faultOf(polls.allUUIDs)
  return vms.size > MOST || (vms.size === 0 && allUUIDs === undefined) ? undefined : { vms, allUUIDs }
}

/** A trial as quarantine asks for it: a fault does not count as an answer. Throws an UnansweredError then. */
export async function tryAgain(poll: () => Promise<void>): Promise<void> {
  const fault = await faultOf(poll)
  if (fault !== undefined) throw new UnansweredError(fault)
}

async function faultOf(poll: () => Promise<void>): Promise<SoapFault | undefined> {
  try {
    return await callTwice(poll).then(() => undefined)
  } catch (error) {
    if (!isRefusal(error)) throw error
    return error
  }
}
