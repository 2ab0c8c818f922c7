import * as v from 'valibot'
import { fail, fine, judgeClock, warn } from '../../../agent/shared/diagnosis.ts'
import { API_GROUP, API_VERSION, KIND } from '../../../agent/shared/node-report.ts'
import { attempt } from '../../../agent/shared/result.ts'
import type { Config, IdentityConfig } from '../../config/config.ts'
import type { CPIFindings } from '../../cpi/findings.ts'
import type { Accounts } from '../../kubernetes/access-review.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { troublesIn } from '../../kubernetes/leader-troubles.ts'
import { createLeaseStore, type LeaseName, readLeases } from '../../kubernetes/lease.ts'
import { lookAtHolder } from '../../kubernetes/lease-holder.ts'
import { listed } from '../../lib/listed.ts'
import type { Basics } from '../../lib/tasks.ts'
import { previousStatus } from '../../loops/node/facts/previous-status.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import type { Reason } from '../../types/reasons.ts'
import { checkOf } from './check.ts'
import { fieldsOf, REPORT_FIELDS } from './report-fields.ts'

/** What the checks of a cluster look with. */
export interface ClusterAround extends Basics {
  readonly client: KubeClient
  /** Whom the API server takes us for. */
  readonly user: string
  readonly accounts: Accounts
  /** The Lease that the replicas compete for. */
  readonly lease: LeaseName
  /** Milliseconds since the epoch. */
  readonly apiServerTime: () => number
  /** Undefined where it is wrong. */
  readonly config: Config | undefined
  readonly nodes: () => Promise<{
    readonly nodes: readonly Node[]
    readonly reports: ReadonlyMap<string, NodeReport>
    /** Whether there can be reports. */
    readonly crd: boolean
  }>
  readonly cpi: () => Promise<CPIFindings>
}

/** What is known of a cluster without a look of their own. */
export interface ClusterGiven extends Pick<ClusterAround, 'user' | 'accounts'> {
  /** Its clock minus that of this machine, milliseconds. */
  readonly skew: number
  /** Milliseconds since the epoch, by the clock of the API server, as Leases and reports are written by machines of the cluster. */
  readonly now: number
  /** Undefined where the configuration is wrong: then each vSphere Node counts as needing an agent. */
  readonly configured:
    | {
        readonly identity: IdentityConfig
        /** Whether it says which level Nodes must reach, so that this does not depend on how the controller is started. */
        readonly requireGiven: boolean
      }
    | undefined
}

export const clusterCheck = checkOf<ClusterAround, ClusterGiven>()

/** Of a condition where the API server does not take a write of a Node. */
const WRITES: ReadonlySet<string> = new Set([
  'NodePatchRefused',
  'NodeWritesSlow',
  'DeletionRefused',
] satisfies Reason[])

/** The oldest supported version. */
const OLDEST_KUBERNETES = '1.31'

const Version = v.object({ gitVersion: v.string() })
const Schemas = v.object({ components: v.object({ schemas: v.record(v.string(), v.unknown()) }) })

