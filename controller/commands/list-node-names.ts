import type { Clock } from '../../agent/shared/clock.ts'
import { createKubeClient } from '../kubernetes/client.ts'
import type { CredentialLocation } from '../kubernetes/credentials.ts'
import { readList } from '../kubernetes/list.ts'
import { parseNode } from '../kubernetes/parse-node.ts'

export interface ListNodeNamesOptions {
  readonly credentials: CredentialLocation
  readonly version: string
  readonly clock: Clock
}

/** What the API server lets be a name; a shell is shown nothing else. */
const NAME = /^[a-z0-9.-]+$/

/** The names of all Nodes, for completion. Throws as `KubeClient.request`. */
export async function listNodeNames(
  { credentials, version, clock }: ListNodeNamesOptions,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const client = createKubeClient({ credentials, clock, userAgent: `rollcall-controller/${version}` })
  const names: string[] = []
  const keep = (object: unknown): void => {
    const name = parseNode(object)?.name
    if (name !== undefined && NAME.test(name)) names.push(name)
  }
  try {
    await readList(client, { path: '/api/v1/nodes' }, keep, signal)
  } finally {
    await client.close()
  }
  return names
}
