import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '../servers/cluster.ts'
import type { ObservedNode, ObservedReport } from './view.ts'

/** What the API server has at one moment, by name. */
export interface Snapshot {
  readonly nodes: ReadonlyMap<string, ObservedNode>
  readonly reports: ReadonlyMap<string, ObservedReport>
}

const PERIOD = 50

/**
 * Looks at Nodes and NodeReports again and again, until `seen` says that it is enough; resolves with the last look.
 *
 * @param seen gets each look; true ends it
 */
export async function observe(
  cluster: Cluster,
  seen: (snapshot: Snapshot) => boolean,
  signal: AbortSignal,
): Promise<Snapshot> {
  for (;;) {
    const snapshot = await look(cluster)
    if (seen(snapshot)) return snapshot
    await sleep(PERIOD, undefined, { signal })
  }
}

/** As {@link observe}, while `work` goes on; its failure ends both. */
export async function observeDuring(
  work: () => Promise<void>,
  cluster: Cluster,
  seen: (snapshot: Snapshot) => boolean,
  signal: AbortSignal,
): Promise<Snapshot> {
  const failed = new AbortController()
  const [snapshot] = await Promise.all([
    observe(cluster, seen, AbortSignal.any([signal, failed.signal])),
    work().catch((error: unknown) => {
      failed.abort(error)
      throw error
    }),
  ])
  return snapshot
}

/** Looks once. */
export async function look(cluster: Cluster): Promise<Snapshot> {
  const [nodes, reports] = await Promise.all([
    list<ObservedNode>(cluster, '/api/v1/nodes'),
    list<ObservedReport>(cluster, '/apis/rollcall.dev/v1alpha1/nodereports'),
  ])
  return { nodes, reports }
}

async function list<T extends { readonly metadata: { readonly name: string } }>(
  cluster: Cluster,
  path: string,
): Promise<Map<string, T>> {
  const { status, body } = await cluster.request<{ items?: T[]; message?: string }>('GET', path)
  if (status !== 200 || !body.items) throw new Error(`the API server does not list ${path}: ${status}`)
  return new Map(body.items.map((item) => [item.metadata.name, item]))
}
