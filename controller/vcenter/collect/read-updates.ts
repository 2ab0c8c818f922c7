/** Parses what vCenter pushes of one object: an ObjectUpdate of the PropertyCollector. */
import { entriesOf, entryIn, readUUID } from '../properties/property-values.ts'
import { VCenterError } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'
import { readMissing } from './retrieve-properties.ts'

/** What is watched of all VMs. */
export const UUID_PATH = 'config.uuid'
/** Of an `objectSet`: Envelope, Body, response, returnval, filterSet, objectSet. */
export const UPDATE_DEPTH = 6

/** A change of one object. */
export type Update =
  /** It entered the watch; these are all of its watched properties. */
  | {
      readonly kind: 'enter'
      readonly object: ManagedObjectReference
      readonly values: ReadonlyMap<string, XMLElement>
    }
  /** Some properties changed; undefined means no longer set. Keyed paths come without `.value`. */
  | {
      readonly kind: 'modify'
      readonly object: ManagedObjectReference
      readonly values: ReadonlyMap<string, XMLElement | undefined>
    }
  /** A change that is not understood or may not be read: the object must be read again. */
  | { readonly kind: 'unclear'; readonly object: ManagedObjectReference }
  /** Destroyed, unregistered, no longer readable, too large, or removed from the list: to be searched for again. */
  | { readonly kind: 'leave'; readonly object: ManagedObjectReference }

/** A VM with its BIOS UUID, lower case. */
export interface Sighting {
  readonly vm: string
  readonly uuid: string
}

/** Paths by the names that vCenter may use for them; an entry of a keyed list also by the name of its value. */
export function knownPaths(paths: readonly string[]): ReadonlyMap<string, string> {
  return new Map(
    paths.flatMap((path) => (isKeyed(path) ? [path, `${path}.value`] : [path]).map((name) => [name, path])),
  )
}

function isKeyed(path: string): boolean {
  return path.endsWith(']')
}

export function readUpdate(record: XMLElement, whole: boolean, known: ReadonlyMap<string, string>): Update {
  const object = toReference(child(record, 'obj'))
  const kind = textOf(record, 'kind')
  if (object === undefined)
    throw new VCenterError('MalformedAnswer', 'vCenter sends an update of an object without a name')
  // An object that is too large is read by itself, as if it had left.
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

/** The UUID that an update tells; none where the VM has left, or has no UUID at the moment. */
export function readSightings(record: XMLElement): readonly Sighting[] {
  const vm = toReference(child(record, 'obj'))
  const change = childrenOf(record, 'changeSet').find((each) => textOf(each, 'name') === UUID_PATH)
  const uuid = textOf(change, 'op') === 'assign' ? readUUID(child(change, 'val')) : undefined
  return vm === undefined || uuid === undefined ? [] : [{ vm: vm.value, uuid }]
}

/**
 * The new values of properties (vSphere API, PropertyChange). It does not matter whether one was unset itself (`assign`
 * without a value, `remove`) or with its parent (`indirectRemove`), nor whether a list came whole. Undefined where vCenter
 * names a path that was not requested, such as a parent of ours or a part of a list.
 */
function readChanges(
  record: XMLElement,
  known: ReadonlyMap<string, string>,
): ReadonlyMap<string, XMLElement | undefined> | undefined {
  const values = new Map<string, XMLElement | undefined>()
  for (const change of childrenOf(record, 'changeSet')) {
    const name = textOf(change, 'name') ?? ''
    const path = known.get(name)
    const op = textOf(change, 'op') ?? ''
    const entries = path === undefined ? entriesOf(name, [...known.values()]) : NO_ENTRIES
    if (entries.size > 0 && op === 'assign') {
      for (const [entry, key] of entries) values.set(entry, entryIn(child(change, 'val'), key))
      continue
    }
    if (path === undefined || !(isKeyed(path) ? ENTRY_OPS : OPS).has(op)) return undefined
    values.set(path, SETS.has(op) ? child(change, 'val') : undefined)
  }
  return values
}

const NO_ENTRIES: ReadonlyMap<string, string> = new Map()
/** Operations on a property, on an entry of a keyed list, and those that come with a value. */
const OPS: ReadonlySet<string> = new Set(['assign', 'indirectRemove'])
const ENTRY_OPS: ReadonlySet<string> = new Set([...OPS, 'add', 'remove'])
const SETS: ReadonlySet<string> = new Set(['assign', 'add'])
