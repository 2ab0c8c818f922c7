import {
  type CheckResult,
  fail,
  fine,
  judgeClock,
  type Step,
  skip,
  warn,
} from '../../../agent/shared/diagnosis.ts'
import { listed } from '../../lib/listed.ts'
import type { AccountRights, ClusterFacts, PolicyFacts } from './facts.ts'
import { type Looked, resultOf } from './look.ts'
import { REPORT_FIELDS } from './report-fields.ts'
import { describeRight } from './rights.ts'

/** The oldest supported version. `manifests/` and the tests on older versions use it, too. */
export const OLDEST_KUBERNETES = '1.31'
/** A leader renews its Lease every two seconds; it expires after fifteen. */
const LEASE_GRACE = 60_000

/**
 * @param facts undefined where the API server could not be asked
 * @param now milliseconds since the epoch, by the clock of the API server
 */
export function clusterSteps(facts: ClusterFacts | undefined, now: number): readonly Step[] {
  const judged = (judge: (facts: ClusterFacts) => CheckResult) => facts && judge(facts)
  return [
    ["API server's clock", judged(({ skew }) => judgeClock('the API server', skew))],
    ['CRD', judged(judgeCRD)],
    ['RBAC of the controller', judged((each) => judgeRights(each.controllerRights))],
    ['RBAC of the agents', judged((each) => judgeRights(each.agentRights))],
    ['admission policies', judged(judgePolicies)],
    ['Lease', judged((each) => judgeLease(each, now))],
    ['Kubernetes version', judged((each) => resultOf(each.version, judgeVersion))],
  ]
}

function judgeCRD({ reportFields }: ClusterFacts): CheckResult {
  return resultOf(reportFields, (fields) => {
    if (fields === undefined)
      return fail('the API server serves no NodeReports of rollcall.dev/v1alpha1; apply crd.yaml')
    const lacking = REPORT_FIELDS.filter((path) => !fields.includes(path))
    if (lacking.length > 0)
      return fail(`the CRD is older than this version: it lacks ${listed(lacking)}; apply its crd.yaml`)
    if (fields.some((path) => !REPORT_FIELDS.includes(path)))
      return warn('the CRD is newer than this version; upgrade the controller to the same release')
    return fine('rollcall.dev/v1alpha1 is served, and has all fields')
  })
}

function judgePolicies({ ownReportPolicy: tried, policies, version, user }: ClusterFacts): CheckResult {
  const served = version.ok ? version.value : ''
  const expected = policies.filter(({ since }) => since === undefined || isAtLeast(served, since))
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

function judgeRights(seen: Looked<AccountRights>): CheckResult {
  return resultOf(seen, ({ account, missing }) => {
    if (missing.length === 0) return fine(`${account} has all rights of the manifests`)
    const secrets = missing.some(({ on }) => on === 'secrets')
    const next = secrets ? 'rbac.yaml, and for Secrets the Role of credentials.example.yaml' : 'rbac.yaml'
    return fail(`${account} may not ${listed(missing.map(describeRight))}; apply ${next}`)
  })
}

function judgeLease({ lease: { name, record } }: ClusterFacts, now: number): CheckResult {
  const logs = "look at the controller's Pods and their logs"
  return resultOf(record, (found) => {
    if (found === undefined || found.holder === '')
      return fail(`no replica holds the Lease ${name}; start the controller, or ${logs}`)
    const age = Math.round((now - Date.parse(found.renewTime)) / 1000)
    if (age * 1000 > LEASE_GRACE)
      return fail(`${found.holder} held the Lease ${name}, but last renewed it ${age} s ago; ${logs}`)
    return fine(`${found.holder} leads, and renewed the Lease ${name} ${Math.max(0, age)} s ago`)
  })
}

function judgeVersion(version: string): CheckResult {
  if (versionOf(version) === undefined) return warn(`the API server gives its version as "${version}"`)
  if (!isAtLeast(version, OLDEST_KUBERNETES))
    return fail(
      `the API server is ${version}, but at least ${OLDEST_KUBERNETES} is needed; upgrade the cluster`,
    )
  return fine(version)
}

function isAtLeast(version: string, least: string): boolean {
  const [major = 0, minor = 0] = versionOf(version) ?? []
  const [leastMajor = 0, leastMinor = 0] = versionOf(least) ?? []
  return major > leastMajor || (major === leastMajor && minor >= leastMinor)
}

function versionOf(text: string): readonly number[] | undefined {
  return /^v?(\d+)\.(\d+)/.exec(text)?.slice(1).map(Number)
}