export const CLUSTER = {
  skew: clusterCheck({
    name: "API server's clock",
    look: async () => undefined,
    judge: (_, { skew }) => judgeClock('the API server', skew),
  }),
  reportFields: clusterCheck({
    name: 'CRD',
    /** As the API server publishes them for everybody; undefined where it serves no such version. */
    async look({ client }, signal): Promise<readonly string[] | undefined> {
      try {
        const path = `/openapi/v3/apis/${API_GROUP}/${API_VERSION}`
        const { components } = v.parse(Schemas, await client.request({ method: 'GET', path, signal }))
        const [, schema] =
          Object.entries(components.schemas).find(([name]) => name.endsWith(`.${KIND}`)) ?? []
        return fieldsOf(schema)
      } catch (error) {
        if (hasStatus(error, 404)) return undefined
        throw error
      }
    },
    judge(fields) {
      if (fields === undefined)
        return fail('the API server serves no NodeReports of rollcall.dev/v1alpha1; apply crd.yaml')
      const lacking = REPORT_FIELDS.filter((path) => !fields.includes(path))
      if (lacking.length > 0)
        return fail(`the CRD is older than this version: it lacks ${listed(lacking)}; apply its crd.yaml`)
      if (fields.some((path) => !REPORT_FIELDS.includes(path)))
        return warn('the CRD is newer than this version; upgrade the controller to the same release')
      return fine('rollcall.dev/v1alpha1 is served, and has all fields')
    },
  }),
  lease: clusterCheck({
    name: 'Lease',
    async look({ client, lease: { namespace, name }, clock, apiServerTime }, signal) {
      const theirs = { ...clock, now: apiServerTime }
      const lookAt = (which: string) =>
        lookAtHolder(createLeaseStore(client, namespace, which), theirs, signal)
      const { lease, ...seen } = await lookAt(name)
      // Whoever may not list them sees only the one that is asked for.
      const all = await attempt(() => readLeases(client, namespace, signal))
      const rivals: string[] = []
      for (const [other, { record, annotations }] of all.ok ? all.value : []) {
        // Only Rollcall's leaders write that.
        const isOurs = troublesIn(annotations)?.by === record.holder
        if (other !== name && isOurs && (await lookAt(other)).alive)
          rivals.push(`${record.holder} leads by the Lease ${namespace}/${other}`)
      }
      const written = lease && troublesIn(lease.annotations)
      const ofHolder = written?.by === lease?.record.holder ? written : undefined
      const troubles = ofHolder?.troubles.map(({ message }) => message) ?? []
      return { name: `${namespace}/${name}`, record: lease?.record, troubles, rivals, ...seen }
    },
    judge({ name, record: found, troubles, rivals, alive, skew }, { now }) {
      if (rivals.length > 0)
        return fail(
          alive
            ? `${found?.holder} leads by the Lease ${name}, but ${listed(rivals)}: each writes the same Nodes; let all replicas compete for one Lease`
            : `no replica holds the Lease ${name}, but ${listed(rivals)}: name that one with --lease-name`,
        )
      const logs = "look at the controller's Pods and their logs"
      if (found === undefined || found.holder === '')
        return fail(`no replica holds the Lease ${name}; start the controller, or ${logs}`)
      const age = Math.round((now - Date.parse(found.renewTime)) / 1000)
      if (!alive)
        return fail(
          `${found.holder} held the Lease ${name}, but last renewed it ${age < 0 ? `at ${found.renewTime} by its own clock` : `${age} s ago`}; ${logs}`,
        )
      if (skew !== undefined)
        return warn(
          `${found.holder} leads, and renews the Lease ${name}, but its clock is ${Math.round(Math.abs(skew) / 1000)} s ${skew > 0 ? 'ahead of' : 'behind'} that of the API server; check NTP there`,
        )
      // The leader may be unable to reach what this machine can reach.
      if (troubles.length > 0) return warn(`${found.holder} leads, and says: ${troubles.join('; ')}`)
      return fine(`${found.holder} leads, and renewed the Lease ${name} ${Math.max(0, age)} s ago`)
    },
  }),
  writes: clusterCheck({
    name: 'writes of Nodes',
    look: ({ nodes }) => nodes(),
    /** By what the leader has written: whether the API server takes a write depends on who asks, and what. */
    judge({ nodes, reports }) {
      const refused = nodes.flatMap((node) => {
        const { conditions = [] } = previousStatus(reports.get(node.name), node)
        const why = conditions.find(({ reason }) => WRITES.has(reason))
        return why === undefined ? [] : [{ name: node.name, ...why }]
      })
      const [first] = refused
      if (first === undefined) return fine('no NodeReport says that the leader cannot write its Node')
      return fail(
        `${refused.length} of ${nodes.length} Nodes cannot be written (${listed(refused.map(({ name }) => name))}): ${first.reason}: ${first.message}`,
      )
    },
  }),
  version: clusterCheck({
    name: 'Kubernetes version',
    look: ({ client }, signal) => readVersion(client, signal),
    judge(version) {
      if (versionOf(version) === undefined) return warn(`the API server gives its version as "${version}"`)
      if (!isAtLeast(version, OLDEST_KUBERNETES))
        return fail(
          `the API server is ${version}, but at least ${OLDEST_KUBERNETES} is needed; upgrade the cluster`,
        )
      return fine(version)
    },
  }),
}

/** @throws where the API server does not say it */
export async function readVersion(client: KubeClient, signal: AbortSignal): Promise<string> {
  const parsed = v.safeParse(Version, await client.request({ method: 'GET', path: '/version', signal }))
  if (!parsed.success) throw new Error('the API server does not say its version')
  return parsed.output.gitVersion
}

/** Whether an API server's version is at least this one. */
export function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = versionOf(version) ?? []
  const [leastMajor = 0, leastMinor = 0] = versionOf(least) ?? []
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

function versionOf(text: string): readonly number[] | undefined {
  return /^v?(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number)
}
