import * as v from 'valibot'
import { ApiError } from '../../../agent/shared/api-error.ts'
import { createInformer, type InformerOptions } from '../../kubernetes/informer.ts'
import type { Task } from '../../lib/tasks.ts'
import { isOfInterest, readValue, type SecretData, type SourceState } from './secret-data.ts'

export interface SecretWatchOptions
  extends Pick<InformerOptions<KeptSecret>, 'client' | 'clock' | 'random' | 'logger'> {
  readonly namespace: string
  readonly name: string
  readonly onState: (state: SourceState) => void
}

interface KeptSecret {
  readonly name: string
  readonly resourceVersion: string
  readonly data: SecretData
}

const SecretObject = v.object({
  metadata: v.object({ name: v.string(), resourceVersion: v.string() }),
  data: v.nullish(v.record(v.string(), v.string()), {}),
})

/** After these the next attempt may well succeed, and the informer makes it: HTTP 410 asks for a new list. */
const PASSING: ReadonlySet<number> = new Set([408, 410, 429, 502, 503, 504])

/**
 * Follows one Secret until the signal aborts: it may come, go and change. The right to list and watch that one name is
 * enough. Of its content nothing is kept but what may be a user or a password.
 */
export function watchSecret({ namespace, name, onState, ...options }: SecretWatchOptions): Task {
  const missing = {
    state: 'failed',
    message: `does not exist: create it, with the keys SERVER.username and SERVER.password`,
  } as const
  const watch = createInformer<KeptSecret>({
    ...options,
    path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`,
    fieldSelector: `metadata.name=${name}`,
    parse: (object) => parseSecret(object, name),
    onChange: tell,
    onSynced: tell,
    onFailing(error) {
      if (error === undefined) tell()
      else if (error instanceof ApiError && !PASSING.has(error.status))
        onState({ state: 'failed', message: refusal(error) })
    },
  })

  function tell(): void {
    const secret = watch.get(name)
    onState(secret === undefined ? missing : { state: 'read', data: secret.data })
  }

  return watch.run
}

/** Undefined for what is not that Secret: an API server that knows no selector would send others. */
function parseSecret(object: unknown, name: string): KeptSecret | undefined {
  const parsed = v.safeParse(SecretObject, object)
  if (!parsed.success || parsed.output.metadata.name !== name) return undefined
  const { metadata, data } = parsed.output
  const entries = Object.entries(data ?? {}).map(
    ([key, text]) => [key, isOfInterest(key) ? readValue(Buffer.from(text, 'base64')) : undefined] as const,
  )
  return { ...metadata, data: new Map(entries) }
}

function refusal({ status, message }: ApiError): string {
  if (status === 403)
    return `may not be read: give the controller the rights to list and watch it, as in manifests/credentials.example.yaml; ${message}`
  return `cannot be read: ${message}`
}
