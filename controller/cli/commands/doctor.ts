import { existsSync } from 'node:fs'
import type { Clock } from '../../../agent/shared/clock.ts'
import { hasFailed, type Line, linesJSON, printLines } from '../../../agent/shared/diagnosis.ts'
import type { ParentObject } from '../../../agent/shared/node-report.ts'
import { attempt, failed, ok, type Result } from '../../../agent/shared/result.ts'
import type { Config } from '../../config/config.ts'
import { readCredentials } from '../../config/credentials/read-credentials.ts'
import { ConfigError } from '../../config/findings.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from '../../config/load.ts'
import { type ConfigSecret, configOfCluster, MOUNTED_CONFIG } from '../../inspect/doctor/config-of-cluster.ts'
import type {
  ClusterFacts,
  ConfigurationFacts,
  DoctorFacts,
  NodesAndReports,
  VCenterFacts,
} from '../../inspect/doctor/facts.ts'
import { judge } from '../../inspect/doctor/judge.ts'
import type { Looked } from '../../inspect/doctor/look.ts'
import { lookAtCluster, type SeenCluster } from '../../inspect/doctor/look-at-cluster.ts'
import { lookAtVCenter } from '../../inspect/doctor/look-at-vcenter.ts'
import { createKubeClient, type KubeClient } from '../../kubernetes/client.ts'
import type { CredentialLocation } from '../../kubernetes/credentials.ts'
import { operatorCredentials } from '../../kubernetes/credentials.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import {
  createLoginAttempts,
  createSharedAnnotations,
  shareLease,
} from '../../kubernetes/vcenter-login-attempts.ts'
import type { Logger } from '../../lib/log.ts'
import { createLoginLimiter } from '../../vcenter/session/login-limiter.ts'
import { TIMINGS, type Timings } from '../../vcenter/timings.ts'
import { checkNames, OPTIONS, peopleFlags } from '../command-line/options.ts'
import { command, configSource, partsOf } from './command.ts'

/** Prints what is wrong. */
export const DOCTOR = command({
  does: 'checks everything that Rollcall needs, and says what is wrong and what to do; exit code 1 if a check fails',
  required: [],
  optional: [
    'config',
    'namespace',
    'config-secret',
    'kubeconfig',
    'context',
    'lease-namespace',
    'lease-name',
    'output',
  ],
  parse(values) {
    const namespace = values.get('namespace') ?? OPTIONS.namespace.default
    const name = values.get('config-secret') ?? OPTIONS['config-secret'].default
    const secret = checkNames({ namespace, name }, { namespace: '--namespace', name: '--config-secret' })
    if (!secret.ok) return secret
    const flags = peopleFlags(values)
    if (!flags.ok) return flags
    return ok({ ...flags.value, config: values.get('config'), configSecret: secret.value })
  },
  async start(flags, surroundings, signal) {
    const { environment, stdout } = surroundings
    const path = flags.config ?? (existsSync(MOUNTED_CONFIG) ? MOUNTED_CONFIG : undefined)
    const lines = await doctor(
      {
        // Everything that is wrong is in the lines.
        ...partsOf(flags, surroundings, 'silent'),
        config: path === undefined ? undefined : configSource(path, environment),
        configSecret: flags.configSecret,
        credentials: operatorCredentials(flags, environment),
      },
      signal,
    )
    stdout.write(flags.output === 'json' ? linesJSON(lines) : printLines(lines))
    return hasFailed(lines) ? 1 : 0
  },
})

interface DoctorOptions {
  /** Without one it is read from {@link configSecret}. */
  readonly config: ConfigSource | undefined
  readonly configSecret: ConfigSecret
  /** Or why there is none. */
  readonly credentials: Result<CredentialLocation>
  /** That the replicas compete for. */
  readonly lease: LeaseName
  readonly version: string
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly timings?: Timings
}

/** Milliseconds for the Secrets and folders that hold credentials. */
const CREDENTIALS_WITHIN = 15_000

/**
 * Looks at everything that Rollcall needs, and says of each thing whether it is as it should be. Nothing is changed, but
 * that an attempt to log in is counted in the Lease, as the leader's are, where that may be written.
 *
 * @throws the signal's reason when it aborts; whatever else goes wrong is a line
 */
