import type { LogLevel } from '../../../agent/shared/program.ts'
import { ok } from '../../../agent/shared/result.ts'
import type { GivenArguments } from '../../config/overrides.ts'
import type { CpiArguments } from '../../cpi/arguments/parse-cpi-arguments.ts'
import type { SecureServing } from '../../cpi/arguments/secure-serving.ts'
import { accountsIn, DEFAULT_NAMESPACE } from '../../kubernetes/access-review.ts'
import { createKubeClient, type KubeClient } from '../../kubernetes/client.ts'
import { type CredentialLocation, controllerCredentials, podNamespace } from '../../kubernetes/credentials.ts'
import { createDelegatedAccess } from '../../kubernetes/delegated-access.ts'
import { createEventRecorder } from '../../kubernetes/event-recorder.ts'
import { createRateLimiter, type RateLimit, type RateLimiter } from '../../kubernetes/flow-control.ts'
import { type CandidateOptions, createCandidate, liveness, readiness } from '../../leader/candidate.ts'
import type { Engine } from '../../leader/engine.ts'
import { type ProcessMemory, releaseMemory } from '../../lib/memory.ts'
import { type Basics, runTogether, type Task } from '../../lib/tasks.ts'
import { createProbeTracker } from '../../loops/node/vm-probes/probe-tracker.ts'
import { loadClientCA } from '../../telemetry/client-ca.ts'
import { createMetrics, type Metrics } from '../../telemetry/metrics.ts'
import {
  createTelemetryServer,
  openPlainPort,
  type ServingTLS,
  type TelemetryServerOptions,
} from '../../telemetry/server.ts'
import { loadServingCertificate } from '../../telemetry/serving-certificate.ts'
import { openInventory } from '../../vcenter/inventory.ts'
import { TIMINGS } from '../../vcenter/timings.ts'
import {
  configOf,
  type LeaseFlags,
  leaseOf,
  logLevelOf,
  namespaceOf,
  parseListen,
} from '../command-line/options.ts'
import { command, configSource, loadOrWarn, partsOf } from './command.ts'

/** What the command line says. */
export interface RunFlags extends LeaseFlags {
  /** The CPI's configuration file. */
  readonly config: string
  /** Without it the service account of the Pod. */
  readonly kubeconfig: string | undefined
  /** The plain port; undefined where it is turned off. */
  readonly listen: { readonly host: string; readonly port: number } | undefined
  /** This replica's name in the Lease, to which each process adds a suffix of its own; without it the host's. */
  readonly identity: string | undefined
  readonly logLevel: LogLevel
  /** Of Rollcall's accounts; by default the Pod's own. */
  readonly namespace: string | undefined
  /** What only the CPI's arguments can say. */
  readonly cpi?: Pick<CpiArguments, 'timing' | 'apiLimit' | 'notices'> & {
    /** The HTTPS port, on the same address as the plain one; undefined where it is turned off. */
    readonly secure: ControllerOptions['secure']
    /** What the configuration depends on. */
    readonly given: GivenArguments
  }
}

interface ControllerOptions extends Basics {
  readonly config: CandidateOptions['config']
  readonly credentials: CredentialLocation
  readonly lease: CandidateOptions['lease']
  /** Of requests to the API server, but for those of the Lease; none by default. */
  readonly apiLimit?: RateLimit | undefined
  /** Unique to this process. */
  readonly identity: string
  readonly agent?: CandidateOptions['agent']
  readonly listen?: RunFlags['listen']
  /** The HTTPS port; none by default. */
  readonly secure?: (SecureServing & { readonly host: string }) | undefined
  readonly version: string
  readonly metrics: Metrics
  readonly memory: ProcessMemory
}

const COMPONENT = 'rollcall-controller'
const NO_PORT = "no port is open: metrics cannot be scraped, and the kubelet's probes fail"
/** What remains of a five second grace period after logging out and releasing the Lease. */
const FLUSH_MS = 500

/** Runs until it is told to end. */
export const RUN = command<RunFlags>({
  does: "initializes the cluster's Nodes with what vCenter knows of their VMs, and keeps them current",
  required: ['config'],
  optional: ['kubeconfig', 'listen', 'namespace', 'lease-namespace', 'lease-name', 'identity', 'log-level'],
  parse(values) {
    const [config, listen, lease] = [configOf(values), parseListen(values.get('listen')), leaseOf(values)]
    const namespace = namespaceOf(values)
    if (!config.ok) return config
    if (!listen.ok) return listen
    if (!lease.ok) return lease
    if (!namespace.ok) return namespace
    return ok({
      config: config.value,
      kubeconfig: values.get('kubeconfig'),
      listen: listen.value,
      ...lease.value,
      identity: values.get('identity'),
      logLevel: logLevelOf(values, 'info'),
      namespace: namespace.value,
    })
  },
  async start(flags, surroundings, signal) {
    const { environment, hostname, suffix, warn } = surroundings
    const { cpi } = flags
    const { lease, ...parts } = partsOf(flags, surroundings, flags.logLevel)
    const { logger, version } = parts
    const config = await loadOrWarn(configSource(flags.config, environment, cpi?.given), warn)
    if (config === undefined) return 1
    const credentials = controllerCredentials(flags, environment)
    if (!credentials.ok) {
      warn(`rollcall-controller: ${credentials.message}`)
      return 2
    }
    for (const { isWarning, message } of cpi?.notices ?? [])
      logger[isWarning ? 'warn' : 'info']({ notice: message }, 'command line')
    const { warnings, config: loaded } = config.loaded
    for (const warning of warnings) logger.warn({ warning }, 'configuration')
    signal.addEventListener(
      'abort',
      () => logger.info({ signal: String(signal.reason?.message) }, 'ending'),
      {
        once: true,
      },
    )
    logger.info({ version, vCenters: loaded.vCenters.map(({ name }) => name) }, 'starting')
    try {
      await run(
        {
          ...parts,
          config,
          credentials: credentials.value,
          lease: { ...lease, ...(cpi === undefined ? {} : { timing: cpi.timing }) },
          apiLimit: cpi?.apiLimit,
          // A Pod keeps its name, but a restarted process must not take the old process's Lease for its own.
          identity: `${flags.identity ?? hostname}_${suffix}`,
          agent: accountsIn(flags.namespace ?? podNamespace(credentials.value) ?? DEFAULT_NAMESPACE).agent,
          listen: flags.listen,
          secure: cpi?.secure,
          metrics: createMetrics({ ...parts, lease: lease.name }),
          memory: surroundings.memory,
        },
        signal,
      )
    } catch (error) {
      logger.error({ err: error }, 'failed')
      return 1
    }
    logger.info('ended')
    return 0
  },
})

