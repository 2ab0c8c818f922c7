import * as v from 'valibot'
import type { KubeClient } from './client.ts'
import { readList } from './list.ts'

const PATH = '/apis/storage.k8s.io/v1/volumeattachments'

const VolumeAttachment = v.object({ spec: v.object({ nodeName: v.string() }) })

/**
 * Counts the VolumeAttachments that name a Node, those that are being deleted among them: as long as one is there, its
 * driver may still have to detach the volume. The API server selects them by no field of theirs, so all are read.
 *
 * @throws as {@link readList}; Error for an item that is no VolumeAttachment, which could be one of this Node
 */
export async function volumesAttachedTo(
  client: KubeClient,
  nodeName: string,
  signal: AbortSignal,
): Promise<number> {
  let count = 0
  await readList(
    client,
    PATH,
    (object) => {
      const parsed = v.safeParse(VolumeAttachment, object)
      if (!parsed.success)
        throw new Error(`GET ${PATH} was answered with an item that is no VolumeAttachment`)
      if (parsed.output.spec.nodeName === nodeName) count++
    },
    signal,
  )
  return count
}
