/** What `doctor` and `bundle` begin with: a client, Rollcall's accounts, its configuration, and what it takes to ask vCenters. */

import { basename, dirname } from 'node:path'
import * as v from 'valibot'
import type { Clock } from '../../../agent/shared/clock.ts'
import { REPORTS_PATH } from '../../../agent/shared/node-report.ts'
import { attempt, failed, messageOf, ok, type Result } from '../../../agent/shared/result.ts'
import { readCredentials } from '../../config/credentials/credential-watch.ts'
import { ConfigError } from '../../config/findings.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from '../../config/load.ts'
import { Secret } from '../../config/secret.ts'
import { type Accounts, accountsIn, DEFAULT_NAMESPACE, reviewSelf } from '../../kubernetes/access-review.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import { createKubeClient, type KubeClient } from '../../kubernetes/client.ts'
import type { CredentialLocation } from '../../kubernetes/credentials.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import {
  createLoginAttempts,
  createSharedAnnotations,
  shareLease,
} from '../../kubernetes/lease-login-attempts.ts'
import { readAll } from '../../kubernetes/list.ts'
import { parseNode, parseNodeReport } from '../../kubernetes/parse-node.ts'
import { listed } from '../../lib/format.ts'
import type { Basics } from '../../lib/tasks.ts'
import type { NodeReport } from '../../types/node.ts'
import { createLoginLimiter } from '../../vcenter/session/login-limiter.ts'
import { TIMINGS } from '../../vcenter/timings.ts'
import { Denied, once } from './check.ts'

export interface DoctorOptions extends Basics {
  /** Without one it is read from {@link configSecret}. */
  readonly config: ConfigSource | undefined
  /** By default in the namespace of the controller's account. */
  readonly configSecret: Pick<LeaseName, 'name'> & { readonly namespace: string | undefined }
  /** The credential, or why there is none. */
  readonly credentials: Result<CredentialLocation>
  /** The Lease that the replicas compete for. */
  readonly lease: LeaseName
  readonly version: string
}

/** Milliseconds for the Secrets and folders that hold credentials. */
const CREDENTIALS_WITHIN = 15_000

/** Why there is no configuration. */
export interface NoConfiguration {
  readonly problems: readonly string[]
  /** Whether this account may not read it, which says nothing of what is there. */
  readonly denied?: boolean
}

/** Where the configuration was found, and what it says. */
export type FoundConfiguration = Result<
  { readonly source: ConfigSource; readonly loaded: LoadedConfig },
  NoConfiguration
>

const Binding = v.object({
  subjects: v.array(v.object({ kind: v.string(), name: v.string(), namespace: v.nullish(v.string(), '') })),
})

/**
 * The accounts that Rollcall has in this cluster: the controller's is the one that has its rights, or in a Pod our own. The
 * chart may have given it another namespace and name.
 */
