/** The files that a CPI reads, as its Pod sees them: keys of ConfigMaps and Secrets, read from the cluster. */
import * as v from 'valibot'
import { attempt, failed, messageOf, ok, type Result } from '../../agent/shared/result.ts'
import type { ConfigSource } from '../config/load.ts'
import { Secret } from '../config/secret.ts'
import { hasStatus } from '../kubernetes/api-error.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import { type ReadSources, sourceText, type VariableSource } from './interlock/container-environment.ts'
import { type Manager, nameOf } from './interlock/find-cpi.ts'
import { type ConfigKey, findKey } from './interlock/workloads.ts'

const texts = v.nullish(v.record(v.string(), v.string()), {})
const Contents = v.object({ data: texts, binaryData: texts })

/** What a ConfigMap or a Secret has, by key. Functions, so that nothing prints it by accident. */
type ReadObject = Result<ReadonlyMap<string, () => Buffer>>

/** Reads each ConfigMap and Secret of a namespace once; an error is one sentence. */
export function objectReader(
  client: KubeClient,
  namespace: string,
  signal: AbortSignal,
): (object: VariableSource) => Promise<ReadObject> {
  const reading = new Map<string, Promise<ReadObject>>()
  async function read({ kind, name }: VariableSource): Promise<ReadObject> {
    const path = `/api/v1/namespaces/${namespace}/${kind.toLowerCase()}s/${encodeURIComponent(name)}`
    const answer = await attempt(async () =>
      v.parse(Contents, await client.request({ method: 'GET', path, signal })),
    )
    signal.throwIfAborted()
    if (!answer.ok) return failed(unreadable(`${kind} ${namespace}/${name}`, answer.error))
    const { data, binaryData } = answer.value
    const decode = (from: Readonly<Record<string, string>> | null, encoding: 'utf8' | 'base64') =>
      Object.entries(from ?? {}).map(([key, text]) => [key, () => Buffer.from(text, encoding)] as const)
    return ok(
      new Map([...decode(binaryData, 'base64'), ...decode(data, kind === 'Secret' ? 'base64' : 'utf8')]),
    )
  }
  return (object) => {
    const key = sourceText(object)
    const known = reading.get(key) ?? read(object)
    reading.set(key, known)
    return known
  }
}

function unreadable(what: string, error: unknown): string {
  if (hasStatus(error, 404)) return `${what} does not exist`
  if (hasStatus(error, 403))
    return `this account may not get ${what}; use the kubeconfig of an account that may`
  return `${what} cannot be read: ${messageOf(error)}`
}

/** Reads what gives a CPI its environment; what cannot be read is left out. */
export async function readSources(
  read: ReturnType<typeof objectReader>,
  sources: readonly VariableSource[],
): Promise<ReadSources> {
  const contents = await Promise.all(
    sources.map(async (source) => [sourceText(source), await read(source)] as const),
  )
  return new Map(
    contents.flatMap(([source, found]) => {
      if (!found.ok) return []
      const values = [...found.value].map(([key, bytes]) => [key, new Secret(bytes().toString())] as const)
      return [[source, new Map(values)] as const]
    }),
  )
}

/**
 * The CPI's configuration as its Pod has it: its file, the files that it names, and no other. The environment is not part of it.
 *
 * @returns an error that says what to do
 */
export function configOfCPI(cpi: Manager, read: ReturnType<typeof objectReader>): Result<ConfigSource> {
  const instead = 'name its vsphere.conf with --config'
  const { cloudConfig: path } = cpi.flags
  if (path === undefined) return failed(`${nameOf(cpi)} has no --cloud-config; ${instead}`)
  if (cpi.config === undefined)
    return failed(
      `${nameOf(cpi)} reads ${path}, which is not in a ConfigMap or Secret that it mounts; copy that file, and ${instead}`,
    )
  return ok({
    path,
    async readFile(path) {
      const key = findKey(cpi.mounts, path)
      const contents = key && (await read(objectOf(key)))
      if (contents?.ok === false) throw new Error(`${path}: ${contents.message}; or ${instead}`)
      const bytes = key && contents?.value.get(key.key)
      if (bytes === undefined) throw notThere(path)
      return bytes()
    },
    async readFolder(path) {
      const mount = cpi.mounts.find((each) => each.path === path && each.subPath === '')
      if (mount === undefined) throw notThere(path)
      if (mount.items) return mount.items.map((item) => item.path)
      const contents = await read(objectOf(mount))
      if (!contents.ok) throw new Error(`${path}: ${contents.message}; or ${instead}`)
      return [...contents.value.keys()]
    },
  })
}

function objectOf({ kind, name }: Pick<ConfigKey, 'kind' | 'name'>): VariableSource {
  return { kind: kind === 'secret' ? 'Secret' : 'ConfigMap', name }
}

function notThere(path: string): Error {
  return Object.assign(new Error(`${path} is not among the CPI's files`), { code: 'ENOENT' })
}
