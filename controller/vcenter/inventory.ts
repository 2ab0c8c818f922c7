/** One vCenter's VMs, followed by push: `vcenter/` as the rest of the controller sees it. */
import { anySignal } from '../../agent/shared/any-signal.ts'
import { createBackoff } from '../../agent/shared/backoff.ts'
import { type LabelSource, serverKey, type VCenterConfig } from '../config/config.ts'
import type { DatacenterPath } from '../config/datacenter-pattern.ts'
import { type Basics, outlive } from '../lib/tasks.ts'
import type { Lookup } from '../types/inventory.ts'
import type { VCenterIdentity } from '../types/virtual-machine.ts'
import { createRereads } from './cache/rereads.ts'
import { createVMAttributes } from './cache/vm-attributes.ts'
import { createVMLocations } from './cache/vm-locations.ts'
import { VMStore } from './cache/vm-store.ts'
import { Sightings } from './cache/vms-of-uuid.ts'
import { createDebounce, createPollWait } from './collect/pace.ts'
import { createNotingSoap } from './collect/session-objects.ts'
import { createTagReader } from './collect/tags.ts'
import { createConnectionHealth } from './connection-health.ts'
import { type ListAndWatchOptions, listAndWatch } from './list-and-watch.ts'
import { type InventoryMetrics, type RunningInventory, withoutCredential } from './running-inventory.ts'
import type { LoginLimiter } from './session/login-limiter.ts'
import { openClients } from './session/open-clients.ts'
import type { ServiceContent } from './session/session.ts'
import { createWatchedSoap } from './session/watched-soap.ts'
import { isMoving } from './sync-vms.ts'
import { TIMINGS, type Timings } from './timings.ts'
import { createProber } from './vm-probe/prober.ts'
import type { Connection, ConnectionOptions } from './wire/connection.ts'
import {
  aloneOrThrow,
  isRebuild,
  isSessionLost,
  isSilence,
  RenewalError,
  toFailure,
  VCenterError,
} from './wire/errors.ts'

/** Milliseconds between two times that all is read again because the UUIDs of all VMs can be watched. */
const RENEWED_AT_MOST = 3_600_000
/** Views and collectors of a session that nobody can destroy: each costs vCenter memory. */
const MOST_LOST = 32

export interface InventoryOptions extends Basics {
  /**
   * A changed user, address or trust needs a new inventory, as does a credential that was not known. The password is read at
   * each login, so it may change during a session.
   */
  readonly config: VCenterConfig
  /** Names of the tag categories of interest; others are not read. */
  readonly categories: { readonly zone?: string | undefined; readonly region?: string | undefined }
  /** What label rules are made from; by default nothing. */
  readonly sources?: readonly LabelSource[]
  /** Identifies us in vCenter's list of sessions; each connection adds a number. */
  readonly userAgent: string
  /**
   * Has one session at a time with each vCenter of the configuration: what a process has left open, the next one ends. By default
   * each connection is a client of its own.
   */
  readonly client?: string | undefined
  readonly logins: LoginLimiter
  readonly metrics: InventoryMetrics
  /** Called when the lookups of these UUIDs have changed, also because the vCenter started or stopped failing. */
  readonly onChange: (uuids: ReadonlySet<string>) => void
  readonly timings?: Timings
  /** Opens the connection of a {@link RunningInventory.run}; by default over HTTPS. */
  readonly openConnection?: (options: ConnectionOptions) => Connection
}

/**
 * Creates an inventory; nothing is sent before `run`.
 *
 * While vCenter fails (it restarts, a session ends), lookups stay as they are for a grace period of 10 s. After that all of
 * them are `unknown`, because stale data proves nothing. A refused credential, a call that timed out, and a vCenter that
 * has never answered show at once. The wait before the first attempt to reconnect does not count: where polls alone fail,
 * vCenter answers again each time.
 */
