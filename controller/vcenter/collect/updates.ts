/** Push: one filter of one collector on the members of a ListView, and the long poll that hears of their changes. */
import type { Clock } from '../../../agent/shared/clock.ts'
import type { ServiceContent } from '../session/session.ts'
import type { Timings } from '../timings.ts'
import { element } from '../wire/envelope.ts'
import { fewerThan, SoapFault, TooLongError, VCenterError } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { type SoapClient, toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'
import { readMissing } from './object-content.ts'
import { filterSpec, objectSpec, propertySpec, traversal } from './properties.ts'
import { createObject, destroyObject } from './session-objects.ts'

/** Objects in one answer; vCenter may send fewer and says so by `truncated`. */
const MAX_OBJECT_UPDATES = 500
/** Envelope, Body, response, returnval, filterSet, objectSet. */
const UPDATE_DEPTH = 6
/** Milliseconds from an answer to the next poll where they are many: a guest that changes its claim all the time costs little. */
const PAUSE = 250
/** So many answers are followed by the next poll at once, and one more for each pause's time that goes by. */
const BURST = 20
/** So many truncated answers in a row are continued at once: ten thousand VMs enter in a hundred. */
const MAX_AT_ONCE = 100
/** From the beginning of a poll that brought nothing, as the one before, to the next: they may come at once. */
const EMPTY_ANSWER_PAUSE = 1_000

/** What became of one object. */
export type Update =
  /** Came under watch: these are all of its watched properties. */
  | {
      readonly kind: 'enter'
      readonly object: ManagedObjectReference
      readonly values: ReadonlyMap<string, XMLElement>
    }
  /** Some properties changed; undefined is one that is no longer set. Keyed paths are told without `.value`. */
  | {
      readonly kind: 'modify'
      readonly object: ManagedObjectReference
      readonly values: ReadonlyMap<string, XMLElement | undefined>
    }
  /** Something of it is told that this does not understand, or may not be read: it is to be read again. */
  | { readonly kind: 'unclear'; readonly object: ManagedObjectReference }
  /** Destroyed, unregistered, no longer readable, too large, or taken off the list: to be asked for. */
  | { readonly kind: 'leave'; readonly object: ManagedObjectReference }

export interface Updates {
  /** The list whose members are watched. */
  readonly listView: ManagedObjectReference
  /** Polls until the signal aborts or a call fails. */
  run(take: (updates: readonly Update[]) => void, signal: AbortSignal): Promise<void>
  /** Gives back what this made in the session. */
  destroy(signal: AbortSignal): Promise<void>
}

export interface UpdatesOptions {
  readonly soap: SoapClient
  readonly content: ServiceContent
  /** Properties of VirtualMachine to watch. Few: some servers' cost is events x members x properties. */
  readonly paths: readonly string[]
  readonly timings: Timings
  readonly clock: Clock
}

/** Makes the list (empty), a collector of its own and the filter. */
export async function openUpdates(options: UpdatesOptions, signal: AbortSignal): Promise<Updates> {
  const { soap, content, paths, timings, clock } = options
  const create = (operation: string, target: ManagedObjectReference, parameters: string) =>
    createObject(soap, operation, target, parameters, timings, signal)
  const listView = await create('CreateListView', content.viewManager, '')
  const members = objectSpec(listView, true, traversal('members', 'ListView', 'view'))
  const spec = filterSpec(propertySpec('VirtualMachine', paths), members)
  const known = knownPaths(paths)
  let collector = await openCollector()

  async function openCollector(): Promise<ManagedObjectReference> {
    const made = await create('CreatePropertyCollector', content.propertyCollector, '')
    await create('CreateFilter', made, `<spec>${spec}</spec>${element('partialUpdates', false)}`)
    return made
  }

  async function poll(version: string, atMost: number, signal: AbortSignal): Promise<Answer | undefined> {
    const updates: Update[] = []
    const response = await soap.call({
      operation: 'WaitForUpdatesEx',
      target: collector,
      parameters:
        element('version', version) +
        `<options>${element('maxWaitSeconds', timings.pollWait / 1000)}` +
        `${element('maxObjectUpdates', atMost)}</options>`,
      deadline: timings.pollWait + timings.pollGrace,
      longPoll: true,
      records: {
        name: 'objectSet',
        depth: UPDATE_DEPTH,
        take: (record, whole) => updates.push(readUpdate(record, whole, known)),
      },
      signal,
    })
    const set = child(response, 'returnval')
    if (set === undefined) return undefined
    for (const filter of childrenOf(set, 'filterSet')) {
      for (const missing of childrenOf(filter, 'missingSet')) throw lostStart(child(missing, 'obj'))
    }
    const truncated = textOf(set, 'truncated') === 'true'
    return { version: textOf(set, 'version') ?? version, truncated, updates }
  }

  return {
    listView,
    async run(take, signal) {
      const pauseAfter = createPacing(clock)
      let version = ''
      let atMost = MAX_OBJECT_UPDATES
      while (!signal.aborted) {
        const start = clock.monotonic()
        const answer = await poll(version, atMost, signal).catch((error: unknown) => {
          const fewer = error instanceof TooLongError ? fewerThan(atMost, error) : undefined
          if (fewer === undefined) throw error
          return { fewer }
        })
        if (answer !== undefined && 'fewer' in answer) {
          // Not every server sends again what was lost: to a new collector, all members enter.
          await destroyObject(soap, 'DestroyPropertyCollector', collector, timings, signal)
          collector = await openCollector()
          version = ''
          atMost = answer.fewer
          continue
        }
        if (answer !== undefined) {
          version = answer.version
          take(answer.updates)
        }
        await clock.sleep(pauseAfter(answer, clock.monotonic() - start), signal)
      }
    },
    async destroy(signal) {
      await destroyObject(soap, 'DestroyPropertyCollector', collector, timings, signal)
      await destroyObject(soap, 'DestroyView', listView, timings, signal)
    },
  }
}

interface Answer {
  readonly version: string
  /** There is more. */
  readonly truncated: boolean
  readonly updates: readonly Update[]
}

/**
 * How long to wait after an answer that took so long: no server can make us poll without end. Where answers are few there
 * is no wait, by which the next change would be heard of later.
 */
function createPacing(clock: Clock): (answer: Answer | undefined, took: number) => number {
  let emptyBefore = false
  let atOnce = 0
  let credit = BURST
  let creditedAt = clock.monotonic()
  return (answer, took) => {
    const empty = answer === undefined || answer.updates.length === 0
    const again = empty && emptyBefore
    emptyBefore = empty
    const now = clock.monotonic()
    credit = Math.min(BURST, credit + (now - creditedAt) / PAUSE)
    creditedAt = now
    if (again) return Math.max(0, EMPTY_ANSWER_PAUSE - took)
    if (answer?.truncated !== true) atOnce = 0
    else if (!empty && ++atOnce < MAX_AT_ONCE) return 0
    const pause = credit < 1 ? PAUSE : 0
    // What is waited for is paid for too.
    credit -= 1
    return pause
  }
}

/** What the filter starts at is gone, with its session or without: all has to be made anew. */
function lostStart(start: XMLElement | undefined): SoapFault {
  return new SoapFault('ManagedObjectNotFound', '', toReference(start))
}

/** By the names under which vCenter may tell of them; of an entry of a keyed list, also by that of its value. */
function knownPaths(paths: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    paths.flatMap((path) => (isKeyed(path) ? [path, `${path}.value`] : [path]).map((name) => [name, path])),
  )
}

