/** What is stored of a cluster: every object's bytes, in base64, by key, as "/registry/minions/n1". */
export type Contents = ReadonlyMap<string, string>

/**
 * Keys that an API server writes by itself, to tell that it runs, which kinds it serves, and which addresses and ports of
 * Services are in use.
 */
const OWN =
  /^\/registry\/(masterleases\/|ranges\/|peerserverleases\/|leases\/kube-system\/apiserver-|apiregistration\.k8s\.io\/apiservices\/)/

const PREFIX = '/registry/'
/** The first key after all that begin with the prefix. */
const END = '/registry0'
/** etcd takes 128 in one transaction. */
const AT_ONCE = 100

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
 * learns of it as of another API server's writes, by its watches.
 */
export async function restoreContents(etcdUrl: string, should: Contents, are: Contents): Promise<void> {
  const writes = [
    ...[...are.keys()]
      .filter((key) => !should.has(key))
      .map((key) => ({ request_delete_range: { key: base64(key) } })),
    ...[...should]
      .filter(([key, value]) => are.get(key) !== value)
      .map(([key, value]) => ({ request_put: { key: base64(key), value } })),
  ]
  for (let start = 0; start < writes.length; start += AT_ONCE)
    await ask(etcdUrl, 'txn', { success: writes.slice(start, start + AT_ONCE) })
}

/** What differs from the contents that should be, in words; empty where nothing does. */
export function differences(should: Contents, are: Contents): string[] {
  return [
    ...[...are.keys()].filter((key) => !should.has(key)).map((key) => `${key} is left over`),
    ...[...should].flatMap(([key, value]) => {
      const found = are.get(key)
      if (found === undefined) return [`${key} is missing`]
      return found === value ? [] : [`${key} was changed`]
    }),
  ]
}

async function ask(etcdUrl: string, what: 'range' | 'txn', body: object): Promise<unknown> {
  const response = await fetch(`${etcdUrl}/v3/kv/${what}`, { method: 'POST', body: JSON.stringify(body) })
  if (!response.ok) throw new Error(`etcd answers ${response.status}: ${await response.text()}`)
  return response.json()
}