export function openInventory(options: InventoryOptions): RunningInventory {
  const { config, clock, random, metrics, onChange, timings = TIMINGS } = options
  if (config.noCredential !== undefined) return withoutCredential(config, config.noCredential)
  const vCenter = config.name
  const logger = options.logger.child({ vCenter })
  const { zone, region } = options.categories
  const { sources = [] } = options
  const named = (wanted: LabelSource['kind']) =>
    sources.flatMap((each) => ('name' in each && each.kind === wanted ? each.name : []))
  const categories = new Set([zone ?? [], region ?? [], named('tagCategory')].flat())
  const attributeNames = new Set(named('attribute'))
  const attributes = attributeNames.size > 0 ? createVMAttributes(attributeNames) : undefined
  const triggers = {
    locate: createDebounce(timings.locate, clock),
    tags: createDebounce(timings.tags, clock),
    members: createDebounce(timings.members, clock),
    provability: createDebounce(timings.provability, clock),
    lost: createDebounce(timings.lost, clock),
  }
  /** One object for all VMs. */
  let identity: VCenterIdentity = { name: vCenter, instanceUUID: '' }
  let certificateExpiry: number | undefined
  let datacenters: readonly DatacenterPath[] | undefined
  let waiting = new AbortController()
  const reads = { VMs: 0, tags: 0 }
  const locations = createVMLocations({ tagging: categories.size > 0 })
  const store = new VMStore({
    vCenter: () => identity,
    place: (machine) => ({
      ...locations.place(machine),
      ...attributes?.of(machine),
      ...(sources.length > 0 ? { moving: isMoving(machine) } : {}),
    }),
    onChange(uuids) {
      onChange(uuids)
      triggers.provability.trigger()
    },
    onLost: triggers.lost.trigger,
    monotonic: clock.monotonic,
  })
  /** When all was last read again because the UUIDs of all VMs could be watched; monotonic. */
  let renewedAt = Number.NEGATIVE_INFINITY
  const rereads = createRereads()
  /** VMs that were seen with a UUID since the last connection began. */
  let sightings = new Sightings()
  const health = createConnectionHealth({
    grace: timings.failureGrace,
    pause: timings.backoff.max,
    unsteady: timings.unsteady,
    clock,
    onChange: () => onChange(store.followed()),
  })

  const prober = createProber({
    vCenter,
    server: serverKey(config),
    store,
    timings,
    clock,
    instanceUUID: () => identity.instanceUUID,
    failure: health.latest,
    onProvability: onChange,
  })

  async function run(signal: AbortSignal): Promise<void> {
    const last = outlive(timings.logout, clock, signal)
    const onCertificate = (expiresAt: number) => {
      certificateExpiry = expiresAt
    }
    /** A directory may be slow, while vCenter itself is well. */
    const onSlowLogin = () => {
      if (signal.aborted) return
      const failure = { ...toFailure(vCenter, slowLogin(soap.server, timings)), waiting: true } as const
      logger.warn({ reason: failure.reason, error: failure.message }, 'vCenter is slow to answer a login')
      health.failed(failure, true)
    }
    const { connection, soap, session, rest } = openClients({
      ...options,
      loginSignal: last.signal,
      timings,
      logger,
      onCertificate,
      onSlowLogin,
    })
    const openTagReader = () =>
      categories.size > 0 ? createTagReader({ rest, categories, timings, clock }) : undefined
    let tagReader = openTagReader()
    const pollWait = createPollWait(timings)
    const backoff = createBackoff({ ...timings.backoff, random })
    let opened: Parameters<ListAndWatchOptions['onOpen']>[0] = []
    let openedIn: ServiceContent | undefined
    /** How many objects there may be in the session that cannot be destroyed. */
    let lostObjects = 0
    let heardAt = clock.monotonic()
    const onAllRead: ListAndWatchOptions['onAllRead'] = (what) => {
      reads[what] += 1
    }
    const onHeard = () => {
      heardAt = clock.monotonic()
    }
    /** Where only the trial succeeds, the next connection is refused it again. */
    const mayRenew = () => {
      if (clock.monotonic() - renewedAt < RENEWED_AT_MOST) return false
      renewedAt = clock.monotonic()
      return true
    }

    /** A session with nothing in it of the last connection: each attempt would leave views and collectors there. */
    async function enter(): Promise<ServiceContent> {
      if (lostObjects > 0) await session.logout(signal)
      lostObjects = 0
      const content = await session.ensure(signal)
      if (openedIn !== content) return content
      try {
        for (const each of opened) await each.destroy(signal)
        return content
      } catch (error) {
        await aloneOrThrow(error, session.keepAlive, signal)
        // What is not destroyed though vCenter answers ends with the session.
        await session.logout(signal)
        return await session.ensure(signal)
      }
    }

    async function connect(): Promise<void> {
      const content = await enter()
      openedIn = undefined
      const { instanceUUID } = content
      const isAnother = identity.instanceUUID !== '' && instanceUUID !== identity.instanceUUID
      if (instanceUUID !== identity.instanceUUID) identity = { name: vCenter, instanceUUID }
      if (isAnother) {
        logger.warn({ instanceUUID }, 'another vCenter answers: all that was read before is forgotten')
        store.forgetAll()
        locations.forgetAll()
        attributes?.forgetAll()
        tagReader = openTagReader()
        datacenters = undefined
      }
      store.wantAll(heardAt)
      sightings = new Sightings()
      // All is read now; the watch reports what vanishes meanwhile.
      onHeard()
      triggers.provability.trigger()
      const onOpen: ListAndWatchOptions['onOpen'] = (made) => {
        opened = made
        openedIn = content
      }
      const onDatacenters = (read: readonly DatacenterPath[] | undefined) => {
        datacenters = read
      }
      const onReady = () => {
        logger.info({ vms: store.vms().size }, 'following')
        health.recovered()
      }
      const noting = createNotingSoap(soap, () => {
        if (++lostObjects >= MOST_LOST)
          throw new RenewalError(
            'too many answers were lost: a new session removes the views that they may have left behind',
          )
      })
      const parts = {
        soap: createWatchedSoap({ soap: noting, ask: session.keepAlive, timings, clock }),
        session,
        content,
        store,
        locations,
        rereads,
        sightings,
        tagReader,
        attributes,
        prober,
        triggers,
        pollWait,
      }
      const surroundings = { timings, clock, random, logger, metrics }
      const events = { mayRenew, onOpen, onDatacenters, onReady, onHeard, onAllRead }
      await listAndWatch({ ...parts, ...surroundings, ...events }, signal)
    }

    function failed(error: unknown): void {
      const failure = toFailure(vCenter, error)
      if (isSessionLost(error)) session.lost()
      metrics.reconnect(failure.reason)
      const level = isRebuild(error) ? 'info' : 'warn'
      const what = error instanceof RenewalError ? 'reading all of vCenter again' : 'vCenter failed'
      logger[level]({ reason: failure.reason, error: failure.message }, what)
      health.failed(failure, session.pause() !== undefined || isSilence(error))
    }

    async function logout(): Promise<void> {
      for (const end of await Promise.allSettled([session.logout(last.signal), rest.logout(last.signal)])) {
        if (end.status === 'fulfilled') continue
        const reason = end.reason instanceof VCenterError ? end.reason.message : 'it took too long'
        logger.warn({ error: reason }, 'a session could not be ended and will run out by itself')
      }
    }

    try {
      while (!signal.aborted) {
        const start = clock.monotonic()
        try {
          await connect()
        } catch (error) {
          if (signal.aborted) break
          failed(error)
        }
        const pause = session.pause()
        if (pause !== undefined || clock.monotonic() - start > timings.callDeadline) backoff.reset()
        waiting = new AbortController()
        await clock.sleep(pause?.left ?? backoff.next(), anySignal([signal, waiting.signal]))
      }
    } finally {
      await logout()
      await Promise.all([last.end(), health.close(), connection.close()])
    }
  }

  return {
    vCenter,
    run,
    passwordChanged: () => waiting.abort(),
    follow(biosUUID) {
      if (store.follow(biosUUID)) triggers.locate.trigger()
    },
    unfollow(biosUUID) {
      if (store.unfollow(biosUUID)) triggers.members.trigger()
    },
    recheck(biosUUID) {
      const answer = store.lookup(biosUUID)
      if (answer.state === 'pending' || (answer.state === 'answered' && answer.vms.length > 0)) return
      store.want(biosUUID)
      triggers.locate.trigger()
    },
    readSince(moref, doubt, node) {
      const isRead = rereads.readSince(moref, doubt, node)
      if (isRead === false) triggers.locate.trigger()
      return typeof isRead === 'boolean' ? isRead : toFailure(vCenter, isRead)
    },
    lookup(biosUUID, expected): Lookup {
      const failure = health.failure()
      if (failure !== undefined) return { state: 'unknown', failure }
      const answer = store.lookup(biosUUID)
      if (answer.state === 'pending') return answer
      if (answer.state === 'failed')
        return { state: 'unknown', failure: toFailure(vCenter, answer.error), alone: true }
      const { incomplete, ...known } = answer
      if (incomplete === undefined) return known
      if (expected !== undefined && store.awaits(biosUUID, expected)) {
        triggers.locate.trigger()
        return { state: 'pending' }
      }
      return { ...known, incomplete: { vCenter, ...incomplete } }
    },
    async probe(vm, signal) {
      const probe = await prober.probe(vm, signal)
      const { biosUUID } = probe
      const found = biosUUID.state === 'found' ? [biosUUID.vm.moref, ...(biosUUID.others ?? [])] : []
      const lacking = found.filter((moref) => store.lacks(vm.biosUUID, moref))
      // Push may have told nothing of it, and another VM with the UUID would pass for the only one.
      for (const moref of lacking) sightings.add(vm.biosUUID, moref)
      if (lacking.length > 0) triggers.locate.trigger()
      return probe
    },
    instanceUUID: () => identity.instanceUUID,
    provable: prober.provable,
    provableEverywhere: prober.provableEverywhere,
    fullReads: () => (categories.size > 0 ? Math.min(reads.VMs, reads.tags) : reads.VMs),
    failure: () => health.failure(),
    connected: () => health.connected(),
    unsteady: () => health.unsteady(),
    datacenters: () => datacenters,
    lackingCategories: locations.lacking,
    certificateExpiry: () => certificateExpiry,
  }
}

function slowLogin(server: string, { callDeadline, loginDeadline }: Timings): VCenterError {
  return new VCenterError(
    'TimedOut',
    `${server} has not finished a login for ${callDeadline / 1000} s, and has up to ${loginDeadline / 1000} s for it; check ` +
      'the state of its services and of its identity source',
  )
}
