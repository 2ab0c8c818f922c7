/** A tag service, and a reader of it. */
import { createHandClock } from '../../../test/fixtures/hand-clock.ts'
import { createTagReader, type ObjectTags } from '../collect/tags.ts'
import type { RESTCall, RESTClient } from '../session/rest.ts'
import { RESTError } from '../session/rest-interfaces.ts'
import { TIMINGS } from '../timings.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'

const { signal } = new AbortController()
export const object = (value: string) => ({ type: 'Folder', value })

/** A tag service with these attachments; `refuse` makes calls fail. */
export function tagService(
  attached: Record<string, string[]>,
  refuse: (call: RESTCall) => number | Error | undefined = () => undefined,
) {
  const calls: string[] = []
  /** Names that tags have by now, by what they are called in `attached`. */
  const tags = new Map<string, string>()
  const rest: RESTClient = {
    async call(call) {
      calls.push(`${call.resource}${call.id === undefined ? '' : ` ${call.id} ${call.action ?? ''}`}`)
      const refusal = refuse(call)
      if (refusal instanceof Error) throw refusal
      if (refusal !== undefined) throw new RESTError('vc', call.resource, refusal)
      const { id } = call
      const all = () => [...new Set(Object.values(attached).flat())]
      const categoryOf = (tag: string) => `id of ${tag.split('/')[0]}`
      if (call.resource === 'tagging/category') {
        if (id === undefined) return [...new Set(all().map(categoryOf))]
        return { name: decodeURIComponent(id).slice(6) }
      }
      if (call.resource === 'tagging/tag' && id !== undefined) {
        const key = decodeURIComponent(id)
        if (call.method === 'GET') return { name: tags.get(key) ?? key.split('/')[1] }
        if (call.action !== 'list-tags-for-category') throw new Error(call.action)
        return all().filter((tag) => categoryOf(tag) === key)
      }
      const { object_ids } = JSON.parse(JSON.stringify(call.body)) as {
        object_ids: { type: string; id: string }[]
      }
      // As real servers do: not in the order asked for, and nothing for an object without tags.
      return object_ids
        .filter(({ id }) => attached[id] !== undefined)
        .reverse()
        .map((object_id) => ({ object_id, tag_ids: attached[object_id.id] }))
    },
    logout: () => Promise.resolve(),
  }
  return { ...readerOf(rest), rest, calls, tags }
}

/** Reads and resolves with all that was handed over. */
export function readerOf(rest: RESTClient) {
  const clock = createHandClock()
  const categories = new Set(['zone', 'region'])
  const reader = createTagReader({ rest, categories, timings: TIMINGS, clock })
  const read = async (objects: readonly ManagedObjectReference[]) => {
    const read = new Map<string, ObjectTags>()
    await reader.read(
      objects,
      (tags) => {
        for (const [key, value] of tags) read.set(key, value)
      },
      signal,
    )
    return read
  }
  return { reader, read, clock }
}
