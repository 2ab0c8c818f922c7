import * as v from 'valibot'
import type { Clock } from '../../../agent/shared/clock.ts'
import {
  type CheckResult,
  chain,
  fail,
  fine,
  type Line,
  skip,
  warn,
} from '../../../agent/shared/diagnosis.ts'
import { API_GROUP, API_VERSION, type ParentObject, PLURAL } from '../../../agent/shared/node-report.ts'
import { attempt, failed, messageOf, ok, type Result } from '../../../agent/shared/result.ts'
import type { Config } from '../../config/config.ts'
import { readCredentials } from '../../config/credentials/credential-watch.ts'
import { ConfigError } from '../../config/findings.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from '../../config/load.ts'
import { readCPI } from '../../cpi/read-cpi.ts'
import {
  type Accounts,
  accountsIn,
  DEFAULT_NAMESPACE,
  reviewSelf,
  userOf,
} from '../../kubernetes/access-review.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import { createKubeClient, type KubeClient } from '../../kubernetes/client.ts'
import type { CredentialLocation } from '../../kubernetes/credentials.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import { readAll } from '../../kubernetes/list.ts'
import { parseNode, parseNodeReport } from '../../kubernetes/parse-node.ts'
import {
  createLoginAttempts,
  createSharedAnnotations,
  shareLease,
} from '../../kubernetes/vcenter-login-attempts.ts'
import { count, listed } from '../../lib/listed.ts'
import type { Basics } from '../../lib/tasks.ts'
import type { NodeReport } from '../../types/node.ts'
import { createLoginLimiter } from '../../vcenter/session/login-limiter.ts'
import { TIMINGS } from '../../vcenter/timings.ts'
import { AGENTS } from './agents.ts'
import { Denied, type FactsOf, judgeAll, type Looked, look, lookAll, once } from './check.ts'
import { CLUSTER, type ClusterAround, type ClusterGiven } from './cluster.ts'
import { configOfCluster } from './config-of-cluster.ts'
import { CPI } from './cpi.ts'
import { POLICY_CHECKS } from './policies.ts'
import { RIGHTS } from './rights.ts'
import { judgeTwins, judgeVCenter, lookAtVCenter, type VCenterFacts } from './vcenter.ts'

const { skew, reportFields, ...others } = CLUSTER
/** The checks of the cluster, in the order of their lines. */
const CHECKS = { skew, reportFields, ...RIGHTS, ...POLICY_CHECKS, ...others, ...AGENTS, ...CPI }

/** What `doctor` has seen. */
export interface DoctorFacts {
  /** Milliseconds since the epoch, by the clock of this machine. */
  readonly now: number
  readonly configuration: Result<
    Pick<LoadedConfig, 'warnings' | 'requireGiven'> & {
      readonly path: string
      readonly vCenters: readonly string[]
    } & Pick<Config, 'identity'>,
    Unconfigured
  >
  readonly cluster: Looked<ClusterFacts>
  /** In the order of the configuration; none where that is wrong. */
  readonly vCenters: readonly VCenterFacts[]
}

export interface ClusterFacts extends Pick<ClusterGiven, 'user' | 'accounts' | 'skew'> {
  readonly seen: FactsOf<typeof CHECKS>
}

export interface DoctorOptions extends Basics {
  /** Without one it is read from {@link configSecret}. */
  readonly config: ConfigSource | undefined
  /** By default in the namespace of the controller's account. */
  readonly configSecret: Pick<LeaseName, 'name'> & { readonly namespace: string | undefined }
  /** Or why there is none. */
  readonly credentials: Result<CredentialLocation>
  /** That the replicas compete for. */
  readonly lease: LeaseName
  readonly version: string
}

const API_SERVER = 'API server'
/** Milliseconds for the Secrets and folders that hold credentials. */
const CREDENTIALS_WITHIN = 15_000

/**
 * Looks at everything that Rollcall needs, and says of each thing whether it is as it should be. Nothing is changed, but
 * that an attempt to log in is counted in the Lease, as the leader's are, where that may be written.
 *
 * @throws the signal's reason when it aborts; whatever else goes wrong is a line
 */
export async function doctor(options: DoctorOptions, signal: AbortSignal): Promise<readonly Line[]> {
  const { clock } = options
  const client = connect(options)
  try {
    const { self, accounts, configured } = await findConfiguration(options, client, signal)
    const isController = once(async () => (await self()).user === userOf(accounts.controller))
    const readNodes = once(() => nodesAndReports(client, signal))
    const [vCenters, cluster] = await Promise.all([
      configured.ok ? lookAtVCenters(configured.value, readNodes, isController, client, options, signal) : [],
      look(async () => {
        const opened = opens(client)
        const { user, skew } = await self()
        const around: ClusterAround = {
          ...options,
          client: opened,
          user,
          accounts,
          apiServerTime: () => clock.now() + skew,
          config: configured.ok ? configured.value.loaded.config : undefined,
          nodes: readNodes,
          cpi: once(() => readCPI(opened, signal)),
        }
        return { user, accounts, skew, seen: await lookAll(CHECKS, around, signal) }
      }),
    ])
    signal.throwIfAborted()
    return judge({ now: clock.now(), configuration: factsOf(configured), cluster, vCenters })
  } finally {
    if (client.ok) await client.value.close()
  }
}

