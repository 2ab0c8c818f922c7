import * as v from 'valibot'
import type { Clock } from '../../../agent/shared/clock.ts'
import { API_GROUP, API_VERSION, KIND } from '../../../agent/shared/node-report.ts'
import { firstLook } from '../../cpi/interlock/first-look.ts'
import { ownControllers } from '../../cpi/interlock/judge-interlock.ts'
import { readCPI } from '../../cpi/read-cpi.ts'
import { reviewSelf } from '../../kubernetes/access-review.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { createLeaseStore } from '../../kubernetes/lease.ts'
import { createPolicyCheck } from '../../kubernetes/policy-check.ts'
import type { Logger } from '../../lib/log.ts'
import { firstAnswer } from '../../lib/tasks.ts'
import { createClusterCopy } from '../plan/cluster-copy.ts'
import { readCluster } from '../plan/read-cluster.ts'
import type { ClusterFacts, NodesAndReports } from './facts.ts'
import { type Looked, look } from './look.ts'
import { lookAtPolicies } from './look-at-policies.ts'
import { lookAtRights, type RightsOptions } from './look-at-rights.ts'
import { fieldsOf } from './report-fields.ts'

export interface ClusterOptions extends RightsOptions {
  readonly clock: Clock
  readonly random: () => number
  readonly logger: Logger
}

/** Milliseconds for checks that are repeated until they have an answer. */
const PATIENCE = 12_000

const Version = v.object({ gitVersion: v.string() })
const Schemas = v.object({ components: v.object({ schemas: v.record(v.string(), v.unknown()) }) })

/**
 * Whom the API server takes us for, and its clock minus ours, in milliseconds.
 *
 * @throws as `KubeClient.request`
 */
async function whoAmI(client: KubeClient, clock: Clock, signal: AbortSignal) {
  return reviewSelf(client, clock, signal).catch((cause: unknown) => {
    const said = cause instanceof Error ? cause.message : String(cause)
    throw new Error(`${said}; check server, CA and credential of the kubeconfig`, { cause })
  })
}

export interface SeenCluster {
  readonly facts: Promise<Looked<ClusterFacts>>
  /** The same Nodes, available before everything else is read. */
  readonly nodes: Promise<Looked<NodesAndReports>>
}

/** Looks at all that the API server can tell, side by side. */
export function lookAtCluster(options: ClusterOptions, signal: AbortSignal): SeenCluster {
  const { client, clock } = options
  const nodes = look(() => readNodes(client, signal))
  const facts = look(async () => {
    const self = await whoAmI(client, clock, signal)
    return lookInside(options, self, nodes, signal)
  })
  return { facts, nodes }
}

async function lookInside(
  options: ClusterOptions,
  self: { readonly user: string; readonly skew: number },
  nodes: Promise<Looked<NodesAndReports>>,
  signal: AbortSignal,
): Promise<ClusterFacts> {
  const { client, lease } = options
  const [version, reportFields, ownReportPolicy, policies, rights, record, interlock, cpi] =
    await Promise.all([
      look(() => readVersion(client, signal)),
      look(() => readReportFields(client, signal)),
      tryPolicy(options, nodes, signal),
      lookAtPolicies(client, signal),
      lookAtRights(options, self.user, signal),
      look(async () => (await createLeaseStore(client, lease.namespace, lease.name).get(signal))?.record),
      lookForInterlock(options, signal),
      look(() => readCPI(client, signal)),
    ])
  return {
    ...self,
    version,
    reportFields,
    ownReportPolicy,
    policies,
    ...rights,
    lease: { name: `${lease.namespace}/${lease.name}`, record },
    nodes: await nodes,
    ...interlock,
    cpi,
  }
}

async function readNodes(client: KubeClient, signal: AbortSignal): Promise<NodesAndReports> {
  const copy = createClusterCopy({ onNode: () => undefined, onReport: () => undefined })
  const nodes = await readCluster(client, copy, signal)
  return { nodes: [...nodes.values()], reports: copy.reports }
}

async function readVersion(client: KubeClient, signal: AbortSignal): Promise<string> {
  const parsed = v.safeParse(Version, await client.request({ method: 'GET', path: '/version', signal }))
  if (!parsed.success) throw new Error('the API server does not say its version')
  return parsed.output.gitVersion
}

/** As the API server publishes them for everybody; undefined where it serves no such version. */
async function readReportFields(
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly string[] | undefined> {
  try {
    const path = `/openapi/v3/apis/${API_GROUP}/${API_VERSION}`
    const { components } = v.parse(Schemas, await client.request({ method: 'GET', path, signal }))
    const [, schema] = Object.entries(components.schemas).find(([name]) => name.endsWith(`.${KIND}`)) ?? []
    return fieldsOf(schema)
  } catch (error) {
    if (hasStatus(error, 404)) return undefined
    throw error
  }
}

/** The leader's own check, until its first answer. */
async function tryPolicy(
  { client, clock, random, logger }: ClusterOptions,
  nodes: Promise<Looked<NodesAndReports>>,
  signal: AbortSignal,
) {
  const read = await nodes
  const [sample] = read.ok ? read.value.reports.keys() : []
  const forCheck = { client, clock, random, logger, sample: () => sample, onChange: () => undefined }
  const check = createPolicyCheck(forCheck)
  const answer = () => (check.state().state === 'pending' ? undefined : check.state())
  return firstAnswer(check.run, answer, PATIENCE, clock, signal)
}

async function lookForInterlock(
  { client, lease, config, clock, random, logger }: ClusterOptions,
  signal: AbortSignal,
): Promise<Pick<ClusterFacts, 'interlock' | 'interlockRemarks'>> {
  const controllers = config === undefined ? { node: true, lifecycle: true } : ownControllers(config)
  const own = { lease, controllers }
  const { state, remarks } = await firstLook({ client, own, clock, random, logger }, signal)
  return { interlock: state, interlockRemarks: remarks }
}
