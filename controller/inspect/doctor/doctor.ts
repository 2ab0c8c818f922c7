import {
  type CheckResult,
  chain,
  fail,
  fine,
  type Line,
  skip,
  warn,
} from '../../../agent/shared/diagnosis.ts'
import type { ParentObject } from '../../../agent/shared/node-report.ts'
import { attempt, ok, type Result } from '../../../agent/shared/result.ts'
import type { Config } from '../../config/config.ts'
import type { LoadedConfig } from '../../config/load.ts'
import { readCPI } from '../../cpi/read-cpi.ts'
import { userOf } from '../../kubernetes/access-review.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { count, listed } from '../../lib/format.ts'
import { AGENTS } from './agents.ts'
import { type FactsOf, judgeAll, type Looked, look, lookAll, once } from './check.ts'
import { CLUSTER, type ClusterAround, type ClusterGiven } from './cluster.ts'
import { CPI } from './cpi.ts'
import { POLICY_CHECKS } from './policies.ts'
import {
  connect,
  type DoctorOptions,
  type FoundConfiguration,
  findConfiguration,
  type NoConfiguration,
  nodesAndReports,
  opens,
  prepareToAsk,
} from './prepare.ts'
import { RIGHTS } from './rbac.ts'
import { judgeTwins, judgeVCenter, lookAtVCenter, type VCenterFacts } from './vcenter.ts'

const { skew, reportFields, ...others } = CLUSTER
/** The checks of the cluster, in the order of their lines. */
const CHECKS = {
  skew,
  reportFields,
  ...RIGHTS,
  ...POLICY_CHECKS,
  ...others,
  ...AGENTS,
  ...CPI,
}

/** What `doctor` has seen. */
export interface DoctorFacts {
  /** Milliseconds since the epoch, by the clock of this machine. */
  readonly now: number
  readonly configuration: Result<
    Pick<LoadedConfig, 'warnings' | 'requireGiven'> & {
      readonly path: string
      readonly vCenters: readonly string[]
    } & Pick<Config, 'identity'>,
    NoConfiguration
  >
  readonly cluster: Looked<ClusterFacts>
  /** In the order of the configuration; none where that is wrong. */
  readonly vCenters: readonly VCenterFacts[]
}

export interface ClusterFacts extends Pick<ClusterGiven, 'user' | 'accounts' | 'skew'> {
  readonly seen: FactsOf<typeof CHECKS>
}

const API_SERVER = 'API server'
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

function factsOf(configured: FoundConfiguration): DoctorFacts['configuration'] {
  if (!configured.ok) return configured
  const { source, loaded } = configured.value
  const { config, warnings, requireGiven } = loaded
  const vCenters = config.vCenters.map(({ name }) => name)
  return ok({ path: source.path, vCenters, warnings, identity: config.identity, requireGiven })
}

async function lookAtVCenters(
  configured: Extract<FoundConfiguration, { readonly ok: true }>['value'],
  nodes: ClusterAround['nodes'],
  isController: () => Promise<boolean>,
  client: Result<KubeClient>,
  options: DoctorOptions,
  signal: AbortSignal,
): Promise<readonly VCenterFacts[]> {
  const { vCenters, labels, labelRules, around } = await prepareToAsk(configured, client, options, signal)
  /** What stands above the VMs that Nodes are bound to, each once. */
  async function parentsIn(instanceUUID: string): Promise<readonly ParentObject[]> {
    const seen = await attempt(nodes)
    const parents = [...(seen.ok ? seen.value.reports.values() : [])].flatMap(({ status: { vm } }) =>
      vm?.vCenterInstanceUUID === instanceUUID ? (vm.parents ?? []) : [],
    )
    return [...new Map(parents.map((each) => [`${each.type} ${each.moref}`, each])).values()]
  }
  return Promise.all(
    vCenters.map((config) =>
      lookAtVCenter({ ...around, isController, labels, labelRules, parentsIn, config }, signal),
    ),
  )
}
