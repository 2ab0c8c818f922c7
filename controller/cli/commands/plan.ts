import { failed, ok } from '../../../agent/shared/result.ts'
import { readCredentials } from '../../config/credentials/credential-watch.ts'
import { type ConfigSource, loadConfig } from '../../config/load.ts'
import type { GivenArguments } from '../../config/overrides.ts'
import { environmentOf, givenBy } from '../../cpi/cpi-in-cluster.ts'
import { checkForeignSecrets } from '../../cpi/foreign-secrets.ts'
import { handOver } from '../../cpi/hand-over.ts'
import { readCPI } from '../../cpi/read-cpi.ts'
import { changesSomething, isWhole, type Plan, planJSON, printPlan } from '../../inspect/plan/node-plan.ts'
import { DEADLINE, type RunOnCopyOptions, runOnCopy } from '../../inspect/plan/run-on-copy.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { operatorCredentials } from '../../kubernetes/credentials.ts'
import { createMetrics } from '../../telemetry/metrics.ts'
import { configOf, logLevelOf, peopleFlags } from '../command-line/options.ts'
import { command, configSource, loadOrWarn, partsOf, withClient } from './command.ts'

/** The CPI's arguments, as if none of them concerned Nodes. */
const AS_THE_CPI: GivenArguments = { initializes: true, endsNodes: true, nodeLabels: {} }

/**
 * Prints what `run` would make of the cluster as it is now, by the same code on a copy in memory: nothing is written to the
 * cluster but the attempts to log in, which are counted in the Lease, and the Lease is not taken. What only time can prove is not waited for, so a Node
 * whose VM is missing is named and nothing more.
 *
 * It takes for granted that Rollcall's manifests are applied: without the CRD there are no reports, and Nodes count as
 * without an agent.
 */
export const PLAN = command({
  does: 'says what "run" would change, and changes nothing; exit code 0 if nothing would change, 2 if something would, 1 if no plan is possible',
  required: [],
  optional: [
    'config',
    'kubeconfig',
    'context',
    'from-cpi',
    'output',
    'lease-namespace',
    'lease-name',
    'log-level',
  ],
  parse(values) {
    const [config, flags, fromCPI] = [configOf(values), peopleFlags(values), values.has('from-cpi')]
    if (!config.ok && !fromCPI)
      return failed(`${config.message}, or --from-cpi, which reads that of the CPI from the cluster`)
    if (!flags.ok) return flags
    // What is wrong is in the plan itself.
    const logLevel = logLevelOf(values, 'error')
    return ok({ ...flags.value, config: config.ok ? config.value : undefined, logLevel, fromCPI })
  },
  async start(flags, surroundings, signal) {
    const { environment, stdout, warn } = surroundings
    const { config: path, fromCPI } = flags
    const load = async (source: ConfigSource) => {
      const config = await loadOrWarn(source, warn)
      for (const warning of config?.loaded.warnings ?? []) warn(warning)
      return config
    }
    // A mistake in it is reported before the cluster is asked.
    const named =
      path === undefined
        ? undefined
        : await load(configSource(path, environment, fromCPI ? AS_THE_CPI : undefined))
    if (path !== undefined && named === undefined) return 1
    const plan = await withClient(operatorCredentials(flags, environment), surroundings, async (client) => {
      // Nobody reads these metrics: no port is opened, and the Lease is not taken.
      const metrics = createMetrics({ ...surroundings, lease: '' })
      const options = { ...partsOf(flags, surroundings, flags.logLevel), metrics, client }
      if (named !== undefined && !fromCPI) return planWith(named, options, signal)
      const findings = await readCPI(client, signal)
      const ownFile = named === undefined
      const asCPI = {
        // With the CPI's own file, no variable of this machine counts.
        environment: { ...named?.environment, ...environmentOf(findings, ownFile) },
        given: givenBy(findings),
      }
      const config = await loadAs(asCPI)
      if (config === undefined) return undefined
      return {
        ...(await planWith(config, options, signal)),
        handOver: handOver(findings, { config: config.loaded.config, ownFile }),
      }

      async function loadAs(cpi: typeof asCPI) {
        if (named !== undefined) return { ...named, ...cpi, loaded: await loadConfig({ ...named, ...cpi }) }
        const { configuration } = findings
        if (!configuration.ok) {
          warn(configuration.message)
          return undefined
        }
        const { manager, source } = configuration.value
        const own = await load({ ...source, ...cpi })
        const allowed = own && (await checkForeignSecrets(client, manager, own.loaded.config, signal))
        if (allowed?.ok !== false) return own
        warn(allowed.message)
        return undefined
      }
    })
    if (plan === undefined) return 1
    stdout.write(flags.output === 'json' ? planJSON(plan) : printPlan(plan))
    if (!isWhole(plan)) return 1
    return changesSomething(plan) ? 2 : 0
  },
})

async function planWith(
  { loaded, ...sources }: NonNullable<Awaited<ReturnType<typeof loadOrWarn>>>,
  options: Omit<RunOnCopyOptions, 'config' | 'interlock'> & { readonly client: KubeClient },
  signal: AbortSignal,
): Promise<Plan> {
  const config = await readCredentials(
    { ...options, ...sources, config: loaded.config, within: DEADLINE },
    signal,
  )
  const looked = await runOnCopy({ ...options, config, interlock: { state: 'open' } }, signal)
  return { ...looked, nodes: [...looked.nodes.values()].map(({ plan }) => plan) }
}
