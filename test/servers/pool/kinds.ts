import type { Cluster } from '../cluster.ts'

/** A kind of objects that the API server serves. */
export interface Kind {
  /** "/api/v1", "/apis/apps/v1". */
  readonly root: string
  /** "apps", and "" for the core. */
  readonly group: string
  /** "deployments". */
  readonly name: string
}

/** Kinds that are stored under another name than they are served under. */
const STORED_AS: Readonly<Record<string, string>> = {
  minions: 'nodes',
  'services/specs': 'services',
  'services/endpoints': 'endpoints',
}

/** All kinds that can be deleted. */
export async function readKinds(cluster: Cluster): Promise<readonly Kind[]> {
  const { groups } = await get<{ groups: { name: string; preferredVersion: { groupVersion: string } }[] }>(
    cluster,
    '/apis',
  )
  const roots = [
    { group: '', root: '/api/v1' },
    ...groups.map(({ name, preferredVersion }) => ({
      group: name,
      root: `/apis/${preferredVersion.groupVersion}`,
    })),
  ]
  const kinds = await Promise.all(
    roots.map(async ({ group, root }) => {
      const { resources } = await get<{ resources: { name: string; verbs: string[] }[] }>(cluster, root)
      return resources
        .filter(({ verbs }) => verbs.includes('delete'))
        .map(({ name }) => ({ root, group, name }))
    }),
  )
  return kinds.flat()
}

/** The path of a stored object in the API, as "/api/v1/nodes/n1"; undefined where its kind is not among `kinds`. */
export function apiPath(key: string, kinds: readonly Kind[]): string | undefined {
  const [, , first = '', second = '', ...more] = key.split('/')
  // A custom resource, and some of the API server's own, is stored under its group and its name.
  const grouped = kinds.find(({ group, name }) => group === first && name === second)
  if (grouped !== undefined) return pathIn(grouped, more)
  const half = STORED_AS[`${first}/${second}`]
  if (half !== undefined) return pathOf(half, more, kinds)
  return pathOf(STORED_AS[first] ?? first, [second, ...more], kinds)
}

function pathOf(name: string, rest: readonly string[], kinds: readonly Kind[]): string | undefined {
  const kind = kinds.find((each) => each.name === name)
  return kind && pathIn(kind, rest)
}

/** @param rest the object's name, after its namespace where it is in one */
function pathIn({ root, name }: Kind, rest: readonly string[]): string {
  const [namespace, object] = rest
  return object === undefined
    ? `${root}/${name}/${namespace}`
    : `${root}/namespaces/${namespace}/${name}/${object}`
}

async function get<T>(cluster: Cluster, path: string): Promise<T> {
  const { status, body } = await cluster.request<T>('GET', path)
  if (status !== 200) throw new Error(`GET ${path} is answered with ${status}`)
  return body
}
