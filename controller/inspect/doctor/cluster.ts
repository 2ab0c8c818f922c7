import * as v from 'valibot'
import { fail, fine, judgeClock, skip, warn } from '../../../agent/shared/diagnosis.ts'
import { API_GROUP, API_VERSION, KIND } from '../../../agent/shared/node-report.ts'
import { attempt } from '../../../agent/shared/result.ts'
import type { Config, IdentityConfig } from '../../config/config.ts'
import type { CPIFindings } from '../../cpi/hand-over.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { createLeaseStore, type LeaseName } from '../../kubernetes/lease.ts'
import { createPolicyCheck } from '../../kubernetes/policy-check.ts'
import { listed } from '../../lib/listed.ts'
import { type Basics, firstAnswer } from '../../lib/tasks.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import { checkOf, type Looked, look } from './check.ts'
import { fieldsOf, REPORT_FIELDS } from './report-fields.ts'

/** What the checks of a cluster look with. */
export interface ClusterAround extends Basics {
  readonly client: KubeClient
  /** Whom the API server takes us for. */
  readonly user: string
  /** Whether the credential is the Pod's own, so that its rights are the controller's. */
  readonly inCluster: boolean
  /** That the replicas compete for. */
  readonly lease: LeaseName
  /** Undefined where it is wrong. */
  readonly config: Config | undefined
  readonly nodes: () => Promise<{
    readonly nodes: readonly Node[]
    readonly reports: ReadonlyMap<string, NodeReport>
  }>
  readonly cpi: () => Promise<CPIFindings>
}

