/**
 * Push: one collector, the long poll for its changes, and two filters. One watches the members of a ListView; the other the
 * BIOS UUIDs of all VMs, because one of them may take that of a member at any time.
 */
import type { Clock } from '../../../agent/shared/clock.ts'
import { createTurns } from '../../lib/turns.ts'
import { withoutKeys } from '../properties/property-values.ts'
import type { ServiceContent } from '../session/session.ts'
import type { Timings } from '../timings.ts'
import {
  fewerThan,
  isInvalidProperty,
  isRebuild,
  isRefusal,
  SoapFault,
  TooLongError,
  UnansweredError,
  VCenterError,
} from '../wire/errors.ts'
import { type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import { element, type SoapClient, toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf } from '../wire/xml.ts'
import { createTrialPolls, findCulprits, MOST_CULPRITS, tryAgain } from './failing-polls.ts'
import type { createAllVMs } from './locate.ts'
import { createPollPace, type PollWait } from './pace.ts'
import {
  knownPaths,
  readSightings,
  readUpdate,
  type Sighting,
  UPDATE_DEPTH,
  type Update,
  UUID_PATH,
} from './read-updates.ts'
import { mayPass } from './refusals.ts'
import {
  filterSpec,
  objectSpec,
  propertySpec,
  readMissing,
  strayIn,
  traversal,
} from './retrieve-properties.ts'
import { createObject, destroyObject } from './session-objects.ts'

/** Objects per answer; vCenter may send fewer and then sets `truncated`. */
const MAX_OBJECT_UPDATES = 500

/** What one answer tells. */
export interface PushedChanges {
  readonly updates: readonly Update[]
  /** VMs with their BIOS UUIDs (lower case): each has appeared, or its UUID has changed, or the watch has begun. */
  readonly sightings: readonly Sighting[]
  /** VMs that are no longer shown, whether or not they are members: destroyed, unregistered, or no longer readable. */
  readonly gone: readonly string[]
}

/** The members of the list view that is watched. */
export interface WatchedMembers {
  all(): readonly string[]
  /** Takes one off for which vCenter fails all polls. It may be added again once `tryOut` no longer throws an UnansweredError. */
  exclude(
    vm: string,
    fault: SoapFault,
    tryOut: (signal: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ): Promise<void>
}

/** A property collector with its filter on the UUIDs of all VMs; that is undefined where vCenter refuses it. */
interface Collector {
  readonly reference: ManagedObjectReference
  readonly allUUIDs: ManagedObjectReference | undefined
}

export function createUpdates(options: {
  readonly soap: SoapClient
  readonly content: ServiceContent
  /** Properties of VirtualMachine to watch. Few: for some servers the cost is events x members x properties. */
  readonly paths: readonly string[]
  /** Those whose UUIDs are watched. */
  readonly allVMs: ReturnType<typeof createAllVMs>
  /** Called where vCenter refuses to watch them, does not answer that, or fails polls because of it. */
  readonly onUnwatched: (error: SoapFault | UnansweredError) => void
  /** Called when changes may have been lost: a poll met a fault and is repeated, or all is told anew. */
  readonly onLost: () => void
  /** Throws where the session has ended. */
  readonly alive: (signal: AbortSignal) => Promise<void>
  readonly pollWait: PollWait
  readonly timings: Timings
  readonly clock: Clock
}) {
  const { soap, content, paths, allVMs, onUnwatched, onLost, alive, pollWait, timings, clock } = options
  const known = knownPaths(paths)
  let listView: ManagedObjectReference | undefined
  let collector: ManagedObjectReference | undefined
  const trials = createTrialPolls({ soap, content, alive, timings })
  const turns = createTurns()

  const create = (
    operation: string,
    target: ManagedObjectReference,
    parameters: string,
    signal: AbortSignal,
    ofObjects = false,
  ) => createObject(soap, operation, target, parameters, timings, signal, ofObjects)

  const createFilter = (
    target: ManagedObjectReference,
    spec: string,
    signal: AbortSignal,
    ofObjects = false,
  ) =>
    create(
      'CreateFilter',
      target,
      `<spec>${spec}</spec>${element('partialUpdates', false)}`,
      signal,
      ofObjects,
    )

  async function openCollector(
    list: ManagedObjectReference,
    signal: AbortSignal,
  ): Promise<ManagedObjectReference> {
    const members = objectSpec(list, true, traversal('members', 'ListView', 'view'))
    const made = await create('CreatePropertyCollector', content.propertyCollector, '', signal)
    collector = made
    await filterVMs(made, members, signal).catch((error: unknown) => {
      throw isRefusal(error) ? withoutPush(error) : error
    })
    return made
  }

  /** Watches the VMs that this selects. */
  async function filterVMs(
    target: ManagedObjectReference,
    objects: string,
    signal: AbortSignal,
    ofObjects = false,
  ): Promise<ManagedObjectReference> {
    const filter = (paths: readonly string[]) =>
      createFilter(target, filterSpec(propertySpec('VirtualMachine', paths), objects), signal, ofObjects)
    return await filter(paths).catch((error: unknown) => {
      // A server that does not know keyed paths: it pushes the whole list.
      if (!isInvalidProperty(error)) throw error
      return filter(withoutKeys(paths))
    })
  }

  async function filterAllUUIDs(
    reference: ManagedObjectReference,
    signal: AbortSignal,
  ): Promise<ManagedObjectReference> {
    const properties = propertySpec('VirtualMachine', [UUID_PATH])
    return await createFilter(reference, filterSpec(properties, await allVMs.select(signal)), signal, true)
  }

  /** Concurrent polls of a session may lose changes: `WaitForUpdatesEx` in the reference of vSphere's API. */
  const inTurn = <T>(work: () => Promise<T>, signal: AbortSignal) => turns('poll', work, signal)

  const { callDeadline, readDeadline } = timings

  const tryNothing = (signal: AbortSignal) =>
    inTurn(() => trials.poll(async () => undefined, callDeadline, signal), signal)

  const tryAllUUIDs = (signal: AbortSignal) =>
    inTurn(() => trials.poll(filterAllUUIDs, readDeadline, signal), signal)

  function tryMembers(vms: readonly string[], signal: AbortSignal): Promise<void> {
    const objects = vms.map((vm) => objectSpec(vmReference(vm))).join('')
    const makeFilter = (made: ManagedObjectReference, signal: AbortSignal) =>
      filterVMs(made, objects, signal, true)
    // A single one must not keep the others from being polled for long.
    const deadline = vms.length === 1 ? callDeadline : readDeadline
    return inTurn(() => trials.poll(makeFilter, deadline, signal), signal)
  }

  async function watchAllUUIDs(reference: ManagedObjectReference, signal: AbortSignal): Promise<Collector> {
    /** Not where an answer was lost: a view may have been made, and a second one would be left in the session. */
    async function retryOnce(error: unknown): Promise<ManagedObjectReference> {
      if (!isRefusal(error) || !mayPass(error)) throw error
      return await filterAllUUIDs(reference, signal)
    }
    try {
      return { reference, allUUIDs: await filterAllUUIDs(reference, signal).catch(retryOnce) }
    } catch (error) {
      if (!(error instanceof UnansweredError || error instanceof SoapFault)) throw error
      if (error.reason === 'SessionLost' || isRebuild(error)) throw error
      onUnwatched(error)
      return { reference, allUUIDs: undefined }
    }
  }

  async function poll(
    { reference, allUUIDs }: Collector,
    version: string,
    atMost: number,
    signal: AbortSignal,
  ) {
    const updates: Update[] = []
    const sightings: Sighting[] = []
    const gone: string[] = []
    let objects = 0
    let doubtful = false
    const response = await soap.call({
      operation: 'WaitForUpdatesEx',
      target: reference,
      parameters:
        element('version', version) +
        `<options>${element('maxWaitSeconds', pollWait.milliseconds() / 1000)}` +
        `${element('maxObjectUpdates', atMost)}</options>`,
      deadline: pollWait.milliseconds() + timings.pollGrace,
      longPoll: true,
      records: {
        name: 'objectSet',
        depth: UPDATE_DEPTH,
        take(record, whole, filterSet) {
          objects++
          doubtful ||= strayIn(readMissing(record)) !== undefined
          const filter = toReference(child(filterSet, 'filter'))?.value
          const vm = toReference(child(record, 'obj'))?.value
          if (filter === undefined || filter !== allUUIDs?.value)
            updates.push(readUpdate(record, whole, known))
          else if (vm !== undefined && textOf(record, 'kind') === 'leave') gone.push(vm)
          else sightings.push(...readSightings(record))
        },
      },
      signal,
    })
    if (doubtful) await alive(signal)
    const set = child(response, 'returnval')
    if (set === undefined) return undefined
    for (const filter of childrenOf(set, 'filterSet')) {
      // The list view is gone, with or without its session: everything must be created again.
      for (const missing of childrenOf(filter, 'missingSet'))
        throw new SoapFault('ManagedObjectNotFound', '', toReference(child(missing, 'obj')))
    }
    const truncated = textOf(set, 'truncated') === 'true'
    return {
      version: textOf(set, 'version') ?? version,
      truncated,
      objects,
      told: { updates, sightings, gone },
    }
  }

  async function endPoll({ reference: target }: Collector, signal: AbortSignal): Promise<void> {
    const deadline = timings.callDeadline
    await soap.call({ operation: 'CancelWaitForUpdates', target, deadline, signal })
  }

  async function run(
    list: ManagedObjectReference,
    opened: ManagedObjectReference,
    take: (told: PushedChanges) => void,
    members: WatchedMembers,
    signal: AbortSignal,
  ): Promise<void> {
    const pauseAfter = createPollPace(clock)
    let polled = await watchAllUUIDs(opened, signal)
    let version = ''
    let atMost = MAX_OBJECT_UPDATES
    let refusedAt = Number.NEGATIVE_INFINITY
    const excluded = new Set<string>()

    /** Not every server resends what was lost. With a new collector all members enter again; what has left is not told. */
    async function beginAnew(watchesAll: boolean): Promise<void> {
      await destroyObject(soap, 'DestroyPropertyCollector', polled.reference, timings, signal)
      const reference = await openCollector(list, signal)
      polled = watchesAll ? await watchAllUUIDs(reference, signal) : { reference, allUUIDs: undefined }
      version = ''
      onLost()
    }

    /** Goes on without what makes each poll fail. Throws the fault where that is nothing in particular, or too much. */
    async function goOnWithout(fault: SoapFault): Promise<void> {
      const watchesAll = polled.allUUIDs !== undefined
      const culprits = await findCulprits(members.all(), {
        nothing: () => tryNothing(signal),
        members: (vms) => tryMembers(vms, signal),
        allUUIDs: watchesAll ? () => tryAllUUIDs(signal) : undefined,
      })
      if (culprits === undefined) throw fault
      const { vms, allUUIDs } = culprits
      for (const vm of vms.keys()) excluded.add(vm)
      if (excluded.size > MOST_CULPRITS) throw fault
      for (const [vm, why] of vms)
        await members.exclude(vm, why, (signal) => tryAgain(() => tryMembers([vm], signal), vm), signal)
      if (allUUIDs !== undefined) onUnwatched(allUUIDs)
      await beginAnew(watchesAll && allUUIDs === undefined)
      refusedAt = Number.NEGATIVE_INFINITY
    }

    async function pollOnce() {
      const start = clock.monotonic()
      const answer = await poll(polled, version, atMost, signal).catch((error: unknown) => {
        const fewer = error instanceof TooLongError ? fewerThan(atMost, error) : undefined
        if (fewer !== undefined) return { fewer }
        if (isRefusal(error)) {
          // A single fault is no reason to make anything anew.
          const isSingle = clock.monotonic() - refusedAt >= timings.unsteady.within
          refusedAt = clock.monotonic()
          if (!isSingle) return { refused: error }
          onLost()
        } else if (!pollWait.isCut(error, clock.monotonic() - start)) throw error
        return 'cut' as const
      })
      // vCenter may still hold it, and two at once would lose changes. It also tells that collector and session are there.
      if (answer === 'cut') await endPoll(polled, signal)
      return answer
    }

    while (!signal.aborted) {
      const start = clock.monotonic()
      const answer = await inTurn(pollOnce, signal)
      if (answer === 'cut') {
        await clock.sleep(pauseAfter(undefined, clock.monotonic() - start), signal)
        continue
      }
      pollWait.answered()
      if (answer !== undefined && 'refused' in answer) {
        await goOnWithout(answer.refused)
        continue
      }
      if (answer !== undefined && 'fewer' in answer) {
        await beginAnew(polled.allUUIDs !== undefined)
        atMost = answer.fewer
        continue
      }
      if (answer !== undefined) version = answer.version
      take(answer?.told ?? NOTHING)
      await clock.sleep(pauseAfter(answer, clock.monotonic() - start), signal)
    }
  }

  return {
    /**
     * Creates an empty list view, a collector and the filter. Throws a VCenterError, also part-way through. The list's members
     * are watched by `run`, which polls until the signal aborts or a call fails and takes each answer, also one that tells
     * nothing.
     */
    async open(signal: AbortSignal) {
      const list = await create('CreateListView', content.viewManager, '', signal)
      listView = list
      const opened = await openCollector(list, signal)
      return {
        listView: list,
        run: (take: (told: PushedChanges) => void, members: WatchedMembers, signal: AbortSignal) =>
          run(list, opened, take, members, signal),
      }
    },
    /** Watches the UUIDs of all VMs for a moment, between two polls. Throws a VCenterError, an UnansweredError for a fault. */
    tryAllUUIDs: (signal: AbortSignal) => tryAgain(() => tryAllUUIDs(signal)),
    /** Destroys what this created in the session, however far it came. */
    async destroy(signal: AbortSignal): Promise<void> {
      await trials.destroy(signal)
      if (collector !== undefined)
        await destroyObject(soap, 'DestroyPropertyCollector', collector, timings, signal)
      if (listView !== undefined) await destroyObject(soap, 'DestroyView', listView, timings, signal)
    },
  }
}

/** It is about no VM: the list is empty as yet. */
function withoutPush(cause: SoapFault): VCenterError {
  return new VCenterError(
    cause.reason,
    `vCenter refuses to push what changes of its VMs, without which none is followed: ${cause.message}; look for CreateFilter in its ` +
      'vpxd.log, and restart its services if it lasts',
    { cause },
  )
}

const NOTHING: PushedChanges = { updates: [], sightings: [], gone: [] }
