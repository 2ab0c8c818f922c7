import * as v from 'valibot'
import { ApiError } from '../../../agent/shared/api-error.ts'
import { attempt } from '../../../agent/shared/result.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import type { KubeClient, KubeRequest } from '../../kubernetes/client.ts'
import { readList } from '../../kubernetes/list.ts'
import { aborted } from '../../lib/tasks.ts'

const StoredObject = v.looseObject({
  metadata: v.looseObject({
    name: v.pipe(v.string(), v.minLength(1)),
    uid: v.optional(v.string()),
    resourceVersion: v.optional(v.string()),
  }),
})
type Stored = v.InferOutput<typeof StoredObject>

const JSONPatch = v.array(
  v.object({
    op: v.picklist(['add', 'remove', 'replace']),
    path: v.string(),
    value: v.optional(v.unknown()),
  }),
)

/** The objects of one kind, as they were when first listed, with the writes since. */
interface Collection {
  readonly objects: Map<string, Stored>
  /** Each change since, in order. */
  readonly changes: { readonly type: 'ADDED' | 'MODIFIED'; readonly object: Stored }[]
  /** Replaced after each change. */
  next: PromiseWithResolvers<void>
}

const VERSION = 'planned-'

/**
 * A client whose writes stay in this process: what is listed is read once, and from then on lists and watches show it with what
 * was written to it, by the API server's rules for patches and versions. So the second thing that a leader would do follows
 * from the first. A kind that the API server does not know has no objects. Nothing can be deleted.
 *
 * Other reads go to the API server.
 */
export function copyCluster(client: KubeClient): KubeClient {
  const collections = new Map<string, Promise<Collection>>()

  function collectionAt(path: string, signal: AbortSignal): Promise<Collection> {
    const known = collections.get(path)
    if (known !== undefined) return known
    const reading = readCollection(client, path, signal)
    collections.set(path, reading)
    // The next one who asks tries again.
    reading.catch(() => collections.delete(path))
    return reading
  }

  /** The collection and the name in the path of an object or of a part of it, such as its status. */
  async function find(path: string): Promise<{ readonly kept: Collection; readonly stored: Stored }> {
    for (const [collection, reading] of collections) {
      if (!path.startsWith(`${collection}/`)) continue
      const [name = ''] = path.slice(collection.length + 1).split('/')
      const kept = await reading
      const stored = kept.objects.get(decodeURIComponent(name))
      if (stored !== undefined) return { kept, stored }
    }
    throw new ApiError(`there is no ${path} in the copy`, { status: 404, reason: 'NotFound' })
  }

  async function create({ path, body, signal }: KubeRequest): Promise<Stored> {
    const kept = await collectionAt(path, signal)
    const object = v.parse(StoredObject, body)
    const { name } = object.metadata
    if (kept.objects.has(name))
      throw new ApiError(`${name} exists already`, { status: 409, reason: 'AlreadyExists' })
    const metadata = { ...object.metadata, uid: `${VERSION}${name}` }
    return store(kept, 'ADDED', { ...object, metadata })
  }

  async function change({ method, path, body }: KubeRequest): Promise<Stored> {
    const { kept, stored } = await find(path)
    const changed = v.parse(
      StoredObject,
      method === 'PUT' ? body : Array.isArray(body) ? patchJSON(stored, body) : merge(stored, body ?? {}),
    )
    const { uid, resourceVersion } = changed.metadata
    if (uid !== stored.metadata.uid || resourceVersion !== stored.metadata.resourceVersion)
      throw new ApiError(`${path} has changed`, { status: 409, reason: 'Conflict' })
    return store(kept, 'MODIFIED', changed)
  }

  return {
    async request(request) {
      const { method, path, query, signal } = request
      switch (method) {
        case 'GET': {
          // Only of a list a page is asked for.
          if (query?.limit === undefined) return client.request(request)
          const { objects, changes } = await collectionAt(path, signal)
          return { metadata: { resourceVersion: versionAfter(changes.length) }, items: [...objects.values()] }
        }
        case 'POST':
          return create(request)
        case 'DELETE':
          throw new ApiError('a plan deletes nothing', { status: 403, reason: 'Forbidden' })
        case 'PUT':
        case 'PATCH':
          return change(request)
      }
    },
    async stream({ path, query, signal }) {
      const kept = await collectionAt(path, signal)
      return watch(kept, Number(query?.resourceVersion?.slice(VERSION.length)), signal)
    },
    close: client.close,
  }
}

async function readCollection(client: KubeClient, path: string, signal: AbortSignal): Promise<Collection> {
  const objects = new Map<string, Stored>()
  const keep = (object: unknown): void => {
    const parsed = v.safeParse(StoredObject, object)
    if (parsed.success) objects.set(parsed.output.metadata.name, parsed.output)
  }
  const read = await attempt(() => readList(client, { path }, keep, signal))
  if (!read.ok && !hasStatus(read.error, 404)) throw read.error
  return { objects, changes: [], next: Promise.withResolvers() }
}

function store(kept: Collection, type: 'ADDED' | 'MODIFIED', given: Stored): Stored {
  const metadata = { ...given.metadata, resourceVersion: versionAfter(kept.changes.length + 1) }
  const object = { ...given, metadata }
  kept.objects.set(metadata.name, object)
  kept.changes.push({ type, object })
  kept.next.resolve()
  kept.next = Promise.withResolvers()
  return object
}

function versionAfter(changes: number): string {
  return `${VERSION}${changes}`
}

/** The changes from one on, as the lines of a watch. Throws when the signal aborts, as a connection that is cut off. */
async function* watch(kept: Collection, from: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const ended = aborted(signal)
  for (let at = from; ; at++) {
    while (at >= kept.changes.length) {
      await Promise.race([kept.next.promise, ended])
      signal.throwIfAborted()
    }
    yield Buffer.from(`${JSON.stringify(kept.changes[at])}\n`)
  }
}

type JSONObject = Readonly<Record<string, unknown>>

/** A JSON merge patch: null removes. */
function merge(target: unknown, changes: object): JSONObject {
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(changes)) {
    if (value === null) delete merged[key]
    else if (value !== undefined) merged[key] = isObject(value) ? merge(merged[key], value) : value
  }
  return merged
}

/** What a JSON patch (RFC 6902) makes of an object. */
function patchJSON(target: JSONObject, body: readonly unknown[]): unknown {
  return v.parse(JSONPatch, body).reduce<unknown>((object, operation) => {
    const keys = operation.path.split('/').slice(1)
    return operate(
      object,
      keys.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~')),
      operation,
    )
  }, target)
}

function operate(
  target: unknown,
  [key = '', ...rest]: readonly string[],
  operation: v.InferOutput<typeof JSONPatch>[number],
): unknown {
  const { op, value } = operation
  if (Array.isArray(target)) {
    const at = key === '-' ? target.length : Number(key)
    if (rest.length > 0) return target.with(at, operate(target[at], rest, operation))
    return target.toSpliced(at, op === 'add' ? 0 : 1, ...(op === 'remove' ? [] : [value]))
  }
  const { [key]: member, ...others } = isObject(target) ? target : {}
  if (rest.length > 0) return { ...others, [key]: operate(member, rest, operation) }
  return op === 'remove' ? others : { ...others, [key]: value }
}

function isObject(value: unknown): value is JSONObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
