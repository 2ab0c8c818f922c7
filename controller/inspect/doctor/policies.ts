/** Whether the admission policies are there as they ship, and in force. */
import { hash } from 'node:crypto'
import * as v from 'valibot'
import { type CheckResult, fail, fine, skip } from '../../../agent/shared/diagnosis.ts'
import { attempt } from '../../../agent/shared/result.ts'
import { textOf } from '../../cpi/interlock/find-cpi.ts'
import { type Accounts, accountsIn, DEFAULT_NAMESPACE, userOf } from '../../kubernetes/access-review.ts'
import { hasStatus } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import { createPolicyCheck } from '../../kubernetes/policy-check.ts'
import { listed } from '../../lib/format.ts'
import { firstAnswer } from '../../lib/tasks.ts'
import { type Looked, look } from './check.ts'
import { type ClusterAround, clusterCheck, isAtLeast, readVersion } from './cluster.ts'

/** Milliseconds for a trial that is repeated until it has an answer. */
const PATIENCE = 12_000

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
  /** The component that it is in, where the configuration asks for that. */
  readonly component?: 'approve-certificates'
  /** The fields of its spec, each by its {@link digest}. */
  readonly spec: Readonly<Record<string, string>>
}[] = [
  {
    name: 'own-report.rollcall.dev',
    kind: 'ValidatingAdmissionPolicy',
    spec: {
      failurePolicy: '21795faf6eb3895e',
      matchConstraints: 'eeeaeef2a4a36b7a',
      matchConditions: 'e67f78cab416ed81',
      variables: '7dccac90e548426b',
      validations: 'd461d80af5144340',
    },
  },
  {
    name: 'update-node.rollcall.dev',
    kind: 'ValidatingAdmissionPolicy',
    spec: {
      failurePolicy: '21795faf6eb3895e',
      matchConstraints: 'cc365d2c6cdac0db',
      matchConditions: 'ad0cae05e9499b29',
      variables: '7b8210168f88802c',
      validations: 'e1a9ef52c519e133',
    },
  },
  {
    name: 'delete-node.rollcall.dev',
    kind: 'ValidatingAdmissionPolicy',
    spec: {
      failurePolicy: '21795faf6eb3895e',
      matchConstraints: 'b87282430cae67dd',
      matchConditions: '8c45f61d0f9e57cc',
      variables: 'f4146c088f217850',
      validations: '37ececf72e76dcd8',
    },
  },
  {
    name: 'restore-labels.rollcall.dev',
    kind: 'MutatingAdmissionPolicy',
    since: '1.36',
    spec: {
      failurePolicy: '2bcb008765cd0f5f',
      reinvocationPolicy: '4c8a208324b4df35',
      matchConstraints: '42a584bbdd4aadb0',
      matchConditions: '77e2a0f774fd41fd',
      variables: '786cc8d63fcfe308',
      mutations: '63401f27e418be56',
    },
  },
  {
    name: 'approve-certificate.rollcall.dev',
    kind: 'ValidatingAdmissionPolicy',
    component: 'approve-certificates',
    spec: {
      failurePolicy: '21795faf6eb3895e',
      matchConstraints: 'de5c568e7f885cda',
      matchConditions: '8c45f61d0f9e57cc',
      variables: 'a029ab1b7daaec86',
      validations: 'eb29b0f55428a41e',
    },
  },
]

/** The spec of a binding, as the manifests have it, without its actions: it applies to everything. */
export function bindingSpec({ name }: Pick<(typeof POLICIES)[number], 'name'>): object {
  return {
    policyName: name,
    matchResources: { matchPolicy: 'Equivalent', namespaceSelector: {}, objectSelector: {} },
  }
}

export const POLICY_CHECKS = {
  policies: clusterCheck({
    name: 'admission policies',
    async look(around, signal) {
      const [tried, policies, version] = await Promise.all([
        tryPolicy(around, signal),
        Promise.all(
          POLICIES.filter(
            ({ component }) => component === undefined || around.config?.certificates.approve,
          ).map((policy) => lookAtPolicy(policy, around, signal)),
        ),
        attempt(() => readVersion(around.client, signal)),
      ])
      return { tried, policies, version: version.ok ? version.value : '' }
    },
    judge({ tried, policies, version }, { user, accounts }): CheckResult {
      const expected = policies.filter(({ since }) => since === undefined || isAtLeast(version, since))
      const wrong = expected.flatMap((policy) => problemOf(policy) ?? [])
      const changed = expected.filter(({ state }) => state.ok && state.value.is === 'changed')
      if (wrong.length > 0)
        return fail(
          [
            wrong.join(', '),
            ...(wrong.length > changed.length
              ? ['apply the policies of the manifests of this version, with their bindings']
              : []),
            // Neither a client nor the API server takes away what another writer has added to a list or a selector.
            ...(changed.length > 0
              ? [
                  `"kubectl replace -f ${changed.map(fileOf).join(',')}" of the manifests of this version puts back what "kubectl apply" leaves as it is`,
                ]
              : []),
          ].join('; '),
        )
      if (tried?.state === 'not-in-force') {
        // The controller's own account must be able to.
        if (tried.mayNotTry !== true || user === userOf(accounts.controller)) return fail(tried.message)
      }
      const unseen = expected.filter(({ state }) => !state.ok)
      const proven = tried?.state === 'in-force'
      if (unseen.length > 0)
        return proven
          ? fine(
              'a forged report is refused; this account is not allowed to see whether the other policies exist',
            )
          : skip('this account may neither see nor try the policies; use the kubeconfig of an administrator')
      return fine(
        `${proven ? 'a forged report is refused, and ' : ''}${listed(expected.map(({ name }) => name))} are bound, as this version ships them`,
      )
    },
  }),
}

