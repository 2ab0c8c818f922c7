import type { Cluster } from '../servers/cluster.ts'
import type { NodeObject } from '../world/objects.ts'
import { type Recording, record, type Version } from '../world/recorder.ts'

/** The Nodes as the API server has them. */
export interface NodeWatch extends Pick<Recording<NodeObject>, 'last' | 'gaps'>, AsyncDisposable {
  all(): readonly NodeObject[]
  /** Those that were deleted since the last call, as they were. */
  deletions(): readonly Version<NodeObject>[]
}

export async function watchNodes(cluster: Cluster): Promise<NodeWatch> {
  const recording = await record<NodeObject>(cluster, '/api/v1/nodes')
  const known = new Map<string, NodeObject>()
  let deletions: Version<NodeObject>[] = []
  let seen = 0

  function look(): void {
    for (const version of recording.versions.slice(seen)) {
      const { name } = version.object.metadata
      if (version.type === 'DELETED') {
        known.delete(name)
        deletions.push(version)
      } else known.set(name, version.object)
    }
    seen = recording.versions.length
  }

  return {
    last: recording.last,
    gaps: recording.gaps,
    all() {
      look()
      return [...known.values()]
    },
    deletions() {
      look()
      const last = deletions
      deletions = []
      return last
    },
    [Symbol.asyncDispose]: () => recording.close(),
  }
}
