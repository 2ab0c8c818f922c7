import { anySignal } from '../../agent/shared/any-signal.ts'
import { createCredentialWatch } from '../config/credentials/credential-watch.ts'
import { sourceWatcher } from '../config/credentials/watch-source.ts'
import type { ConfigSource, LoadedConfig } from '../config/load.ts'
import { type ConfigMetrics, type ConfigWatch, createConfigWatch } from '../config/watch.ts'
import { createInterlock } from '../cpi/interlock/interlock.ts'
import type { KubeClient } from '../kubernetes/client.ts'
import { createLeaderOnlyClient, type RateLimiter } from '../kubernetes/flow-control.ts'
import {
  createLeaderElection,
  DEFAULT_TIMING,
  type ElectionTiming,
  type Lead,
  type LeaderElection,
} from '../kubernetes/leader-election.ts'
import { createLeaseStore, type LeaseName } from '../kubernetes/lease.ts'
import { createLoginAttempts } from '../kubernetes/lease-login-attempts.ts'
import { createPolicyCheck } from '../kubernetes/policy-check.ts'
import { runTogether, type Task } from '../lib/tasks.ts'
import { createApprovalRates } from '../loops/certificates/loop.ts'
import type { ProbeTracker } from '../loops/node/vm-probes/probe-tracker.ts'
import { ownControllers } from '../loops/table.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { HealthStatus } from '../telemetry/server.ts'
import type { Trouble } from '../types/trouble.ts'
import type { InventoryOptions } from '../vcenter/inventory.ts'
import type { RunningInventory } from '../vcenter/running-inventory.ts'
import { createLoginLimiter } from '../vcenter/session/login-limiter.ts'
import type { Timings } from '../vcenter/timings.ts'
import { createEngine, type Engine, type EnginePorts } from './engine.ts'
import { createInventoryReuse, type OpenInventory } from './inventory-reuse.ts'
import { compareClocks, tellTroubles } from './troubles.ts'

export interface CandidateOptions extends Pick<EnginePorts, 'events' | 'clock' | 'random' | 'logger'> {
  readonly config: ConfigSource & { readonly loaded: LoadedConfig }
  /** For the Lease alone: it must not wait for other requests, neither for their turn nor for their connections. */
  readonly leaseClient: KubeClient
  /** For all else. */
  readonly client: KubeClient
  /** Limits the requests of `client`. */
  readonly limit: RateLimiter
  readonly lease: LeaseName & { readonly timing?: ElectionTiming }
  /** Unique to this process. */
  readonly identity: string
  /** The agents' account; that of kube-system by default. */
  readonly agent?: LeaseName | undefined
  /** Identifies us in vCenter's list of sessions. */
  readonly userAgent: string
  readonly timings: Timings
  readonly openInventory: (options: InventoryOptions) => RunningInventory
  /** Makes the tracker of one term. */
  readonly createTracker: () => ProbeTracker
  readonly metrics: EnginePorts['metrics'] &
    ConfigMetrics &
    Pick<Metrics, 'credentials' | 'leading' | 'leaseReadAgain' | 'vCenter'>
  /** Called with the engine of a leader when it starts, and with undefined when it ends. */
  readonly onWork: (engine: Engine | undefined) => void
}

/**
 * A replica of the controller: it follows its configuration, takes part in the leader election, and works while it leads.
 */
export interface Candidate {
  readonly status: LeaderElection['status']
  /** What people should know of this replica, whether it leads or not, one line each. */
  readonly remarks: () => readonly string[]
  /** Competes until the signal aborts, then releases the Lease. */
  readonly run: Task
}