/** What `doctor` says about what it has seen, in the order in which one thing depends on another. Pure. */
export function judge({ configuration, cluster, vCenters, now }: DoctorFacts): readonly Line[] {
  const configured = configuration.ok ? configuration.value : undefined
  const given = cluster.ok ? { ...cluster.value, now: now + cluster.value.skew, configured } : undefined
  return [
    ...judgeConfiguration(configuration),
    {
      check: API_SERVER,
      ...judgeSelf(cluster),
    },
    ...vCenters.flatMap((each) => judgeVCenter(each, now)),
    ...judgeTwins(vCenters),
    ...(configuration.ok ? [] : chain([['vCenters', undefined]], 'configuration')),
    ...judgeAll(CHECKS, given?.seen ?? {}, given, given === undefined ? { blocked: API_SERVER } : {}),
  ]
}

function judgeSelf(cluster: DoctorFacts['cluster']): CheckResult {
  if (cluster.ok) return fine(`answers, and knows you as ${cluster.value.user}`)
  return cluster.denied ? skip(cluster.message) : fail(cluster.message)
}

function judgeConfiguration(configuration: DoctorFacts['configuration']): readonly Line[] {
  const check = 'configuration'
  if (!configuration.ok) {
    const say = configuration.denied === true ? skip : fail
    return configuration.problems.map((problem) => ({ check, ...say(problem) }))
  }
  const { path, vCenters, warnings } = configuration.value
  const many = `${count(vCenters.length, 'vCenter')} (${listed(vCenters)})`
  return [
    { check, ...fine(`${path} has ${many}`) },
    ...warnings.map((warning) => ({ check, ...warn(warning) })),
  ]
}

interface Unconfigured {
  readonly problems: readonly string[]
  /** Whether this account may not read it, which says nothing of what is there. */
  readonly denied?: boolean
}

type Configured = Result<{ readonly source: ConfigSource; readonly loaded: LoadedConfig }, Unconfigured>

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
): Promise<Configured> {
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

function factsOf(configured: Configured): DoctorFacts['configuration'] {
  if (!configured.ok) return configured
  const { source, loaded } = configured.value
  const { config, warnings, requireGiven } = loaded
  const vCenters = config.vCenters.map(({ name }) => name)
  return ok({ path: source.path, vCenters, warnings, identity: config.identity, requireGiven })
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
  const path = `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}`
  const reports = await attempt(() => readAll(opened, { path }, parseNodeReport, signal))
  // Without Rollcall's CRD there are none.
  if (!reports.ok && !hasStatus(reports.error, 404)) throw reports.error
  return { nodes: [...nodes.values()], reports: reports.ok ? reports.value : new Map<string, NodeReport>() }
}

/** What it takes to ask vCenters: their users and passwords, and logins that are counted with the leader's. */
export async function prepareToAsk(
  { source, loaded }: Extract<Configured, { readonly ok: true }>['value'],
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
  const { vCenters, labels } = filled.ok ? filled.value : config
  const userAgent = `rollcall-controller/${options.version}`
  const { alone } = annotations
  return { vCenters, labels, around: { logins, alone, userAgent, timings: TIMINGS, clock, random, logger } }
}

async function lookAtVCenters(
  configured: Extract<Configured, { readonly ok: true }>['value'],
  nodes: ClusterAround['nodes'],
  isController: () => Promise<boolean>,
  client: Result<KubeClient>,
  options: DoctorOptions,
  signal: AbortSignal,
): Promise<readonly VCenterFacts[]> {
  const { vCenters, labels, around } = await prepareToAsk(configured, client, options, signal)
  /** What stands above the VMs that Nodes are bound to, each once. */
  async function parentsIn(instanceUUID: string): Promise<readonly ParentObject[]> {
    const seen = await attempt(nodes)
    const parents = [...(seen.ok ? seen.value.reports.values() : [])].flatMap(({ status: { vm } }) =>
      vm?.vCenterInstanceUUID === instanceUUID ? (vm.parents ?? []) : [],
    )
    return [...new Map(parents.map((each) => [`${each.type} ${each.moref}`, each])).values()]
  }
  return Promise.all(
    vCenters.map((config) => lookAtVCenter({ ...around, isController, labels, parentsIn, config }, signal)),
  )
}
