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

/** Where more VMs than these have made polls fail in one connection, it is vCenter that does not push. */
export const MOST_CULPRITS = 16
/** VMs that are tried at once. */
const BATCH = 1_000
/** Objects per answer. */
const AT_ONCE = 500
/** Of one trial. */
const MAX_PAGES = 1_000

/** Polls in collectors of their own, one after the other. They must not run beside another poll: vCenter may lose its changes. */
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

  async function destroy(signal: AbortSignal): Promise<void> {
    for (const collector of collectors) {
      await destroyObject(soap, 'DestroyPropertyCollector', collector, timings, signal)
      collectors.delete(collector)
    }
  }

  /** Has vCenter tell all that the filters of this collector select. */
  async function pollAll(
    target: ManagedObjectReference,
    deadline: number,
    signal: AbortSignal,
  ): Promise<void> {
    let version: string | undefined = ''
    for (let page = 0; page < MAX_PAGES && version !== undefined; page++) {
      const response = await soap.call({
        operation: 'WaitForUpdatesEx',
        target,
        parameters:
          element('version', version) +
          `<options>${element('maxWaitSeconds', 0)}${element('maxObjectUpdates', AT_ONCE)}</options>`,
        deadline,
        ofObjects: true,
        records: { name: 'objectSet', depth: UPDATE_DEPTH, take: () => undefined },
        signal,
      })
      const set = child(response, 'returnval')
      version = textOf(set, 'truncated') === 'true' ? textOf(set, 'version') : undefined
    }
  }

  return {
    /** Polls what these filters select, with this deadline for each page. Throws a VCenterError, in most cases that of the poll. */
    async poll(
      makeFilters: (collector: ManagedObjectReference, signal: AbortSignal) => Promise<unknown>,
      deadline: number,
      signal: AbortSignal,
    ): Promise<void> {
      const destroyAll = () => destroy(signal).catch((error: unknown) => aloneOrThrow(error, alive, signal))
      await destroyAll()
      const { propertyCollector: own } = content
      const made = await createObject(soap, 'CreatePropertyCollector', own, '', timings, signal, true)
      collectors.add(made)
      try {
        await makeFilters(made, signal)
        await pollAll(made, deadline, signal)
      } finally {
        await destroyAll()
      }
    },
    /** Destroys what this created in the session. */
    destroy,
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
 * Finds what makes each poll fail with a fault; undefined where a poll for nothing fails too, or nothing is found. Of many members
 * not all may be found: then the next poll fails again. Throws a VCenterError where vCenter fails as a whole.
 */
export async function findCulprits(
  members: readonly string[],
  polls: {
    readonly nothing: () => Promise<void>
    readonly members: (vms: readonly string[]) => Promise<void>
    /** Undefined where they are not watched. */
    readonly allUUIDs: (() => Promise<void>) | undefined
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
  const allUUIDs = polls.allUUIDs && (await faultOf(polls.allUUIDs))
  return vms.size === 0 && allUUIDs === undefined ? undefined : { vms, allUUIDs }
}

/**
 * A trial as quarantine asks for it: a fault does not count as an answer, unless it tells that the VM is gone. Throws an
 * UnansweredError then.
 */
export async function tryAgain(poll: () => Promise<void>, vm?: string): Promise<void> {
  const fault = await faultOf(poll)
  if (fault === undefined || (vm !== undefined && isGone(fault, vmReference(vm)))) return
  throw new UnansweredError(fault)
}

async function faultOf(poll: () => Promise<void>): Promise<SoapFault | undefined> {
  try {
    await callTwice(poll)
    return undefined
  } catch (error) {
    if (!isRefusal(error)) throw error
    return error
  }
}
