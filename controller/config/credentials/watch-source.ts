import { join } from 'node:path'
import * as v from 'valibot'
import { ApiError } from '../../../agent/shared/api-error.ts'
import { attempt } from '../../../agent/shared/result.ts'
import { createInformer, type InformerOptions } from '../../kubernetes/informer.ts'
import { type Basics, every, follow, type Task } from '../../lib/tasks.ts'
import type { VCenterCredentials } from '../config.ts'
import type { ConfigSource } from '../load.ts'
import { createRememberingReader, sameFiles, whyNotRead } from '../read-files.ts'
import { Secret } from '../secret.ts'

/** What it takes to follow a Secret or a folder. */
export interface SourceReads extends Basics, Pick<ConfigSource, 'readFile' | 'readFolder'> {
  readonly client: InformerOptions<KeptSecret>['client']
}

type OnState = (state: SourceState) => void

/** Follows a Secret or a folder, whichever a vCenter's credentials are in, and reports what it finds. */
export function sourceWatcher(reads: SourceReads) {
  return (source: VCenterCredentials, onState: OnState): Task =>
    source.kind === 'secret'
      ? watchSecret({ ...reads, ...source, onState })
      : watchFolder({ ...reads, ...source, onState })
}

/**
 * The values by their keys, or the names of files. Undefined for what no credential can be: under a key that says nothing of
 * one, not UTF-8, or too long. Only its key is kept.
 */
export type SecretData = ReadonlyMap<string, Secret | undefined>

/** What became of reading a source. */
export type SourceState =
  | { readonly state: 'pending' }
  /** Worded to follow what the source is called; `denied` where this account may not read it. */
  | { readonly state: 'failed'; readonly message: string; readonly denied?: boolean }
  | { readonly state: 'read'; readonly data: SecretData }

/** Longest value that is read, bytes: a certificate has a tenth of it. */
export const MAX_VALUE = 64 * 1024

const OF_INTEREST = /\.(username|password|vc-session-manager-(url|token))$|^(server|username|password)_/i

/** Whether a key may say anything of a credential. */
export function isOfInterest(key: string): boolean {
  return OF_INTEREST.test(key)
}

/** The value of a key that {@link isOfInterest}. */
export function readValue(bytes: Uint8Array): Secret | undefined {
  if (bytes.byteLength > MAX_VALUE) return undefined
  try {
    return new Secret(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    return undefined
  }
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
export function watchSecret({
  namespace,
  name,
  onState,
  ...options
}: Omit<SourceReads, 'readFile' | 'readFolder'> & {
  readonly onState: OnState
  readonly namespace: string
  readonly name: string
}): Task {
  const missing = {
    state: 'failed',
    message: 'does not exist: create it, with the keys SERVER.username and SERVER.password',
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
        onState({ state: 'failed', message: refusal(error), denied: error.status === 403 })
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
    return `cannot be read (permission denied): give the controller the rights to list and watch it, as in manifests/credentials.example.yaml; ${message}`
  return `cannot be read: ${message}`
}

/** Milliseconds between two looks, as at the configuration. */
const FOLDER_INTERVAL = 2_000
/** A mounted Secret has a few. */
const MAX_FILES = 1_000

/**
 * Follows the files of a folder until the signal aborts. The first look counts at once; after that a change counts when
 * two looks in a row have found the same, for the reasons that the watch of the configuration has.
 */
export function watchFolder({
  path,
  readFile,
  readFolder,
  clock,
  onState,
}: Pick<SourceReads, 'readFile' | 'readFolder' | 'clock'> & {
  readonly onState: OnState
  readonly path: string
}): Task {
  const nothingRead = { names: [], files: new Map() }

  async function look() {
    const reader = createRememberingReader(readFile)
    const listed = await attempt(() => readFolder(path))
    if (!listed.ok) return { state: unreadable(listed.error), ...nothingRead }
    // The kubelet keeps the versions of a mounted Secret under names with two dots.
    const names = listed.value.filter((name) => !name.startsWith('..')).sort()
    if (names.length > MAX_FILES) {
      const message = `has more than ${MAX_FILES} files: check that it is the right folder`
      return { state: { state: 'failed' as const, message }, ...nothingRead }
    }
    const data = new Map<string, Secret | undefined>()
    for (const name of names) {
      const file = isOfInterest(name)
        ? await attempt(() => reader.readFile(join(path, name), MAX_VALUE))
        : undefined
      data.set(name, file?.ok ? readValue(file.value) : undefined)
    }
    return { state: { state: 'read' as const, data }, names, files: reader.files }
  }

  return async (signal) => {
    const first: Awaited<ReturnType<typeof look>> = await look()
    onState(first.state)
    const again = follow(first, {
      look,
      same: (a, b) =>
        messageOf(a.state) === messageOf(b.state) &&
        a.names.join('\n') === b.names.join('\n') &&
        sameFiles(a.files, b.files),
      settles: true,
      onChange(found) {
        onState(found.state)
        return found
      },
    })
    await every(FOLDER_INTERVAL, again, clock)(signal)
  }
}

function messageOf(state: SourceState): string {
  return state.state === 'failed' ? state.message : ''
}

function unreadable(error: unknown): SourceState & { readonly state: 'failed' } {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (typeof code !== 'string') throw error
  const message = code === 'ENOTDIR' ? 'is not a folder: name one' : whyNotRead(code, MAX_VALUE)
  return { state: 'failed', message }
}
