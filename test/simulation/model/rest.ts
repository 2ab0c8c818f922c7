/** What a vCenter answers to the REST calls that the real code sends: sessions, and the tags of hosts and datacenters. */

import * as v from 'valibot'
import type { HTTPRequest } from '../../../controller/vcenter/wire/connection.ts'
import type { Client } from './session.ts'
import type { VCenterModel } from './vcenter.ts'

const PREFIX = '/rest/com/vmware/cis/'
const Objects = v.object({ object_ids: v.array(v.object({ type: v.string(), id: v.string() })) })

export interface RESTAnswer {
  readonly status: number
  readonly value?: unknown
}

/** Whether a call opens a session. */
export function isLogin({ method, path }: HTTPRequest): boolean {
  return method === 'POST' && path === `${PREFIX}session`
}

/** Answers a call. Throws an Error for one that is not modeled. */
export function answerREST(vCenter: VCenterModel, request: HTTPRequest, client: Client): RESTAnswer {
  const { method, path, headers, body } = request
  const [resource = '', query = ''] = path.slice(PREFIX.length).split('?')
  if (!path.startsWith(PREFIX)) throw new Error(`the path ${path} is not modeled`)
  if (isLogin(request)) {
    const key = vCenter.loginREST(client)
    return key === undefined ? { status: 401 } : { status: 200, value: key }
  }
  const key = headers['vmware-api-session-id'] ?? ''
  if (!vCenter.restSessions.has(key)) return { status: 401 }
  if (resource === 'session') {
    if (method === 'DELETE') vCenter.restSessions.delete(key)
    return { status: 200, value: null }
  }
  // The tag service starts late.
  if (vCenter.loaded !== undefined) return { status: 503 }
  const named =
    resource === 'tagging/tag-association'
      ? objectsOf(body).map(({ id }) => id)
      : resource.split('/id:').slice(1)
  const [denied] = named.flatMap((id) => vCenter.tagsDenied.get(id) ?? [])
  if (denied !== undefined) return { status: denied }
  const { tagsHidden, tagging } = vCenter
  const isGone = (id: string): boolean =>
    tagging.stillListed.has(id) || !(tagging.tags.has(id) || tagging.categories.has(id))
  if (resource !== 'tagging/tag-association') {
    // An account without rights on tags is refused each that it names. Lists and objects have none for it.
    if (tagsHidden && named.length > 0) return { status: 403 }
    if (named.some(isGone)) return { status: 404 }
  }
  return { status: 200, value: tagAnswer(vCenter, resource, query, body) }
}

function tagAnswer(vCenter: VCenterModel, resource: string, query: string, body = ''): unknown {
  const { tagsHidden: hidden, untagged, tagging } = vCenter
  const { categories, tags, attached } = tagging
  const [, service = '', , id = ''] = /^tagging\/([\w-]+)(\/id:(.+))?$/.exec(resource) ?? []
  switch (service) {
    case 'tag-association':
      return objectsOf(body).map((object) => ({
        object_id: object,
        tag_ids: hidden
          ? []
          : [...(attached.get(object.id) ?? [])].filter((tag) => !untagged.has(`${object.id} ${tag}`)),
      }))
    case 'category':
      if (id !== '') return { name: categories.get(id) }
      return hidden ? [] : [...categories.keys()]
    case 'tag':
      // With an action it is a category that is named.
      if (query === '') return { name: tags.get(id)?.name }
      return [...tags].flatMap(([tag, { category }]) => (category === id ? tag : []))
    default:
      throw new Error(`the resource ${resource} is not modeled`)
  }
}

function objectsOf(body = '') {
  return v.parse(Objects, JSON.parse(body)).object_ids
}
