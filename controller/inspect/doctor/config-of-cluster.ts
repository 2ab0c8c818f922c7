/** The configuration as the shipped manifests and the chart have it: a Secret, mounted into the controller's Pods. */
import { basename, dirname } from 'node:path'
import * as v from 'valibot'
import { attempt, failed, messageOf, ok, type Result } from '../../../agent/shared/result.ts'
import type { ConfigSource } from '../../config/load.ts'
import { Secret } from '../../config/secret.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import { listed } from '../../lib/listed.ts'

/** Where the manifests mount it. */
export const MOUNTED_CONFIG = '/etc/rollcall/vsphere.conf'

const KEY = basename(MOUNTED_CONFIG)

const Answer = v.object({ data: v.nullish(v.record(v.string(), v.string()), {}) })

/**
 * Reads the Secret once. Files that the configuration names are keys of it as well, given by their path in the Pod or
 * relative to the file. No other file is there, as in the Pod, and no environment variable of this machine counts.
 *
 * @returns an error that says what to do
 * @throws the signal's reason when it aborts
 */
export async function configOfCluster(
  client: Result<KubeClient>,
  { namespace, name }: LeaseName,
  signal: AbortSignal,
): Promise<Result<ConfigSource, { readonly message: string; readonly denied?: boolean }>> {
  if (!client.ok)
    return failed(
      `there is no --config, and no API server to read the configuration from: ${client.message}, or name the file with --config`,
    )
  const path = `/api/v1/namespaces/${namespace}/secrets/${name}`
  const secret = `the Secret ${namespace}/${name}`
  const read = await attempt(async () =>
    v.parse(Answer, await client.value.request({ method: 'GET', path, signal })),
  )
  signal.throwIfAborted()
  if (!read.ok) return { ...failed(unreadable(secret, read.error)), denied: hasStatus(read.error, 403) }
  // Wrapped, so that nothing prints them by accident.
  const files = new Map(
    Object.entries(read.value.data ?? {}).map(([key, value]) => [key, new Secret(value)] as const),
  )
  if (!files.has(KEY)) {
    const keys = listed([...files.keys()])
    return failed(
      `${secret} has no key ${KEY}${keys === '' ? '' : `, only ${keys}`}: create it as in config.example.yaml, or name a file with --config`,
    )
  }
  const folder = `Secret ${namespace}/${name}`
  return ok({
    path: `${folder}/${KEY}`,
    async readFile(path) {
      const value = [folder, dirname(MOUNTED_CONFIG)].includes(dirname(path))
        ? files.get(basename(path))
        : undefined
      if (value === undefined) throw notThere()
      return Buffer.from(value.reveal(), 'base64')
    },
    readFolder: () => Promise.reject(notThere()),
  })
}

function notThere(): Error {
  return Object.assign(new Error('not in the Secret'), { code: 'ENOENT' })
}

function unreadable(secret: string, error: unknown): string {
  const instead = 'or name the file with --config'
  if (hasStatus(error, 404))
    return `there is no --config, and ${secret} does not exist: create it as in config.example.yaml, say where it is with --namespace and --config-secret, ${instead}`
  if (hasStatus(error, 403))
    return `there is no --config, and this account may not get ${secret}: use the kubeconfig of an account that may, ${instead}`
  const said = messageOf(error)
  return `there is no --config, and ${secret} cannot be read: ${said}; fix that, ${instead}`
}
