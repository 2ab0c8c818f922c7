import type { Clock } from '../../agent/shared/clock.ts'
import { type Config, settingsOf } from '../config/config.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from '../config/load.ts'
import { readCredentials } from '../credentials/read-credentials.ts'
import type { Decision } from '../decide/decision.ts'
import { createNodeIndex } from '../gather/node-index.ts'
import { createKubeClient, type KubeClient } from '../kubernetes/client.ts'
import type { CredentialLocation } from '../kubernetes/credentials.ts'
import type { Logger } from '../log.ts'
import { createClusterCopy } from '../plan/cluster-copy.ts'
import { givenBy, handOver } from '../plan/hand-over.ts'
import { planOf } from '../plan/node-plan.ts'
import type { Plan } from '../plan/print-plan.ts'
import { readCluster } from '../plan/read-cluster.ts'
import { readCPI } from '../plan/read-cpi.ts'
import { isSettled, silenceOf } from '../plan/vcenter-answers.ts'
import { createProbeTracker } from '../probes/probe-tracker.ts'
import { createReconciler } from '../reconcile.ts'
import { runTogether } from '../tasks.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { LoginAttempt, LoginAttempts } from '../types/login-attempts.ts'
import { openInventory } from '../vcenter/inventory.ts'
import { createLogins } from '../vcenter/session/logins.ts'
import { TIMINGS, type Timings } from '../vcenter/timings.ts'
import { createEventHandlers, createInventoryHandler } from '../watch/event-handlers.ts'

export interface PlanOptions {
  readonly config: ConfigSource & { readonly loaded: LoadedConfig }
  readonly credentials: CredentialLocation
  /** Whether to look for the CPI as well, and to plan by its arguments. */
  readonly fromCPI: boolean
  readonly version: string
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: Metrics
  readonly timings?: Timings
}

/** Milliseconds that the vCenters have to answer for every Node. */
const DEADLINE = 120_000
/** Milliseconds between two looks whether they have. */
const POLL_INTERVAL = 100

/**
 * Says what `run` would make of the cluster as it is now, by the same code on a copy in memory: nothing is written to the
 * cluster, no Lease is taken, each vCenter is logged in to once. What only time can prove is not waited for, so a Node
 * whose VM is missing is named and nothing more.
 *
 * It takes for granted that Rollcall's manifests are applied: without the CRD there are no reports, and Nodes count as
 * without an agent.
 *
 * @throws where the API server does not answer, or the signal aborts
 */
export async function plan(options: PlanOptions, signal: AbortSignal): Promise<Plan> {
  const { clock, version } = options
  const client = createKubeClient({
    credentials: options.credentials,
    clock,
    userAgent: `rollcall-controller/${version}`,
  })
  try {
    if (!options.fromCPI) return await planWith(client, options, signal)
    const findings = await readCPI(client, signal)
    const loaded = await loadConfig({ ...options.config, given: givenBy(findings) })
    const plan = await planWith(client, { ...options, config: { ...options.config, loaded } }, signal)
    return { ...plan, handOver: handOver(findings) }
  } finally {
    await client.close()
  }
}

async function planWith(client: KubeClient, options: PlanOptions, signal: AbortSignal): Promise<Plan> {
  const { loaded, ...sources } = options.config
  const config = await readCredentials(
    { ...options, ...sources, config: loaded.config, client, within: DEADLINE },
    signal,
  )
  return planFor(config, client, options, signal)
}

async function planFor(
  config: Config,
  client: KubeClient,
  options: PlanOptions,
  signal: AbortSignal,
): Promise<Plan> {
  const { clock, random, logger, metrics, timings = TIMINGS } = options
  const settings = settingsOf(config)
  const index = createNodeIndex(settings.identity)
  const due = new Set<string>()
  const queue = { add: (name: string) => void due.add(name) }
  const logins = createLogins({ attempts: inMemory(), timings, clock, random, logger })
  const onChange = createInventoryHandler({ index, queue })
  const inventories = config.vCenters.map((vCenter) =>
    openInventory({
      config: vCenter,
      categories: config.labels,
      userAgent: `rollcall-controller/${options.version}`,
      clock,
      random,
      logger,
      logins,
      metrics: metrics.vCenter(vCenter.name),
      onChange,
      timings,
    }),
  )
  const handlers = createEventHandlers({ index, queue, inventories })
  const copy = createClusterCopy({ onNode: handlers.onNode, onReport: handlers.onReport })
  const before = await readCluster(client, copy, signal)
  const decisions = new Map<string, Decision | undefined>()
  const tracker = createProbeTracker({ monotonic: clock.monotonic })
  const { reconcile } = createReconciler({
    sources: {
      node: (name) => copy.nodes.get(name),
      report: (name) => copy.reports.get(name),
      index,
      inventories,
      policy: () => ({ state: 'in-force' }),
      interlock: () => ({ state: 'open' }),
      settings,
      tracker,
      leadingFor: () => 0,
    },
    writer: copy.writer,
    statusWriter: () => copy.writer,
    tracker,
    enqueueProbe: () => undefined,
    clock,
    enqueue: queue.add,
    onDecision: (name, decision) => void decisions.set(name, decision),
    onDeleted: () => undefined,
    onRejected: () => undefined,
    onStatus: handlers.onStatus,
    onStatusError: () => undefined,
  })

  async function settle(): Promise<void> {
    const end = clock.monotonic() + DEADLINE
    while (!signal.aborted) {
      for (const name of [...due]) {
        due.delete(name)
        await reconcile(name)
      }
      const answered = inventories.every((inventory) => isSettled(inventory, before.keys(), index.uuidsOf))
      if ((due.size === 0 && answered) || clock.monotonic() > end) return
      await clock.sleep(POLL_INTERVAL, signal)
    }
  }

  const settled = new AbortController()
  const either = AbortSignal.any([signal, settled.signal])
  await runTogether(
    [
      async () => {
        await settle()
        settled.abort()
      },
      ...inventories.map((inventory) => inventory.run),
    ],
    either,
  )
  signal.throwIfAborted()
  return {
    nodes: [...before.values()].map((node) =>
      planOf({
        before: node,
        after: copy.nodes.get(node.name) ?? node,
        report: copy.reports.get(node.name),
        decision: decisions.get(node.name),
        settings,
      }),
    ),
    remarks: inventories.flatMap((inventory) => silenceOf(inventory, [...before.keys()], index.uuidsOf)),
  }
}

/** Of this process alone: one attempt is made, and none is repeated. */
function inMemory(): LoginAttempts {
  const accounts = new Map<string, readonly LoginAttempt[]>()
  return {
    async update(names, change) {
      const changed = change(names.map((name) => accounts.get(name) ?? []))
      if (changed !== undefined) for (const name of names) accounts.set(name, changed)
    },
  }
}
