import type { Clock } from '../../../agent/shared/clock.ts'
import { attempt } from '../../../agent/shared/result.ts'
import { createKubeClient } from '../../kubernetes/client.ts'
import { type CredentialLocation, operatorCredentials } from '../../kubernetes/credentials.ts'
import { readList } from '../../kubernetes/list.ts'
import { parseNode } from '../../kubernetes/parse-node.ts'
import type { Completion } from '../command-line/complete.ts'

export interface CompletionOptions {
  readonly env: NodeJS.ProcessEnv
  readonly version: string
  readonly clock: Clock
  /** Aborts when a person has waited long enough for the names of Nodes. */
  readonly signal: AbortSignal
}

/** What the API server lets be a name; a shell is shown nothing else. */
const NAME = /^[a-z0-9.-]+$/

/**
 * Candidates for the end of a command line, in the format that the shells' scripts read: one a line, then `:0` for files or
 * `:4` for nothing else. Errors would only be in the way of what is being typed, so there are fewer candidates instead.
 */
export async function completion(found: Completion, options: CompletionOptions): Promise<string> {
  switch (found.kind) {
    case 'files':
      return ':0\n'
    case 'words':
      return lines(found.words)
    case 'nodes': {
      const credentials = operatorCredentials(found, options.env)
      const names = credentials.ok
        ? await attempt(() => listNodeNames(credentials.value, options))
        : credentials
      return lines(names.ok ? names.value.filter((name) => name.startsWith(found.prefix)) : [])
    }
  }
}

const lines = (candidates: readonly string[]) => `${[...candidates, ':4'].join('\n')}\n`

async function listNodeNames(
  credentials: CredentialLocation,
  { version, clock, signal }: CompletionOptions,
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
