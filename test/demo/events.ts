import { setTimeout as sleep } from 'node:timers/promises'
import type { Cluster } from '../servers/cluster.ts'

/** An Event as far as the demo looks. */
export interface ObservedEvent {
  readonly type?: string
  readonly reason?: string
  readonly message?: string
  readonly involvedObject?: { readonly name?: string }
}

const PERIOD = 50
const COMES_WITHIN = 60_000

export async function listEvents({ request }: Pick<Cluster, 'request'>): Promise<readonly ObservedEvent[]> {
  const { body } = await request<{ items?: ObservedEvent[] }>('GET', '/api/v1/events')
  return body.items ?? []
}

/** The Events on a Node as soon as one has this reason: they come a moment after what they speak of; else those there are. */
export async function eventsOn(
  cluster: Pick<Cluster, 'request'>,
  nodeName: string,
  reason: string,
  signal: AbortSignal,
): Promise<readonly ObservedEvent[]> {
  const start = performance.now()
  for (;;) {
    const events = (await listEvents(cluster)).filter(
      ({ involvedObject }) => involvedObject?.name === nodeName,
    )
    const there = events.some((event) => event.reason === reason)
    if (there || performance.now() - start > COMES_WITHIN) return events
    await sleep(PERIOD, undefined, { signal })
  }
}
