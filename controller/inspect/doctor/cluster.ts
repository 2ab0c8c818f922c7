import * as v from 'valibot'
import { fail, fine, judgeClock, warn } from '../../../agent/shared/diagnosis.ts'
import { API_GROUP, API_VERSION, KIND } from '../../../agent/shared/node-report.ts'
import { attempt } from '../../../agent/shared/result.ts'
import type { Config, IdentityConfig } from '../../config/config.ts'
import type { CPIFindings } from '../../cpi/cpi-in-cluster.ts'
import type { Accounts } from '../../kubernetes/access-review.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { createLeaseStore, type LeaseName, readLeases } from '../../kubernetes/lease.ts'
import { lookAtHolder } from '../../kubernetes/lease-holder.ts'
import { troublesIn } from '../../kubernetes/lease-troubles.ts'
import { listed } from '../../lib/format.ts'
import type { Basics } from '../../lib/tasks.ts'
import { previousStatus } from '../../loops/node/facts/previous-status.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import type { Reason } from '../../types/reasons.ts'
import { checkOf } from './check.ts'

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

/** The fields of a NodeReport as this version writes and reads them; a test compares them with `crd.yaml`. */
export const REPORT_FIELDS: readonly string[] = `
  spec.nodeUID spec.bootID spec.agentVersion spec.refreshSeconds spec.machine spec.machine.vendor spec.machine.product
  spec.machine.serialUUID spec.machine.productUUID spec.hostname spec.interfaces
  spec.interfaces.name spec.interfaces.mac spec.interfaces.defaultRoute spec.interfaces.addresses
  spec.interfaces.addresses.address spec.interfaces.addresses.prefixLength
  spec.interfaces.addresses.temporary spec.interfaces.addresses.deprecated
  spec.interfaces.addresses.secondary spec.tools spec.tools.version spec.tools.guestinfoReadable
  spec.tools.guestinfoWritable spec.cloudInit spec.cloudInit.instanceID
  spec.cloudInit.localHostname spec.cloudInit.addresses spec.claim spec.claim.written
  spec.claim.reason spec.claim.message spec.claim.digest spec.unreadable spec.unreadable.fact
  spec.unreadable.reason spec.unreadable.message status.observedGeneration status.nodeUID
  status.vm status.vm.vCenter status.vm.vCenterInstanceUUID status.vm.moref status.vm.name
  status.vm.instanceUUID status.vm.biosUUID status.vm.group status.vm.host status.vm.cluster status.vm.datacenter
  status.vm.parents status.vm.parents.type status.vm.parents.moref status.vm.parents.name
  status.namedVM status.namedVM.vCenter status.namedVM.vCenterInstanceUUID status.namedVM.moref
  status.namedVM.name status.namedVM.instanceUUID status.namedVM.biosUUID status.namedVM.group status.namedVM.host
  status.namedVM.cluster status.namedVM.datacenter status.namedVM.parents
  status.namedVM.parents.type status.namedVM.parents.moref status.namedVM.parents.name
  status.formerVMs status.formerVMs.vCenter status.formerVMs.vCenterInstanceUUID
  status.formerVMs.moref status.formerVMs.name status.formerVMs.instanceUUID
  status.formerVMs.biosUUID status.formerVMs.group status.formerVMs.host status.formerVMs.cluster
  status.formerVMs.datacenter status.formerVMs.parents status.formerVMs.parents.type
  status.formerVMs.parents.moref status.formerVMs.parents.name status.lastClaim
  status.obeyedAnnotation
  status.identityLevel status.provenUntil status.absentSince status.brakeEngagedAt
  status.brakeEngagedFor status.deletionUnmet status.topology status.topology.zone status.topology.region
  status.instanceType status.addresses status.addresses.type status.addresses.address
  status.conditions status.conditions.type status.conditions.status status.conditions.reason
  status.conditions.message status.conditions.lastTransitionTime
  status.conditions.observedGeneration
`
  .trim()
  .split(/\s+/)

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>> | undefined
  readonly items?: Schema | undefined
}

const SchemaObject: v.GenericSchema<unknown, Schema> = v.object({
  properties: v.optional(
    v.record(
      v.string(),
      v.lazy(() => SchemaObject),
    ),
  ),
  items: v.optional(v.lazy(() => SchemaObject)),
})

/**
 * Paths of the fields under `spec` and `status`; those of a list's items stand under the list.
 *
 * @param object the schema of a NodeReport, as the API server publishes it
 * @returns undefined for anything else
 */
export function fieldsOf(object: unknown): readonly string[] | undefined {
  const parsed = v.safeParse(SchemaObject, object)
  const properties = parsed.success ? parsed.output.properties : undefined
  return properties && ['spec', 'status'].flatMap((name) => below(name, properties[name]))
}

function below(path: string, schema: Schema | undefined): readonly string[] {
  const { properties = {} } = schema?.items ?? schema ?? {}
  return Object.entries(properties).flatMap(([name, inner]) => {
    const own = `${path}.${name}`
    return [own, ...below(own, inner)]
  })
}
