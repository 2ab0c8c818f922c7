/** What `storage.k8s.io` says of a Node: its CSINode, and how many VolumeAttachments it has. */

import { isDeepStrictEqual } from 'node:util'
import * as v from 'valibot'
import type { Clock } from '../../agent/shared/clock.ts'
import { compact } from '../lib/memory.ts'
import type { Basics } from '../lib/tasks.ts'
import type { Node } from '../types/node.ts'
import { CSI_DRIVER, TOPOLOGY_LABELS } from '../types/well-known.ts'
import type { KubeClient } from './client.ts'
import { createInformer, type Informer, type Listed } from './informer.ts'
import { readAll, readList } from './list.ts'

const CSI_NODES = '/apis/storage.k8s.io/v1/csinodes'

/** What the controller keeps of a CSINode. */
export interface CSINode extends Listed {
  /** Of the Node that it belongs to; undefined where it does not say. */
  readonly nodeUID: string | undefined
  /** The labels of zone and region by which the vSphere CSI driver is registered; undefined where it is not. */
  readonly topologyKeys: readonly string[] | undefined
}

const CSINodeObject = v.object({
  metadata: v.object({
    name: v.pipe(v.string(), v.minLength(1)),
    resourceVersion: v.string(),
    ownerReferences: v.nullish(v.array(v.object({ kind: v.string(), uid: v.string() })), []),
  }),
  spec: v.object({
    drivers: v.nullish(
      v.array(v.object({ name: v.string(), topologyKeys: v.nullish(v.array(v.string()), []) })),
      [],
    ),
  }),
})

/** Undefined for anything that is not a CSINode. */
export function parseCSINode(object: unknown): CSINode | undefined {
  const parsed = v.safeParse(CSINodeObject, object)
  if (!parsed.success) return undefined
  const { metadata, spec } = parsed.output
  const keys = spec.drivers.find(({ name }) => name === CSI_DRIVER)?.topologyKeys
  return compact({
    name: metadata.name,
    resourceVersion: metadata.resourceVersion,
    nodeUID: metadata.ownerReferences.find(({ kind }) => kind === 'Node')?.uid,
    topologyKeys: keys && TOPOLOGY_LABELS.filter((label) => keys.includes(label)),
  })
}

/** The topology keys in a Node's CSINode; undefined where that belongs to another Node of the same name. */
export function topologyKeysOf(
  csiNode: CSINode | undefined,
  { uid }: Pick<Node, 'uid'>,
): readonly string[] | undefined {
  return (csiNode?.nodeUID ?? uid) === uid ? csiNode?.topologyKeys : undefined
}

/**
 * Follows the CSINodes. A driver whose Pod is restarted, or whose registration is refused, is taken out of its CSINode, while
 * its labels stay on the Node: what it was registered by last is remembered as long as there is that CSINode.
 */
export function createCSINodes({
  onChange,
  ...options
}: Basics & {
  readonly client: KubeClient
  /** The keys in the CSINode of this name have changed. */
  readonly onChange: (name: string) => void
}) {
  const known = Promise.withResolvers<void>()
  let failing = false
  const csiNodes: Informer<CSINode> = createInformer({
    ...options,
    path: CSI_NODES,
    parse(object) {
      const current = parseCSINode(object)
      if (current === undefined || current.topologyKeys !== undefined) return current
      const before = csiNodes.get(current.name)
      return before?.nodeUID === current.nodeUID
        ? { ...current, topologyKeys: before?.topologyKeys }
        : current
    },
    onChange(name, current, previous) {
      if (!isDeepStrictEqual(current?.topologyKeys, previous?.topologyKeys)) onChange(name)
    },
    onSynced: known.resolve,
    onFailing(error) {
      failing = error !== undefined
      known.resolve()
    },
  })
  return {
    /**
     * By which labels of zone and region the vSphere CSI driver is registered on a Node. Undefined where it is not, or CSINodes
     * cannot be read.
     */
    topologyKeysOf: (node: Pick<Node, 'name' | 'uid'>) => topologyKeysOf(csiNodes.get(node.name), node),
    /** Resolves once they are listed, or could not be: nobody waits for a right that is not there. */
    known: known.promise,
    /** What people should know, one line. */
    remarks: (): readonly string[] =>
      failing && !csiNodes.synced
        ? [
            'CSINodes cannot be read, so zone and region stay as they are where the vSphere CSI driver may have set them: see the rights in docs/security.md',
          ]
        : [],
    run: csiNodes.run,
  }
}

/**
 * All CSINodes by name, once.
 *
 * @throws as {@link readAll}
 */
export function readCSINodes(client: KubeClient, signal: AbortSignal): Promise<ReadonlyMap<string, CSINode>> {
  return readAll(client, { path: CSI_NODES }, parseCSINode, signal)
}

const VOLUME_ATTACHMENTS = '/apis/storage.k8s.io/v1/volumeattachments'
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
    if (latest === undefined || at - latest.at > SHARED_FOR) latest = { at, counts: countAll(client, signal) }
    return (await latest.counts).get(nodeName) ?? 0
  }
}

async function countAll(client: KubeClient, signal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>()
  await readList(
    client,
    { path: VOLUME_ATTACHMENTS },
    (object) => {
      const parsed = v.safeParse(VolumeAttachment, object)
      if (!parsed.success)
        throw new Error(`GET ${VOLUME_ATTACHMENTS} was answered with an item that is not a VolumeAttachment`)
      const { nodeName } = parsed.output.spec
      counts.set(nodeName, (counts.get(nodeName) ?? 0) + 1)
    },
    signal,
  )
  return counts
}
