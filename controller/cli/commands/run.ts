import type { Clock } from '../../../agent/shared/clock.ts'
import { createKubeClient } from '../../kubernetes/client.ts'
import type { CredentialLocation } from '../../kubernetes/credentials.ts'
import { createEventRecorder } from '../../kubernetes/event-recorder.ts'
import { createRateLimiter, type RateLimit, type RateLimiter } from '../../kubernetes/flow-control.ts'
import { type CandidateOptions, createCandidate } from '../../leader/candidate.ts'
import type { LeaderWork } from '../../leader/leader-work.ts'
import type { Logger } from '../../lib/log.ts'
import { type ProcessMemory, releaseMemory } from '../../lib/release-memory.ts'
import { runTogether } from '../../lib/tasks.ts'
import { createProbeTracker } from '../../loops/node/vm-probes/probe-tracker.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import { openPlainPort } from '../../telemetry/plain-port.ts'
import type { HealthStatus } from '../../telemetry/server.ts'
import { openInventory } from '../../vcenter/inventory.ts'
import { TIMINGS, type Timings } from '../../vcenter/timings.ts'
import { openSecurePort, type SecurePort, type SecurePortOptions } from './secure-port.ts'

export interface ControllerOptions {
  readonly config: CandidateOptions['config']
  readonly credentials: CredentialLocation
  readonly lease: CandidateOptions['lease']
  /** Of requests to the API server, but for those of the Lease; none by default. */
  readonly apiLimit?: RateLimit
  /** Unique to this process. */
  readonly identity: string
  /** The plain port; none where it is turned off. */
  readonly listen?: { readonly host: string; readonly port: number }
  /** The HTTPS port; none by default. */
  readonly secure?: SecurePortOptions['serving']
  readonly version: string
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: Metrics
  readonly timings?: Timings
  readonly memory: ProcessMemory
}

const COMPONENT = 'rollcall-controller'
const NO_PORT = "no port is open: metrics cannot be scraped, and the kubelet's probes fail"
/** What remains of a five second grace period after logging out and releasing the Lease. */
const FLUSH_MS = 500

/**
 * Runs the controller: serves its port, takes part in the leader election, and works while it leads. Resolves when the
 * signal has aborted and sessions, Lease, Events and port are cleaned up.
 *
 * @throws where a port cannot be opened or the credentials for the API server cannot be read
 */
export async function run(options: ControllerOptions, signal: AbortSignal): Promise<void> {
  const { clock, random, logger, metrics, identity, timings = TIMINGS } = options
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
  let leaderWork: LeaderWork | undefined
  const candidate = createCandidate({
    config: options.config,
    leaseClient,
    client: unlimited,
    limit,
    lease: options.lease,
    identity,
    userAgent,
    timings,
    openInventory,
    createTracker: () => createProbeTracker({ monotonic: () => clock.monotonic() }),
    events,
    clock,
    random,
    logger,
    metrics,
    onWork(work) {
      leaderWork = work
    },
  })

  const ready = (): HealthStatus => {
    const { leading, holder } = candidate.status()
    const standby = `standby; ${holder || 'nobody'} leads`
    const problems = leading ? (leaderWork?.problems() ?? []) : []
    const ok = problems.length === 0
    const state = ok ? [leading ? 'leading' : standby] : problems
    const remarks = [...(leading ? (leaderWork?.remarks() ?? []) : []), ...candidate.remarks()]
    return { ok, text: [...state, ...remarks].join('\n') }
  }
  const healthy = (): HealthStatus => {
    const { problem } = candidate.status()
    return problem === undefined ? { ok: true, text: 'ok' } : { ok: false, text: problem }
  }
  const { listen, secure } = options
  if (listen === undefined && secure === undefined) logger.warn(NO_PORT)
  const server = listen && (await openPlainPort({ ...listen, metrics, healthy, ready, logger }))
  const securePort = await openIfWanted(secure, {
    client: unlimited,
    userAgent,
    metrics,
    healthy,
    ready,
    clock,
    random,
    logger,
  }).catch(async (error: unknown) => {
    await server?.close()
    throw error
  })

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

async function openIfWanted(
  serving: SecurePortOptions['serving'] | undefined,
  options: Omit<SecurePortOptions, 'serving'>,
): Promise<SecurePort | undefined> {
  return serving && openSecurePort({ serving, ...options })
}