async function findAccounts(
  { credentials, configSecret: { namespace = DEFAULT_NAMESPACE } }: DoctorOptions,
  client: Result<KubeClient>,
  self: () => Promise<{ readonly user: string }>,
  signal: AbortSignal,
): Promise<Accounts> {
  const path = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/rollcall-controller'
  const read = await attempt(async () =>
    v.parse(Binding, await opens(client).request({ method: 'GET', path, signal })),
  )
  const account = read.ok ? read.value.subjects.find(({ kind }) => kind === 'ServiceAccount') : undefined
  if (account !== undefined) return accountsIn(account.namespace, account.name)
  const inPod = credentials.ok && credentials.value.kind === 'in-cluster'
  const own = inPod ? await attempt(self) : undefined
  const [, space, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(own?.ok ? own.value.user : '') ?? []
  return space === undefined ? accountsIn(namespace) : accountsIn(space, name)
}

/** Loads the configuration that the options mean, with the accounts that say where it is. */
export async function findConfiguration(
  options: DoctorOptions,
  client: Result<KubeClient>,
  signal: AbortSignal,
) {
  const self = once(() => whoAmI(opens(client), options.clock, signal))
  const accounts = await findAccounts(options, client, self, signal)
  return { self, accounts, configured: await loadConfigured(options, client, accounts, signal) }
}

async function loadConfigured(
  { config, configSecret }: DoctorOptions,
  client: Result<KubeClient>,
  { controller }: Accounts,
  signal: AbortSignal,
): Promise<FoundConfiguration> {
  const { namespace = controller.namespace, name } = configSecret
  const source =
    config === undefined ? await configOfCluster(client, { namespace, name }, signal) : ok(config)
  if (!source.ok) return { ok: false, problems: [source.message], denied: source.denied === true }
  try {
    return ok({ source: source.value, loaded: await loadConfig(source.value) })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { ok: false, problems: error.message.split('\n') }
  }
}

/** A client, or why there is none. */
export function connect({
  credentials,
  clock,
  version,
}: Pick<DoctorOptions, 'credentials' | 'clock' | 'version'>): Result<KubeClient> {
  if (!credentials.ok) return credentials
  const userAgent = `rollcall-controller/${version}`
  try {
    return ok(createKubeClient({ credentials: credentials.value, clock, userAgent }))
  } catch (error) {
    return failed(messageOf(error))
  }
}

/** @throws where there is none */
export function opens(client: Result<KubeClient>): KubeClient {
  if (!client.ok) throw new Error(client.message)
  return client.value
}

/**
 * Whom the API server takes us for, and its clock minus ours, in milliseconds.
 *
 * @throws as `KubeClient.request`
 */
async function whoAmI(client: KubeClient, clock: Clock, signal: AbortSignal) {
  return reviewSelf(client, clock, signal).catch((cause: unknown) => {
    const said = messageOf(cause)
    if (hasStatus(cause, 403))
      throw new Denied(`it answers, but this account may not ask who it is; use another kubeconfig: ${said}`)
    throw new Error(`${said}; check server, CA and credential of the kubeconfig`, { cause })
  })
}

/** @throws where they cannot be read */
export async function nodesAndReports(client: Result<KubeClient>, signal: AbortSignal) {
  const opened = opens(client)
  const nodes = await readAll(opened, { path: '/api/v1/nodes' }, parseNode, signal)
  const reports = await attempt(() => readAll(opened, { path: REPORTS_PATH }, parseNodeReport, signal))
  // Without Rollcall's CRD there are none.
  if (!reports.ok && !hasStatus(reports.error, 404)) throw reports.error
  return {
    nodes: [...nodes.values()],
    reports: reports.ok ? reports.value : new Map<string, NodeReport>(),
    crd: reports.ok,
  }
}

/** What it takes to ask vCenters: their users and passwords, and logins that are counted with the leader's. */
export async function prepareToAsk(
  { source, loaded }: Extract<FoundConfiguration, { readonly ok: true }>['value'],
  client: Result<KubeClient>,
  options: Pick<DoctorOptions, 'clock' | 'random' | 'logger' | 'lease' | 'version'>,
  signal: AbortSignal,
) {
  const { clock, random, logger, lease } = options
  const { config } = loaded
  // Secrets need the API server, folders and the file do not.
  const filled =
    client.ok && Object.keys(config.credentials).length > 0
      ? await attempt(() =>
          readCredentials(
            { ...options, ...source, config, client: client.value, within: CREDENTIALS_WITHIN },
            signal,
          ),
        )
      : ok(config)
  signal.throwIfAborted()
  const annotations = createSharedAnnotations(client.ok ? shareLease(client.value, lease, clock) : undefined)
  const attempts = createLoginAttempts(annotations)
  const logins = createLoginLimiter({ attempts, timings: TIMINGS, clock, random, logger, once: true })
  const { vCenters, labels, labelRules } = filled.ok ? filled.value : config
  const userAgent = `rollcall-controller/${options.version}`
  const { alone } = annotations
  const around = { logins, alone, userAgent, timings: TIMINGS, clock, random, logger }
  return { vCenters, labels, labelRules, around }
}

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
async function configOfCluster(
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