async function doctor(options: DoctorOptions, signal: AbortSignal): Promise<readonly Line[]> {
  const { clock } = options
  const client = connect(options)
  try {
    const configured = await loadConfigured(options, client, signal)
    const config = configured.ok ? configured.value.loaded.config : undefined
    const cluster: SeenCluster = client.ok
      ? lookAtCluster(
          { ...options, client: client.value, inCluster: isInCluster(options.credentials), config },
          signal,
        )
      : unreachable(client.message)
    const [vCenters, seen] = await Promise.all([
      configured.ok ? lookAtVCenters(configured.value, cluster, client, options, signal) : [],
      cluster.facts,
    ])
    signal.throwIfAborted()
    const facts: DoctorFacts = {
      now: clock.now(),
      configuration: configured.ok ? ok(configurationFacts(configured.value)) : configured,
      cluster: seen,
      vCenters,
    }
    return judge(facts)
  } finally {
    if (client.ok) await client.value.close()
  }
}

interface Configured {
  readonly source: ConfigSource
  readonly loaded: LoadedConfig
}

async function loadConfigured(
  { config, configSecret }: DoctorOptions,
  client: Result<KubeClient>,
  signal: AbortSignal,
): Promise<Result<Configured, { readonly problems: readonly string[] }>> {
  const source = config === undefined ? await configOfCluster(client, configSecret, signal) : ok(config)
  if (!source.ok) return { ok: false, problems: [source.message] }
  try {
    return ok({ source: source.value, loaded: await loadConfig(source.value) })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return { ok: false, problems: error.message.split('\n') }
  }
}

function configurationFacts({ source, loaded }: Configured): ConfigurationFacts {
  const { config, warnings, requireGiven } = loaded
  const vCenters = config.vCenters.map(({ name }) => name)
  return { path: source.path, vCenters, warnings, identity: config.identity, requireGiven }
}

function connect({ credentials, clock, version }: DoctorOptions): Result<KubeClient> {
  if (!credentials.ok) return credentials
  const userAgent = `rollcall-controller/${version}`
  try {
    return ok(createKubeClient({ credentials: credentials.value, clock, userAgent }))
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error))
  }
}

function isInCluster(credentials: Result<CredentialLocation>): boolean {
  return credentials.ok && credentials.value.kind === 'in-cluster'
}

function unreachable(message: string): SeenCluster {
  const unseen: Looked<never> = { ok: false, message, denied: false }
  return { facts: Promise.resolve<Looked<ClusterFacts>>(unseen), nodes: Promise.resolve(unseen) }
}

async function lookAtVCenters(
  configured: Configured,
  cluster: SeenCluster,
  client: Result<KubeClient>,
  options: DoctorOptions,
  signal: AbortSignal,
): Promise<readonly VCenterFacts[]> {
  const { clock, random, logger, lease, timings = TIMINGS } = options
  const { labels } = configured.loaded.config
  const filled = await fillCredentials(configured, client, options, signal)
  const annotations = createSharedAnnotations(client.ok ? shareLease(client.value, lease, clock) : undefined)
  const attempts = createLoginAttempts(annotations)
  const logins = createLoginLimiter({ attempts, timings, clock, random, logger, once: true })
  return Promise.all(
    filled.vCenters.map((vCenter) =>
      lookAtVCenter(
        vCenter,
        {
          logins,
          alone: annotations.alone,
          labels,
          parentsIn: async (instanceUUID) => boundParents(await cluster.nodes, instanceUUID),
          userAgent: `rollcall-controller/${options.version}`,
          timings,
          clock,
          random,
          logger,
        },
        signal,
      ),
    ),
  )
}

/** Secrets need the API server, folders and the file do not. */
async function fillCredentials(
  { source, loaded: { config } }: Configured,
  client: Result<KubeClient>,
  options: DoctorOptions,
  signal: AbortSignal,
): Promise<Config> {
  if (Object.keys(config.credentials).length === 0) return config
  if (!client.ok) return config
  const filled = await attempt(() =>
    readCredentials(
      { ...options, ...source, config, client: client.value, within: CREDENTIALS_WITHIN },
      signal,
    ),
  )
  signal.throwIfAborted()
  return filled.ok ? filled.value : config
}

/** What stands above the VMs that Nodes are bound to, each once. */
function boundParents(seen: Looked<NodesAndReports>, instanceUUID: string): readonly ParentObject[] {
  if (!seen.ok) return []
  const parents = [...seen.value.reports.values()].flatMap(({ status: { vm } }) =>
    vm?.vCenterInstanceUUID === instanceUUID ? (vm.parents ?? []) : [],
  )
  return [...new Map(parents.map((each) => [`${each.type} ${each.moref}`, each])).values()]
}
