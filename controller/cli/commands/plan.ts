import type { Clock } from '../../../agent/shared/clock.ts'
import { readCredentials } from '../../config/credentials/read-credentials.ts'
import { type ConfigSource, type LoadedConfig, loadConfig } from '../../config/load.ts'
import { environmentOf, givenBy, handOver } from '../../cpi/hand-over.ts'
import { readCPI } from '../../cpi/read-cpi.ts'
import { DEADLINE, decideOnCopy } from '../../inspect/plan/decide-on-copy.ts'
import { planOf } from '../../inspect/plan/node-plan.ts'
import type { Plan } from '../../inspect/plan/print-plan.ts'
import { createKubeClient, type KubeClient } from '../../kubernetes/client.ts'
import type { CredentialLocation } from '../../kubernetes/credentials.ts'
import type { LeaseName } from '../../kubernetes/lease.ts'
import type { Logger } from '../../lib/log.ts'
import type { Metrics } from '../../telemetry/metrics.ts'
import type { Timings } from '../../vcenter/timings.ts'

export interface PlanOptions {
  readonly config: ConfigSource & { readonly loaded: LoadedConfig }
  readonly credentials: CredentialLocation
  /** That the replicas compete for. */
  readonly lease: LeaseName
  /** Whether to look for the CPI as well, and to plan by its arguments and environment. */
  readonly fromCPI: boolean
  readonly version: string
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
  readonly metrics: Metrics
  readonly timings?: Timings
  /** As of {@link decideOnCopy}. */
  readonly warn: (message: string) => void
}

/**
 * Says what `run` would make of the cluster as it is now, by the same code on a copy in memory: nothing is written to the
 * cluster but the attempts to log in, which are counted in the Lease, and the Lease is not taken. What only time can prove is not waited for, so a Node
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
    const environment = { ...options.config.environment, ...environmentOf(findings) }
    const config = { ...options.config, environment }
    const loaded = await loadConfig({ ...config, given: givenBy(findings) })
    const plan = await planWith(client, { ...options, config: { ...config, loaded } }, signal)
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
  const decided = await decideOnCopy({ ...options, config, client, interlock: { state: 'open' } }, signal)
  const { before, nodes, reports, decisions, settings, remarks } = decided
  return {
    nodes: [...before.values()].map((node) =>
      planOf({
        before: node,
        after: nodes.get(node.name) ?? node,
        report: reports.get(node.name),
        decision: decisions.get(node.name),
        settings,
      }),
    ),
    remarks,
  }
}
