/** What is stored of a cluster: a version by key, as "/registry/minions/n1", of every object. */
export type Contents = ReadonlyMap<string, StoredVersion>

export interface StoredVersion {
  /** Revisions of the whole store: of the object's creation, and of its last change. */
  readonly created: string
  readonly changed: string
}

/** Keys that an API server renews by itself, to tell that it runs, or which addresses and ports of Services are in use. */
const OWN = /^\/registry\/(masterleases\/|ranges\/|peerserverleases\/|leases\/kube-system\/apiserver-)/

const PREFIX = '/registry/'
/** The first key after all that begin with the prefix. */
const END = '/registry0'

interface Range {
  readonly kvs: readonly {
    readonly key: string
    readonly create_revision: string
    readonly mod_revision: string
  }[]
}

/**
 * Reads the keys of all objects from etcd: one request, where the API server would be asked for each kind.
 *
 * @param etcdUrl of the etcd that the API server stores in
 */
export async function readContents(etcdUrl: string): Promise<Contents> {
  const base64 = (text: string) => Buffer.from(text).toString('base64')
  const response = await fetch(`${etcdUrl}/v3/kv/range`, {
    method: 'POST',
    body: JSON.stringify({ key: base64(PREFIX), range_end: base64(END), keys_only: true }),
  })
  if (!response.ok) throw new Error(`etcd answers ${response.status}: ${await response.text()}`)
  const { kvs } = (await response.json()) as Range
  return new Map(
    kvs
      .map((kv): [string, StoredVersion] => [
        Buffer.from(kv.key, 'base64').toString(),
        { created: kv.create_revision, changed: kv.mod_revision },
      ])
      .filter(([key]) => !OWN.test(key)),
  )
}

/** What differs from the contents that should be, in words; empty where nothing does. */
export function differences(should: Contents, are: Contents): string[] {
  return [
    ...[...are.keys()].filter((key) => !should.has(key)).map((key) => `${key} is left over`),
    ...[...should].flatMap(([key, version]) => {
      const found = are.get(key)
      if (found === undefined) return [`${key} is missing`]
      return found.created === version.created && found.changed === version.changed
        ? []
        : [`${key} was changed`]
    }),
  ]
}