export function createCandidate(options: CandidateOptions): Candidate {
  const { leaseClient, client, limit, identity, userAgent, timings, metrics, onWork } = options
  const { namespace, name, timing = DEFAULT_TIMING } = options.lease
  const { clock, random, logger } = options
  const { readFile, readFolder } = options.config
  const configuration = createConfigWatch({ ...options.config, clock, logger, metrics })
  const credentials = createCredentialWatch({
    configuration,
    watchSource: sourceWatcher({ readFile, readFolder, client: limit(client), clock, random, logger }),
    clock,
    logger,
  })
  metrics.credentials(credentials.usable)
  const election = createLeaderElection({
    lease: createLeaseStore(leaseClient, namespace, name, timing.renewDeadline / 2),
    identity,
    timing,
    onSlowPath: metrics.leaseReadAgain,
    clock,
    random,
    logger,
  })
  const attempts = createLoginAttempts(election)
  const approvals = createApprovalRates()
  let running: Engine | undefined
  const logins = createLoginLimiter({ attempts, timings, clock, random, logger })

  /**
   * Leads until the signal aborts. When the configuration changes, the engine is ended and another one started within the same
   * term. Writes under way are finished first, so that there is never more than one writer. VCenters whose settings did not
   * change are followed throughout.
   */
  const work: Lead = async (term, signal) => {
    const openInventory: OpenInventory = (inventory) =>
      options.openInventory({
        ...inventory,
        userAgent,
        client: election.leaseUID(),
        logins,
        timings,
        clock,
        random,
        logger,
        metrics: metrics.vCenter(inventory.config.name),
      })
    // A write may wait for its turn; whether the term still holds is checked when it is sent.
    const leaderOnly = limit(createLeaderOnlyClient(client, term))
    const common = { client: leaderOnly, clock, random, logger }
    const tracker = options.createTracker()
    const inventories = createInventoryReuse(openInventory, signal)
    /** Each goes on from what the last one found: a policy that is not in force is not told again. */
    let policy: ReturnType<typeof createPolicyCheck> | undefined
    try {
      for (;;) {
        const { config, superseded } = credentials.current()
        inventories.adopt(config)
        metrics.leading(true)
        const engine = createEngine({
          ...common,
          config,
          openInventory: inventories.take,
          policy(changes) {
            const found = policy?.state()
            policy = createPolicyCheck({ ...common, agent: options.agent, found, ...changes })
            return policy
          },
          interlock(onChange) {
            const own = { lease: { namespace, name }, controllers: ownControllers(config) }
            return createInterlock({ ...common, own, onChange })
          },
          tracker,
          approvals,
          term,
          events: options.events,
          onSynced: inventories.settle,
          writing: signal,
          metrics,
        })
        running = engine
        onWork(engine)
        try {
          await engine.run(anySignal([signal, superseded]))
        } finally {
          running = undefined
          onWork(undefined)
          // Otherwise the metrics of Nodes that are deleted meanwhile would stay forever.
          metrics.leading(false)
        }
        if (signal.aborted || !superseded.aborted) return
      }
    } finally {
      await inventories.close()
    }
  }

  const clocks = compareClocks({ client: limit(client), clock, random })
  const ownTroubles = () => [...refusedConfig(configuration), ...clocks.troubles()]
  const lead: Lead = (term, signal) => {
    const tell = tellTroubles({
      troubles: () =>
        running && uncovered([...running.troubles(), ...ownTroubles(), ...credentials.troubles()]),
      annotate: election.annotate,
      lease: name,
      identity,
      events: options.events,
      clock,
      random,
    })
    return runTogether([(signal) => work(term, signal), tell, clocks.run], signal)
  }

  return {
    status: election.status,
    remarks: () => [...ownTroubles().map(({ text }) => text), ...credentials.remarks()],
    run: (signal) =>
      runTogether([(signal) => election.run(lead, signal), configuration.run, credentials.run], signal),
  }
}

function refusedConfig({ refusal }: Pick<ConfigWatch, 'refusal'>): readonly Trouble[] {
  const problems = refusal()
  if (problems === undefined) return []
  const what = 'the changed configuration is refused, and the one before stays in force'
  return [{ key: 'configuration', text: `${what}; see the log`, message: `${what}: ${problems}` }]
}

/** A credential that is missing is a trouble of its vCenter as well: it is told once. */
function uncovered(troubles: readonly Trouble[]): readonly Trouble[] {
  return troubles.filter(({ key }) => troubles.every(({ covers }) => covers !== key))
}

/**
 * Whether a replica is ready. One that leads is, unless its engine has problems; a standby always is. Remarks follow, which
 * change nothing: a leader that is never ready would stop the rollout of the configuration that mends it.
 *
 * @param engine the one that works now; undefined while this replica does not lead
 */
export function readiness(
  candidate: Pick<Candidate, 'status' | 'remarks'>,
  engine: Pick<Engine, 'problems' | 'remarks'> | undefined,
): HealthStatus {
  const { leading, holder } = candidate.status()
  const standby =
    holder === undefined
      ? 'standby; the leader is unknown: the API server has not returned the Lease, or denies access to it; see the log'
      : `standby; ${holder || 'nobody'} leads`
  const problems = leading ? (engine?.problems() ?? []) : []
  const ok = problems.length === 0
  const state = ok ? [leading ? 'leading' : standby] : problems
  const remarks = [...(leading ? (engine?.remarks() ?? []) : []), ...candidate.remarks()]
  return { ok, text: [...state, ...remarks].join('\n') }
}

/** Whether a replica is to be restarted: where it can no longer take part in the election. */
export function liveness(candidate: Pick<Candidate, 'status'>): HealthStatus {
  const { problem } = candidate.status()
  return problem === undefined ? { ok: true, text: 'ok' } : { ok: false, text: problem }
}