/**
 * Runs the controller: serves its port, takes part in the leader election, and works while it leads. Resolves when the
 * signal has aborted and sessions, Lease, Events and port are cleaned up.
 *
 * @throws where a port cannot be opened or the credentials for the API server cannot be read
 */
async function run(options: ControllerOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, metrics, identity } = options
  const userAgent = `${COMPONENT}/${options.version}`
  const openClient = () =>
    metrics.measured(createKubeClient({ credentials: options.credentials, clock, userAgent }))
  const unlimited = openClient()
  const leaseClient = openClient()
  const { apiLimit } = options
  const limit: RateLimiter = apiLimit === undefined ? (client) => client : createRateLimiter(apiLimit, clock)
  const events = createEventRecorder({
    client: limit(unlimited),
    component: COMPONENT,
    instance: identity,
    clock,
    random,
    logger,
  })
  metrics.events(events.counts)
  let engine: Engine | undefined
  const candidate = createCandidate({
    config: options.config,
    leaseClient,
    client: unlimited,
    limit,
    lease: options.lease,
    identity,
    agent: options.agent,
    userAgent,
    timings: TIMINGS,
    openInventory,
    createTracker: () => createProbeTracker(() => clock.monotonic()),
    events,
    clock,
    random,
    logger,
    metrics,
    onWork(running) {
      engine = running
    },
  })

  const ready = () => readiness(candidate, engine)
  const healthy = () => liveness(candidate)
  const { listen, secure } = options
  const shown = { metrics, healthy, ready, logger }
  if (listen === undefined && secure === undefined) logger.warn(NO_PORT)
  const server = listen && (await openPlainPort({ ...listen, ...shown }))
  const securePort = await (secure &&
    openSecurePort(secure, shown, { ...options, client: unlimited, userAgent }).catch(
      async (error: unknown) => {
        await server?.close()
        throw error
      },
    ))

  const writing = new AbortController()
  const recorder = events.run(writing.signal)
  try {
    await runTogether(
      [
        candidate.run,
        releaseMemory(options.memory, clock),
        ...(securePort === undefined ? [] : [securePort.run]),
      ],
      signal,
    )
  } finally {
    await events.flush(FLUSH_MS)
    writing.abort()
    await recorder
    await Promise.all([unlimited.close(), leaseClient.close()])
    await securePort?.close()
    await server?.close()
  }
}

/**
 * Opens the HTTPS port: what the plain one serves, for those whom the API server lets see it.
 *
 * @throws where the certificate or the file of the client CA cannot be read, a credential is no credential, or the port cannot be opened
 */
async function openSecurePort(
  serving: NonNullable<ControllerOptions['secure']>,
  shown: Pick<TelemetryServerOptions, 'metrics' | 'healthy' | 'ready' | 'logger'>,
  {
    client,
    userAgent,
    clock,
    random,
    logger,
  }: Pick<ControllerOptions, 'clock' | 'random' | 'logger'> & {
    /** The credential that does all else. */
    readonly client: KubeClient
    readonly userAgent: string
  },
) {
  const { host, port, alwaysAllow, ttl } = serving
  const certificate = await loadServingCertificate(serving.certificate, { clock, random, logger })
  const own: KubeClient[] = []
  const clientOf = (path: string | undefined): KubeClient => {
    if (path === undefined) return client
    const other = createKubeClient({ credentials: { kind: 'kubeconfig', path }, clock, userAgent })
    own.push(other)
    return other
  }
  const authentication = clientOf(serving.authenticationKubeconfig)
  const clientCA = loadClientCA(serving.clientCA, { client: authentication, clock, random, logger })
  const access = createDelegatedAccess({
    authentication,
    authorization: clientOf(serving.authorizationKubeconfig),
    alwaysAllow,
    ttl,
    clock,
    logger,
  })
  let tls: ServingTLS = { ...serving.tls, ...certificate.pair, clientCAs: clientCA.certificates }
  const server = createTelemetryServer({ ...shown, host, port, secure: { tls, judge: access.judge } })
  await server.listen()
  const change = (changed: Partial<ServingTLS>): void => {
    tls = { ...tls, ...changed }
    server.setTLS(tls)
  }
  /** Keeps the certificate and the CA of client certificates current. */
  const run: Task = (signal) =>
    runTogether([certificate.watch(change), clientCA.watch((clientCAs) => change({ clientCAs }))], signal)
  return {
    run,
    async close() {
      await server.close()
      await Promise.all(own.map((each) => each.close()))
    },
  }
}