const WithSpec = v.object({ spec: v.looseObject({}) })
const BindingSpec = v.looseObject({
  policyName: v.string(),
  validationActions: v.nullish(v.array(v.string())),
})

/** Whether a policy is there as it ships, and bound so that it refuses. */
async function lookAtPolicy(
  policy: (typeof POLICIES)[number],
  { client, accounts }: Pick<ClusterAround, 'client' | 'accounts'>,
  signal: AbortSignal,
): Promise<PolicyFacts> {
  const { kind, name, since, spec } = policy
  const path = `/apis/admissionregistration.k8s.io/v1/${RESOURCES[kind]}`
  const read = (path: string) => ifThere(client, path, signal)
  const state = await look(async () => {
    const found = await read(`${path}/${name}`)
    if (found === undefined) return { is: 'missing' } as const
    const binding = v.safeParse(WithSpec, await read(`${path.replace(/ies$/, 'y')}bindings/${name}`))
    const bound = v.safeParse(BindingSpec, binding.success ? binding.output.spec : undefined)
    if (!bound.success || bound.output.policyName !== name) return { is: 'not bound' } as const
    const { validationActions, ...rest } = bound.output
    if (validationActions?.includes('Deny') === false) return { is: 'only warns' } as const
    const differs = [
      ...differences(digests(v.parse(WithSpec, found).spec, accounts), spec),
      ...differences(digests(rest), digests(bindingSpec(policy))).map((field) => `${field} of its binding`),
    ]
    return differs.length === 0 ? ({ is: 'bound' } as const) : ({ is: 'changed', differs } as const)
  })
  return { name, ...(since === undefined ? {} : { since }), state }
}

interface PolicyFacts extends Pick<(typeof POLICIES)[number], 'name' | 'since'> {
  readonly state: Looked<
    | { readonly is: 'bound' | 'not bound' | 'only warns' | 'missing' }
    /** Which fields are not as they ship. */
    | { readonly is: 'changed'; readonly differs: readonly string[] }
  >
}

/** The file of the manifests that has a policy and its binding. */
function fileOf({ name }: Pick<PolicyFacts, 'name'>): string {
  return `policy-${name.replace('.rollcall.dev', '')}.yaml`
}

function problemOf({ name, state }: PolicyFacts): string | undefined {
  if (!state.ok) return state.denied ? undefined : `${name}: ${state.message}`
  switch (state.value.is) {
    case 'missing':
      return `the policy ${name} is missing`
    case 'not bound':
      return `the policy ${name} has no binding of that name`
    case 'only warns':
      return `the binding of ${name} only warns or audits`
    case 'changed':
      return `the policy ${name} is not as this version ships it: ${listed(state.value.differs)}`
    case 'bound':
      return undefined
  }
}

/** The fields of a spec, each by its {@link digest}; those that are empty are left out, as the API server does. */
export function digests(spec: object, accounts?: Accounts): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(spec).flatMap(([field, value]) =>
      isEmpty(value) ? [] : [[field, digest(value, accounts)]],
    ),
  )
}

/** The same for all ways to write one value, and for all accounts and namespaces that Rollcall may have. */
function digest(value: unknown, accounts?: Accounts): string {
  const text = JSON.stringify(value, (_, inner: unknown) =>
    isRecord(inner)
      ? Object.fromEntries(
          Object.entries(inner)
            .filter(([, each]) => !isEmpty(each))
            .toSorted(([a], [b]) => (a < b ? -1 : 1)),
        )
      : inner,
  )
  const named = accounts === undefined ? text : withStandardNames(text, accounts)
  return hash('sha256', named, 'hex').slice(0, 16)
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isEmpty(value: unknown): boolean {
  return value === null || value === undefined || (Array.isArray(value) && value.length === 0)
}

/** The names that the chart puts into the policies, put back. */
function withStandardNames(text: string, { controller, agent }: Accounts): string {
  const standard = accountsIn(DEFAULT_NAMESPACE)
  return text
    .replaceAll(`'${userOf(controller)}'`, `'${userOf(standard.controller)}'`)
    .replaceAll(`'${userOf(agent)}'`, `'${userOf(standard.agent)}'`)
    .replaceAll(` ${textOf(agent)} `, ` ${textOf(standard.agent)} `)
}

function differences(
  found: Readonly<Record<string, string>>,
  shipped: Readonly<Record<string, string>>,
): readonly string[] {
  const fields = new Set([...Object.keys(shipped), ...Object.keys(found)])
  return [...fields].filter((field) => found[field] !== shipped[field])
}

/** The leader's own check, until its first answer. */
async function tryPolicy(
  { client, nodes, accounts, clock, random, logger }: ClusterAround,
  signal: AbortSignal,
) {
  const read = await attempt(nodes)
  const names = read.ok ? [...read.value.reports.keys()] : []
  const sample = (without: ReadonlySet<string>) => names.find((name) => !without.has(name))
  const { agent } = accounts
  const forCheck = { client, agent, clock, random, logger, sample, onChange: () => undefined }
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
