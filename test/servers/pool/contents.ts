/** What is stored of a cluster: every object's bytes, in base64, by key, as "/registry/minions/n1". */
export type Contents = ReadonlyMap<string, string>

/**
 * Keys that an API server writes by itself, to tell that it runs, that it serves reports, and which addresses and ports of
 * Services are in use.
 */
const OWN =
  /^\/registry\/(masterleases\/|ranges\/|peerserverleases\/|leases\/kube-system\/apiserver-|apiregistration\.k8s\.io\/apiservices\/v1(alpha1|beta1)\.rollcall\.dev$)/

const PREFIX = '/registry/'
/** The first key after all that begin with the prefix. */
const END = '/registry0'
/** So many requests at once, that a thousand Nodes do not open a thousand connections. */
const AT_ONCE = 20

const base64 = (text: string) => Buffer.from(text).toString('base64')

/**
 * Reads all objects from etcd: one request, where the API server would be asked for each kind.
 *
 * @param etcdUrl of the etcd that the API server stores in
 */
export async function readContents(etcdUrl: string): Promise<Contents> {
  const range = { key: base64(PREFIX), range_end: base64(END) }
  const { kvs } = (await ask(etcdUrl, 'range', range)) as { kvs: { key: string; value: string }[] }
  return new Map(
    kvs
      .map(({ key, value }): [string, string] => [Buffer.from(key, 'base64').toString(), value])
      .filter(([key]) => !OWN.test(key)),
  )
}

/**
 * Deletes what should not be there, finalizers or not, and writes back what is missing or was changed. The API server
 * learns of it as of another API server's writes, by its watches. Each write has a revision of its own, by which the API
 * server tells whether somebody's watch has had it.
 */
export async function restoreContents(etcdUrl: string, wanted: Contents, found: Contents): Promise<void> {
  const next = changedKeys(wanted, found).values()
  const worker = async () => {
    for (const name of next) {
      const key = base64(name)
      const value = wanted.get(name)
      await (value === undefined ? ask(etcdUrl, 'deleterange', { key }) : ask(etcdUrl, 'put', { key, value }))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

/** The keys of what is left over, missing or changed; in the order of the alphabet, a policy before its binding. */
export function changedKeys(wanted: Contents, found: Contents): string[] {
  return [...new Set([...wanted.keys(), ...found.keys()])]
    .filter((key) => wanted.get(key) !== found.get(key))
    .sort()
}

/** What differs from the contents that should be, in words; empty where nothing does. */
export function differences(wanted: Contents, found: Contents): string[] {
  return changedKeys(wanted, found).map((key) => {
    if (!wanted.has(key)) return `${key} is left over`
    return found.has(key) ? `${key} was changed` : `${key} is missing`
  })
}

async function ask(etcdUrl: string, what: 'range' | 'deleterange' | 'put', body: object): Promise<unknown> {
  const response = await fetch(`${etcdUrl}/v3/kv/${what}`, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`etcd answers ${response.status}: ${await response.text()}`)
  return response.json()
}