/** What is known of a cluster without a look of their own. */
export interface ClusterGiven {
  readonly user: string
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

/** The oldest supported version. */
const OLDEST_KUBERNETES = '1.31'
/** A leader renews its Lease every two seconds; it expires after fifteen. */
const LEASE_GRACE = 60_000
/** Milliseconds for checks that are repeated until they have an answer. */
const PATIENCE = 12_000

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
  policies: clusterCheck({
    name: 'admission policies',
    async look(around, signal) {
      const [tried, policies, version] = await Promise.all([
        tryPolicy(around, signal),
        Promise.all(POLICIES.map((policy) => lookAtPolicy(policy, around.client, signal))),
        attempt(() => readVersion(around.client, signal)),
      ])
      return { tried, policies, version: version.ok ? version.value : '' }
    },
    judge({ tried, policies, version }, { user }) {
      const expected = policies.filter(({ since }) => since === undefined || isAtLeast(version, since))
      const wrong = expected.flatMap((policy) => problemOf(policy) ?? [])
      if (wrong.length > 0)
        return fail(`${wrong.join(', ')}; apply the policies of the manifests, with their bindings`)
      if (tried?.state === 'not-in-force') {
        // The controller's own account must be able to.
        if (tried.mayNotTry !== true || user.endsWith(':rollcall-controller')) return fail(tried.message)
      }
      const unseen = expected.filter(({ state }) => !state.ok)
      const proven = tried?.state === 'in-force'
      if (unseen.length > 0)
        return proven
          ? fine('a forged report is refused; this account may not see whether the other policies exist')
          : skip('this account may neither see nor try the policies; use the kubeconfig of an administrator')
      return fine(
        `${proven ? 'a forged report is refused, and ' : ''}${listed(expected.map(({ name }) => name))} are bound`,
      )
    },
  }),
  lease: clusterCheck({
    name: 'Lease',
    async look({ client, lease: { namespace, name } }, signal) {
      const found = await createLeaseStore(client, namespace, name).get(signal)
      return { name: `${namespace}/${name}`, record: found?.record }
    },
    judge({ name, record: found }, { now }) {
      const logs = "look at the controller's Pods and their logs"
      if (found === undefined || found.holder === '')
        return fail(`no replica holds the Lease ${name}; start the controller, or ${logs}`)
      const age = Math.round((now - Date.parse(found.renewTime)) / 1000)
      if (age * 1000 > LEASE_GRACE)
        return fail(`${found.holder} held the Lease ${name}, but last renewed it ${age} s ago; ${logs}`)
      return fine(`${found.holder} leads, and renewed the Lease ${name} ${Math.max(0, age)} s ago`)
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

async function readVersion(client: KubeClient, signal: AbortSignal): Promise<string> {
  const parsed = v.safeParse(Version, await client.request({ method: 'GET', path: '/version', signal }))
  if (!parsed.success) throw new Error('the API server does not say its version')
  return parsed.output.gitVersion
}

function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = versionOf(version) ?? []
  const [leastMajor = 0, leastMinor = 0] = versionOf(least) ?? []
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

function versionOf(text: string): readonly number[] | undefined {
  return /^v?(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number)
}

const RESOURCES = {
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
}

/** The policies that the manifests contain; a test compares the two. */
export const POLICIES: readonly {
  readonly name: string
  readonly kind: keyof typeof RESOURCES
  /** The first API server's version that has its kind, where that is not promised anyway. */
  readonly since?: string
}[] = [
  { name: 'own-report.rollcall.dev', kind: 'ValidatingAdmissionPolicy' },
  { name: 'update-node.rollcall.dev', kind: 'ValidatingAdmissionPolicy' },
  { name: 'delete-node.rollcall.dev', kind: 'ValidatingAdmissionPolicy' },
  { name: 'restore-labels.rollcall.dev', kind: 'MutatingAdmissionPolicy', since: '1.36' },
]

const Binding = v.object({
  spec: v.object({ policyName: v.string(), validationActions: v.nullish(v.array(v.string())) }),
})

/** Whether a policy is there, and bound so that it refuses. */
async function lookAtPolicy(
  { kind, name, since }: (typeof POLICIES)[number],
  client: KubeClient,
  signal: AbortSignal,
): Promise<PolicyFacts> {
  const path = `/apis/admissionregistration.k8s.io/v1/${RESOURCES[kind]}`
  const read = (path: string) => ifThere(client, path, signal)
  const state = await look(async () => {
    if ((await read(`${path}/${name}`)) === undefined) return 'missing'
    const binding = v.safeParse(Binding, await read(`${path.replace(/ies$/, 'y')}bindings/${name}`))
    if (!binding.success || binding.output.spec.policyName !== name) return 'not bound'
    return binding.output.spec.validationActions?.includes('Deny') === false ? 'only warns' : 'bound'
  })
  return { name, ...(since === undefined ? {} : { since }), state }
}

interface PolicyFacts extends Pick<(typeof POLICIES)[number], 'name' | 'since'> {
  readonly state: Looked<'bound' | 'not bound' | 'only warns' | 'missing'>
}

function problemOf({ name, state }: PolicyFacts): string | undefined {
  if (!state.ok) return state.denied ? undefined : `${name}: ${state.message}`
  switch (state.value) {
    case 'missing':
      return `the policy ${name} is missing`
    case 'not bound':
      return `the policy ${name} has no binding of that name`
    case 'only warns':
      return `the binding of ${name} only warns or audits`
    case 'bound':
      return undefined
  }
}

/** The leader's own check, until its first answer. */
async function tryPolicy({ client, nodes, clock, random, logger }: ClusterAround, signal: AbortSignal) {
  const read = await attempt(nodes)
  const [sample] = read.ok ? read.value.reports.keys() : []
  const forCheck = { client, clock, random, logger, sample: () => sample, onChange: () => undefined }
  const check = createPolicyCheck(forCheck)
  const answer = () => (check.state().state === 'pending' ? undefined : check.state())
  return firstAnswer(check.run, answer, PATIENCE, clock, signal)
}

async function ifThere(client: KubeClient, path: string, signal: AbortSignal): Promise<unknown> {
  try {
    return await client.request({ method: 'GET', path, signal })
  } catch (error) {
    if (hasStatus(error, 404)) return undefined
    throw error
  }
}
