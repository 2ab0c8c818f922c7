import type { Cluster } from '../cluster.ts'

/** Every object of a cluster by UID, but for those that the API server renews by itself. */
export type Contents = ReadonlyMap<string, StoredObject>

export interface StoredObject {
  /** As "/api/v1/nodes/n1". */
  readonly path: string
  readonly resourceVersion: string
}

interface ListedObject {
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly uid: string
    readonly resourceVersion: string
    readonly labels?: Record<string, string>
  }
}

interface Resource {
  readonly name: string
  readonly namespaced: boolean
  readonly verbs: readonly string[]
}

/** On the Lease by which an API server tells that it runs. */
const API_SERVER_LEASE = 'apiserver.kubernetes.io/identity'

/** Lists all kinds of objects that the API server serves, from its storage and not from a cache. */
export async function readContents(cluster: Cluster): Promise<Contents> {
  const roots = await groupVersions(cluster)
  const lists = await Promise.all(roots.map((root) => readGroup(cluster, root)))
  return new Map(lists.flat())
}

async function groupVersions(cluster: Cluster): Promise<string[]> {
  const { groups } = await get<{ groups: { preferredVersion: { groupVersion: string } }[] }>(cluster, '/apis')
  return ['/api/v1', ...groups.map(({ preferredVersion }) => `/apis/${preferredVersion.groupVersion}`)]
}

async function readGroup(cluster: Cluster, root: string): Promise<[string, StoredObject][]> {
  const { resources } = await get<{ resources: Resource[] }>(cluster, root)
  const stored = resources.filter(({ verbs }) => verbs.includes('list') && verbs.includes('delete'))
  const lists = await Promise.all(
    stored.map(async ({ name, namespaced }) => {
      const { items } = await get<{ items: ListedObject[] }>(cluster, `${root}/${name}`)
      return items
        .filter(({ metadata }) => metadata.labels?.[API_SERVER_LEASE] === undefined)
        .map(({ metadata }): [string, StoredObject] => {
          const folder = namespaced ? `${root}/namespaces/${metadata.namespace}` : root
          const path = `${folder}/${name}/${metadata.name}`
          return [metadata.uid, { path, resourceVersion: metadata.resourceVersion }]
        })
    }),
  )
  return lists.flat()
}

async function get<T>(cluster: Cluster, path: string): Promise<T> {
  const { status, body } = await cluster.request<T>('GET', path)
  if (status !== 200) throw new Error(`GET ${path} is answered with ${status}`)
  return body
}

/** What differs from the contents that should be, in words; empty where nothing does. */
export function differences(should: Contents, are: Contents): string[] {
  return [
    ...[...are].filter(([uid]) => !should.has(uid)).map(([, { path }]) => `${path} is left over`),
    ...[...should].flatMap(([uid, { path, resourceVersion }]) => {
      const found = are.get(uid)
      if (found === undefined) return [`${path} is missing`]
      return found.resourceVersion === resourceVersion ? [] : [`${path} was changed`]
    }),
  ]
}
