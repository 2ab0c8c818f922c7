/** Keeps the cache in step with vCenter for as long as one session works, as client-go's reflector lists and watches. */
import type { DatacenterPath } from '../config/datacenter-pattern.ts'
import { type Basics, every, runTogether } from '../lib/tasks.ts'
import type { createRereads } from './cache/rereads.ts'
import { defineAttributes, type VMAttributes } from './cache/vm-attributes.ts'
import type { VMLocations } from './cache/vm-locations.ts'
import type { Changes, VMStore } from './cache/vm-store.ts'
import type { Sightings } from './cache/vms-of-uuid.ts'
import { readDatacenters } from './collect/datacenters.ts'
import { createMembers } from './collect/list-view.ts'
import { createAllVMs, createLocator } from './collect/locate.ts'
import type { Debounce, PollWait, RunOutcome } from './collect/pace.ts'
import { createQuarantine } from './collect/quarantine.ts'
import { createSuspects } from './collect/read-machines.ts'
import { createPropertyReader } from './collect/retrieve-properties.ts'
import { type Collectors, createCollectors } from './collect/session-objects.ts'
import type { TagReader } from './collect/tags.ts'
import { createUpdates, type PushedChanges, type WatchedMembers } from './collect/updates.ts'
import { keepTagsRead } from './keep-tags-read.ts'
import { CUSTOM_VALUES_PATH } from './properties/property-values.ts'
import { applyUpdates, PUSHED_PATHS } from './properties/pushed-properties.ts'
import { createReadsOfAll } from './reads-of-all.ts'
import type { InventoryMetrics } from './running-inventory.ts'
import type { ServiceContent, Session } from './session/session.ts'
import { hasMoved, locateWanted, readAgain, type SyncVMsOptions } from './sync-vms.ts'
import type { Timings } from './timings.ts'
import type { createProber } from './vm-probe/prober.ts'
import { aloneOrThrow, RenewalError, type SoapFault, UnansweredError } from './wire/errors.ts'
import { keyOf, vmOfKey, vmReference } from './wire/managed-object-reference.ts'
import type { SoapClient } from './wire/soap.ts'

/** Most VMs named in one log line. */
const MAX_NAMES = 20
/** So many changes of the watched list do not delay the next ones: two VMs may join a second apart. */
const FEW_CHANGES = 10
/** The key in quarantine of the watch of all UUIDs. Where that can be made, everything is created again, once an hour at most. */
const ALL_UUIDS = 'watch of all UUIDs'

export interface ListAndWatchOptions extends Basics {
  readonly soap: SoapClient
  readonly session: Session
  readonly content: ServiceContent
  readonly store: VMStore
  readonly locations: VMLocations
  readonly rereads: ReturnType<typeof createRereads>
  readonly sightings: Sightings
  /** Undefined where no tag category is of interest. */
  readonly tagReader: TagReader | undefined
  /** Undefined where no custom attribute is of interest. */
  readonly attributes: VMAttributes | undefined
  readonly prober: ReturnType<typeof createProber>
  /**
   * UUIDs are to be located; tags are unknown; the VMs to watch have changed; new objects may be above them; a VM was lost.
   */
  readonly triggers: Readonly<Record<'locate' | 'tags' | 'members' | 'provability' | 'lost', Debounce>>
  readonly pollWait: PollWait
  readonly timings: Timings
  readonly metrics: InventoryMetrics
  /** Undefined where the account may not read them. */
  readonly onDatacenters: (datacenters: readonly DatacenterPath[] | undefined) => void
  /** All VMs, or all tags, were read. */
  readonly onAllRead: (what: 'VMs' | 'tags') => void
  /** Whether all may be read again because the UUIDs of all VMs can be watched. Called before each time. */
  readonly mayRenew: () => boolean
  /** Everything wanted at the start is answered, and vCenter watches. */
  readonly onReady: () => void
  /** vCenter has told what changed until now. */
  readonly onHeard: () => void
  /** Called with what will create objects in the session, which are to be destroyed in turn if it outlives this run. */
  readonly onOpen: (opened: readonly Pick<Collectors, 'destroy'>[]) => void
}

