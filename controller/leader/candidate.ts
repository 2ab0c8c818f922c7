import { type CredentialWatch, createCredentialWatch } from '../config/credentials/credential-watch.ts'
import { sourceWatcher } from '../config/credentials/watch-source.ts'
import type { ConfigSource, LoadedConfig } from '../config/load.ts'
import { type ConfigMetrics, createConfigWatch } from '../config/watch.ts'
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
import { createLoginAttempts } from '../kubernetes/vcenter-login-attempts.ts'
import { runTogether, type Task } from '../lib/tasks.ts'
import type { ProbeTracker } from '../loops/node/vm-probes/probe-tracker.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { InventoryOptions } from '../vcenter/inventory.ts'
import type { RunningInventory } from '../vcenter/running-inventory.ts'
import { createLoginLimiter } from '../vcenter/session/login-limiter.ts'
import type { Timings } from '../vcenter/timings.ts'
import { type LeadTermOptions, leadTerm } from './lead-term.ts'

export interface CandidateOptions
  extends Pick<LeadTermOptions, 'events' | 'clock' | 'random' | 'logger' | 'onWork'> {
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
  /** Identifies us in vCenter's list of sessions. */
  readonly userAgent: string
  readonly timings: Timings
  readonly openInventory: (options: InventoryOptions) => RunningInventory
  /** Makes the tracker of one term. */
  readonly createTracker: () => ProbeTracker
  readonly metrics: LeadTermOptions['metrics'] &
    ConfigMetrics &
    Pick<Metrics, 'credentials' | 'leaseReadAgain' | 'vCenter'>
}

/**
 * A replica of the controller: it follows its configuration, takes part in the leader election, and works while it leads.
 */
export interface Candidate {
  readonly status: LeaderElection['status']
  readonly remarks: CredentialWatch['remarks']
  /** Competes until the signal aborts, then releases the Lease. */
  readonly run: Task
}

export function createCandidate(options: CandidateOptions): Candidate {
  const { leaseClient, client, limit, identity, userAgent, timings, metrics, events, onWork } = options
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
  const logins = createLoginLimiter({ attempts, timings, clock, random, logger })
  const lead: Lead = (term, whileLeading) =>
    leadTerm(
      {
        configuration: credentials,
        openInventory: (inventory) =>
          options.openInventory({
            ...inventory,
            userAgent,
            logins,
            timings,
            clock,
            random,
            logger,
            metrics: metrics.vCenter(inventory.config.name),
          }),
        // A write may wait for its turn; whether the term still holds is checked when it is sent.
        client: limit(createLeaderOnlyClient(client, term)),
        lease: { namespace, name },
        tracker: options.createTracker(),
        events,
        clock,
        random,
        logger,
        metrics,
        onWork,
      },
      term,
      whileLeading,
    )
  return {
    status: election.status,
    remarks: credentials.remarks,
    run: (signal) =>
      runTogether([(signal) => election.run(lead, signal), configuration.run, credentials.run], signal),
  }
}