function isKeyed(path: string): boolean {
  return path.endsWith(']')
}

function readUpdate(record: XMLElement, whole: boolean, known: ReadonlyMap<string, string>): Update {
  const object = toReference(child(record, 'obj'))
  const kind = textOf(record, 'kind')
  if (object === undefined)
    throw new VCenterError('MalformedAnswer', 'vCenter sends an update of an object without a name')
  // One that is too large is asked for by itself, as one that has left.
  if (kind === 'leave' || !whole) return { kind: 'leave', object }
  if (kind !== 'enter' && kind !== 'modify') {
    throw new VCenterError(
      'MalformedAnswer',
      `vCenter sends an update of the unknown kind ${String(kind).slice(0, 50)}`,
    )
  }
  const changes = readChanges(record, known)
  if (changes === undefined || readMissing(record).size > 0) return { kind: 'unclear', object }
  if (kind === 'modify') return { kind, object, values: changes }
  const set = [...changes].flatMap(([path, value]) => (value ? [[path, value] as const] : []))
  return { kind, object, values: new Map(set) }
}

/**
 * The values that properties have now (vSphere API, PropertyChange): whether one is unset itself (`assign` without a
 * value, `remove`) or with what held it (`indirectRemove`) is all one. Undefined where vCenter tells of a path that was
 * not asked for, as of what holds one of ours, or of a part of a list.
 */
function readChanges(
  record: XMLElement,
  known: ReadonlyMap<string, string>,
): ReadonlyMap<string, XMLElement | undefined> | undefined {
  const values = new Map<string, XMLElement | undefined>()
  for (const change of childrenOf(record, 'changeSet')) {
    const path = known.get(textOf(change, 'name') ?? '')
    const op = textOf(change, 'op') ?? ''
    if (path === undefined || !(isKeyed(path) ? ENTRY_OPS : OPS).has(op)) return undefined
    values.set(path, SETS.has(op) ? child(change, 'val') : undefined)
  }
  return values
}

/** Ops of a property, of an entry of a keyed list, and those that come with a value. */
const OPS: ReadonlySet<string> = new Set(['assign', 'indirectRemove'])
const ENTRY_OPS: ReadonlySet<string> = new Set([...OPS, 'add', 'remove'])
const SETS: ReadonlySet<string> = new Set(['assign', 'add'])
