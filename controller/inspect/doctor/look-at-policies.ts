import * as v from 'valibot'
import { hasStatus } from '../../kubernetes/api-error.ts'
import type { KubeClient } from '../../kubernetes/client.ts'
import type { PolicyFacts } from './facts.ts'
import { look } from './look.ts'

/** The policies that the manifests contain; a test compares the two. */
export const POLICIES: readonly (Pick<PolicyFacts, 'name' | 'since'> & { readonly kind: string })[] = [
  { name: 'own-report.rollcall.dev', kind: 'ValidatingAdmissionPolicy' },
  { name: 'update-node.rollcall.dev', kind: 'ValidatingAdmissionPolicy' },
  { name: 'delete-node.rollcall.dev', kind: 'ValidatingAdmissionPolicy' },
  { name: 'restore-labels.rollcall.dev', kind: 'MutatingAdmissionPolicy', since: '1.36' },
]

const RESOURCES: Readonly<Record<string, string>> = {
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
}

const Binding = v.object({
  spec: v.object({ policyName: v.string(), validationActions: v.nullish(v.array(v.string())) }),
})

/** Whether each policy is there, and bound so that it refuses. */
export async function lookAtPolicies(
  client: KubeClient,
  signal: AbortSignal,
): Promise<readonly PolicyFacts[]> {
  return Promise.all(
    POLICIES.map(async ({ kind, name, since }) => {
      const path = `/apis/admissionregistration.k8s.io/v1/${RESOURCES[kind]}`
      const read = (path: string) => ifThere(client, path, signal)
      const state = await look(async () => {
        if ((await read(`${path}/${name}`)) === undefined) return 'missing'
        const binding = v.safeParse(Binding, await read(`${path.replace(/ies$/, 'y')}bindings/${name}`))
        if (!binding.success || binding.output.spec.policyName !== name) return 'not bound'
        return binding.output.spec.validationActions?.includes('Deny') === false ? 'only warns' : 'bound'
      })
      return { name, ...(since === undefined ? {} : { since }), state }
    }),
  )
}

async function ifThere(client: KubeClient, path: string, signal: AbortSignal): Promise<unknown> {
  try {
    return await client.request({ method: 'GET', path, signal })
  } catch (error) {
    if (hasStatus(error, 404)) return undefined
    throw error
  }
}