/** Lists and watches until the signal aborts or a call fails; throws the failure. */
export async function listAndWatch(options: ListAndWatchOptions, signal: AbortSignal): Promise<void> {
  const { soap, session, content, store, locations, rereads, tagReader, prober, triggers, pollWait } = options
  const { sightings, attributes, timings, clock, random, logger, metrics } = options
  const { propertyCollector } = content
  const alive = session.keepAlive
  const collectors = createCollectors({ soap, propertyCollector, timings })
  const vmPaths = attributes === undefined ? [] : [CUSTOM_VALUES_PATH]
  const quarantine = createQuarantine({ onNews: askAgainFor, timings, clock, random })
  const reader = createPropertyReader({ soap, collectors, alive, vmPaths, quarantine, timings, clock })
  const allVMs = createAllVMs({ soap, content, timings })
  const locator = createLocator({ soap, reader, allVMs, content, timings, clock })
  const watched = {
    paths: [...PUSHED_PATHS, ...vmPaths],
    allVMs,
    onUnwatched: tellNoSightings,
    onLost: triggers.lost.trigger,
    alive,
    pollWait,
  }
  const updates = createUpdates({ soap, content, ...watched, timings, clock })
  // Before anything is created: a call that fails in between leaves what was created before it.
  options.onOpen([updates, allVMs, collectors])
  const { listView, run: followUpdates } = await updates.open(signal)
  const members = createMembers({ soap, listView, quarantine, timings })
  const suspects = createSuspects(reader)
  const onAnswered = triggers.tags.trigger
  const sync: SyncVMsOptions = { store, locations, locator, sightings, reader, suspects, onAnswered }
  const onAllRead = () => options.onAllRead('VMs')
  const surroundings = { onChanges: askAgain, onAllRead, clock, logger, metrics }
  const reads = createReadsOfAll({ sync, members, listView, ...surroundings })
  /** VMs to be read again: they have moved, an update was not understood, or none came. */
  const stale = new Set<string>()
  let unwatched: ReadonlySet<string> = new Set()
  /** Whether a trial has shown that the UUIDs of all VMs can be watched, which they are not. */
  let canWatchAll = false
  let isReady = false

  async function locate(signal: AbortSignal): Promise<RunOutcome> {
    sightings.settle((uuid, vm) => store.lacks(uuid, vm))
    const doubted = rereads.due()
    const again = [...new Set([...stale, ...doubted.vms.filter((vm) => store.machine(vm) !== undefined)])]
    if (store.wanted().length === 0 && again.length === 0 && sightings.size() === 0) return 'little'
    stale.clear()
    const reread = again.length > 0 ? await readAgain(sync, again, signal) : undefined
    if (reread !== undefined) askAgain(reread)
    store.tell(doubted.done(reread?.refused ?? new Map()))
    await locateWanted(sync, signal)
    reads.endAnswered()
    triggers.tags.trigger()
    triggers.members.trigger()
    // Stale answers, and UUIDs doubted or seen meanwhile.
    if (store.wanted().length > 0 || sightings.size() > 0) triggers.locate.trigger()
    return 'done'
  }

  function take(told: PushedChanges): void {
    options.onHeard()
    for (const { object } of told.updates) members.entered(object.value)
    const { changed, left, unclear } = applyUpdates(told.updates, (vm) => store.machine(vm))
    for (const machine of changed) {
      if (hasMoved(machine, store.machine(machine.moref), locations)) stale.add(machine.moref)
    }
    for (const vm of unclear) stale.add(vm)
    askAgain(store.update(changed))
    askAgain(store.leave([...left, ...told.gone]))
    for (const { vm, uuid } of told.sightings) {
      sightings.tell(vm, uuid)
      if (store.lacks(uuid, vm)) sightings.add(uuid, vm)
      // Of members the list tells it, and that they can be read again.
      const known = store.machine(vm)
      if (known === undefined || members.has(vm)) continue
      if (known.biosUUID !== uuid || members.refused().has(vm)) stale.add(vm)
    }
    if (stale.size > 0 || sightings.size() > 0) triggers.locate.trigger()
  }

  function tellNoSightings(error: SoapFault | UnansweredError): void {
    const mayNot = error.reason === 'NoPermission'
    logger.warn(
      { error: error.message },
      'vCenter does not push the UUIDs of all VMs, so that a second VM with the UUID of a Node is seen only when UUIDs ' +
        `are read or searched for again; this is tried again now and then${mayNot ? '; give the account the role Read-only on the root folder' : ''}`,
    )
    const unanswered = error instanceof UnansweredError ? error : new UnansweredError(error)
    quarantine.holdCall(ALL_UUIDS, unanswered, updates.tryAllUUIDs)
  }

  function renewInTime(): void {
    if (canWatchAll && options.mayRenew())
      throw new RenewalError('vCenter can watch the UUIDs of all VMs now')
  }

  function askAgain({ doubted }: Changes): void {
    locator.forget(doubted)
    if (doubted.length > 0) triggers.locate.trigger()
  }

  /** An object may be read again, or is now known to be one that cannot be: all that waits for it is done now. */
  function askAgainFor(keys: readonly string[]): void {
    if (keys.includes(ALL_UUIDS)) {
      canWatchAll = true
      renewInTime()
      return
    }
    members.freed(keys)
    tellReady()
    tellUnwatched()
    for (const key of keys) {
      const vm = vmOfKey(key)
      if (vm === undefined) triggers.lost.trigger()
      else if (store.machine(vm) !== undefined) stale.add(vm)
    }
    store.wantFailed()
    triggers.locate.trigger()
    triggers.members.trigger()
  }

  /** What cannot be read is not watched: it would keep all others from being read in one call. */
  const isReadable = (vm: string) => quarantine.held(keyOf(vmReference(vm)))?.alone !== true

  async function syncMembers(signal: AbortSignal): Promise<RunOutcome> {
    const synced = await members.set(new Set([...store.vms()].filter(isReadable)), signal)
    if (synced === undefined) return 'little'
    tellUnwatched()
    askAgain(store.leave(synced.unknown))
    if (synced.unfinished) triggers.members.trigger()
    return synced.changes <= FEW_CHANGES ? 'little' : 'done'
  }

  function tellUnwatched(): void {
    const refused = members.refused()
    metrics.unwatched(refused.size)
    const news = [...refused].filter(([vm]) => !unwatched.has(vm))
    unwatched = new Set(refused.keys())
    if (news.length === 0) return
    const vms = news.slice(0, MAX_NAMES).map(([vm]) => store.machine(vm)?.name ?? vm)
    logger.warn(
      { vms, count: refused.size, error: news[0]?.[1].message },
      'vCenter pushes no changes of some VMs, which are seen only when all VMs are read again' +
        (news.some(([, { reason }]) => reason === 'NoPermission')
          ? '; give the account the role Read-only on them'
          : '; this is tried again now and then, and its vpxd.log may tell why'),
    )
  }

  const watchedMembers: WatchedMembers = {
    all: members.all,
    async exclude(...excluded) {
      await members.exclude(...excluded)
      tellUnwatched()
    },
  }

  /** Reads all VMs again, and tries again to watch those that vCenter has refused. */
  async function resyncInTime(signal: AbortSignal): Promise<void> {
    renewInTime()
    await reads.readAll(signal)
    if (unwatched.size === 0) return
    members.retryRefused()
    triggers.members.trigger()
  }

  async function readOthers(signal: AbortSignal): Promise<RunOutcome> {
    await reads.readAll(signal)
    return 'done'
  }

  async function retryFailed(): Promise<void> {
    locator.dropOld()
    if (store.wantFailed() || rereads.due().vms.length > 0) triggers.locate.trigger()
  }

  async function readDoubtful(): Promise<void> {
    for (const vm of members.overdue()) stale.add(vm)
    sightings.lookAgain()
    if (stale.size > 0 || sightings.size() > 0) triggers.locate.trigger()
  }

  async function sweep(signal: AbortSignal): Promise<void> {
    const index = await locator.sweep(signal)
    if (index === undefined) return
    for (const uuid of store.followed()) {
      const known = store.vmsOf(uuid)
      if (index.get(uuid)?.some((vm) => !known.includes(vm)) === true) store.want(uuid)
    }
    if (store.wanted().length > 0) triggers.locate.trigger()
  }

  async function look(signal: AbortSignal): Promise<RunOutcome> {
    await prober.refreshProvability('if new', signal)
    return 'done'
  }

  async function keepSession(signal: AbortSignal): Promise<void> {
    await session.keepAlive(signal)
    await session.endLost(reader, signal)
  }

  async function lookForDatacenters(signal: AbortSignal): Promise<void> {
    try {
      options.onDatacenters(await readDatacenters(reader, content.rootFolder, signal))
    } catch (error) {
      // An account that may not read the root folder may still read its VMs.
      const { message } = await aloneOrThrow(error, alive, signal)
      options.onDatacenters(undefined)
      logger.info(
        { error: message },
        'datacenters cannot be read, so a misspelled one in the configuration shows only in the conditions of its Nodes',
      )
    }
  }

  const tagging = (reader: TagReader) => (signal: AbortSignal) =>
    keepTagsRead(
      { ...options, tagReader: reader, trigger: triggers.tags, onAllRead: () => options.onAllRead('tags') },
      signal,
    )

  const defining = (known: VMAttributes) => async (signal: AbortSignal) => {
    await defineAttributes(known, reader, content.customFieldsManager, alive, signal)
    store.refresh()
  }

  async function locateFirst(signal: AbortSignal): Promise<void> {
    const watchedBefore = store.vms().size > 0
    const first = store.beginRead()
    const asked = store.followed()
    await locate(signal)
    reads.ended(first, asked)
    // At once: until vCenter watches them, changes are seen late. VMs that are new now can wait.
    if (watchedBefore) await syncMembers(signal)
    // Where nothing was answered, vCenter may not answer anything.
    if (!quarantine.isSearching()) tellReady()
  }

  function tellReady(): void {
    if (isReady) return
    isReady = true
    options.onReady()
  }

  const timed = (interval: number, work: (signal: AbortSignal) => Promise<void>) =>
    every(interval, work, clock, random)

  async function follow(signal: AbortSignal): Promise<void> {
    await locateFirst(signal)
    await runTogether(
      [
        (signal) => followUpdates(take, watchedMembers, signal),
        quarantine.run,
        (signal) => triggers.locate.run(locate, signal),
        (signal) => triggers.members.run(syncMembers, signal),
        (signal) => triggers.provability.run(look, signal),
        (signal) => triggers.lost.run(readOthers, signal),
        (signal) => prober.run({ soap, content, login: session.lastLogin() }, alive, signal),
        ...(attributes === undefined ? [] : [timed(timings.resync, defining(attributes))]),
        timed(timings.resync, resyncInTime),
        timed(timings.resync, (signal) => prober.refreshProvability('in full', signal)),
        timed(timings.failed, retryFailed),
        timed(timings.enter, readDoubtful),
        timed(timings.sweep, sweep),
        async (signal) => {
          await lookForDatacenters(signal)
          await timed(timings.sweep, lookForDatacenters)(signal)
        },
        async (signal) => {
          await session.endLost(reader, signal)
          await timed(timings.keepAlive, keepSession)(signal)
        },
      ],
      signal,
    )
  }

  // Before the first VMs: their Nodes may be initialized at once.
  if (attributes !== undefined) await defining(attributes)(signal)
  // Tags are read beside the first VMs: the Nodes of those that are answered already wait for them.
  await runTogether([follow, ...(tagReader === undefined ? [] : [tagging(tagReader)])], signal)
}
