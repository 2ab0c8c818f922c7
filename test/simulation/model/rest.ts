/** What a vCenter answers to the REST calls that the real code sends: sessions, and the tags of hosts and datacenters. */

import * as v from 'valibot'
import type { HTTPRequest } from '../../../controller/vcenter/wire/connection.ts'
import type { Client } from './session.ts'
import type { VCenterModel } from './vcenter.ts'

/** The tag categories that a configuration may name. */
export const CATEGORIES = { zone: 'k8s-zone', region: 'k8s-region' } as const
/** One that only hosts have tags of. */
export const RACK = 'rack'

const PREFIX = '/rest/com/vmware/cis/'
/** Those of somebody else. vCenter lists them first. */
export const FOREIGN_CATEGORIES = ['backup', 'billing', 'owner', 'patching', 'tier'] as const
/** Tags by ID, with their categories; IDs are names here. */
const CATEGORY_OF: Readonly<Record<string, string>> = {
  ...Object.fromEntries(FOREIGN_CATEGORIES.map((name) => [`some-${name}`, name])),
  ...Object.fromEntries([0, 1, 2, 3].map((number) => [zoneOf(`host-${number}`), CATEGORIES.zone])),
  ...Object.fromEntries(['dc-1', 'dc-2'].map((name) => [regionOf(name), CATEGORIES.region])),
  ...Object.fromEntries([0, 1, 2, 3].map((number) => [rackOf(`host-${number}`), RACK])),
  // The zone of what has none of its own: no host is in it.
  ...Object.fromEntries(['dc-1', 'dc-2'].map((name) => [zoneOf(name), CATEGORIES.zone])),
}

const Objects = v.object({ object_ids: v.array(v.object({ type: v.string(), id: v.string() })) })

/** The zone in which a host is. */
export function zoneOf(host: string): string {
  return `zone-of-${host}`
}

/** The rack in which a host is. */
export function rackOf(host: string): string {
  return `rack-of-${host}`
}

/** The region in which a datacenter is. */
export function regionOf(datacenter: string): string {
  return `region-of-${datacenter}`
}

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
  if (named.some((id) => vCenter.tagsDenied.has(id))) return { status: 403 }
  // Who has no right on tags any more finds none, and is refused nothing.
  if (vCenter.tagsHidden && named.length > 0 && resource !== 'tagging/tag-association') return { status: 404 }
  return { status: 200, value: tagAnswer(vCenter, resource, query, body) }
}

function tagAnswer(vCenter: VCenterModel, resource: string, query: string, body = ''): unknown {
  const { tagsHidden: hidden, untagged } = vCenter
  const [, service = '', , id = ''] = /^tagging\/([\w-]+)(\/id:(.+))?$/.exec(resource) ?? []
  switch (service) {
    case 'tag-association':
      return objectsOf(body).map((object) => ({
        object_id: object,
        tag_ids: hidden ? [] : tagsOf(object).filter((tag) => !untagged.has(`${object.id} ${tag}`)),
      }))
    case 'category':
      if (id !== '') return { name: id }
      return hidden ? [] : [...new Set(Object.values(CATEGORY_OF))]
    case 'tag':
      // With an action it is a category that is named.
      return query === '' ? { name: id } : Object.keys(CATEGORY_OF).filter((tag) => CATEGORY_OF[tag] === id)
    default:
      throw new Error(`the resource ${resource} is not modeled`)
  }
}

function objectsOf(body = '') {
  return v.parse(Objects, JSON.parse(body)).object_ids
}

function tagsOf({ type, id }: { readonly type: string; readonly id: string }): readonly string[] {
  if (type === 'HostSystem') {
    const host = id.split('.')[0] ?? ''
    return [zoneOf(host), rackOf(host), 'some-backup']
  }
  return type === 'Datacenter' ? [regionOf(id), zoneOf(id)] : []
}
