import * as v from 'valibot'
import type { Clock } from '../../agent/shared/clock.ts'
import type { KubeClient } from './client.ts'
import { readList } from './list.ts'

const PATH = '/apis/storage.k8s.io/v1/volumeattachments'
/** For how long calls share a list, from its start, milliseconds: a hundred Nodes at once cost one list. */
const SHARED_FOR = 1_000

const VolumeAttachment = v.object({ spec: v.object({ nodeName: v.string() }) })

/**
 * Counts the VolumeAttachments that name a Node, including those being deleted: as long as one exists, its driver may still
 * have to detach the volume. The API server cannot select them by field, so all are listed, once for concurrent calls: the
 * signal of the first ends that list for all.
 *
 * @throws as {@link readList}; Error for an item that is not a VolumeAttachment, as it could be one of this Node
 */
export function createVolumeAttachments(
  client: KubeClient,
  clock: Pick<Clock, 'monotonic'>,
): (nodeName: string, signal: AbortSignal) => Promise<number> {
  let latest: { readonly at: number; readonly counts: Promise<ReadonlyMap<string, number>> } | undefined
  return async (nodeName, signal) => {
    const at = clock.monotonic()
    if (latest === undefined || at - latest.at > SHARED_FOR) latest = { at, counts: readAll(client, signal) }
    return (await latest.counts).get(nodeName) ?? 0
  }
}

async function readAll(client: KubeClient, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  await readList(
    client,
    { path: PATH },
    (object) => {
      const parsed = v.safeParse(VolumeAttachment, object)
      if (!parsed.success)
        throw new Error(`GET ${PATH} was answered with an item that is not a VolumeAttachment`)
      const { nodeName } = parsed.output.spec
      counts.set(nodeName, (counts.get(nodeName) ?? 0) + 1)
    },
    signal,
  )
  return counts
}
