import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { until } from '../../test/fixtures/until.ts'
import { applyManifest, applyManifests, type Manifest, readManifests } from '../../test/servers/manifests.ts'
import { startCluster } from '../../test/servers/start-cluster.ts'
import { serviceAccountToken, writeTokenKubeconfig } from '../../test/world/service-account.ts'
import type { PolicyState } from '../types/cluster-state.ts'
import { createKubeClient } from './client.ts'
import { startPolicyCheck } from './testing/running-policy-check.ts'

const reports = '/apis/rollcall.dev/v1alpha1/nodereports'
const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
const rbac = '/apis/rbac.authorization.k8s.io/v1'

t.test('on a real API server, with the credential of the controller', async (t) => {
  const cluster = await startCluster()
  t.teardown(() => cluster.stop())
  await applyManifests(cluster)
  const token = await serviceAccountToken(cluster, 'rollcall-controller')
  const path = await writeTokenKubeconfig(join(cluster.dir, 'controller'), cluster, token)
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path },
    clock: systemClock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())

  const manifest = async (file: string, kind: string, name: string): Promise<Manifest> => {
    const found = (await readManifests(file)).find((m) => m.kind === kind && m.metadata.name === name)
    if (!found) throw new Error(`${file} has no ${kind} ${name}`)
    return found
  }
  const remove = async (path: string) => {
    const { status } = await cluster.request('DELETE', path)
    if (status !== 200) throw new Error(`DELETE ${path} was answered with ${status}`)
  }

  let sample: string | undefined
  await using check = startPolicyCheck(client, () => sample)
  const becomes = (state: PolicyState['state'], message?: RegExp) =>
    until(`the policy is ${state}, ${message}`, () => {
      const now = check.state()
      return now.state === state && (now.state !== 'not-in-force' || !message || message.test(now.message))
    })

  await t.test('in force, without a report that exists', async () => {
    await becomes('in-force')
  })

  await t.test('in force, over a report that exists', async (t) => {
    // By its kubelet, as a systemd unit's agent writes.
    const kubelet = await cluster.as({ user: 'system:node:a', groups: ['system:nodes'] })
    const node = await kubelet.request<{ metadata: { uid: string } }>('POST', '/api/v1/nodes', {
      metadata: { name: 'a' },
    })
    const report = {
      metadata: {
        name: 'a',
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'a', uid: node.body.metadata.uid }],
      },
      spec: {
        nodeUID: node.body.metadata.uid,
        agentVersion: '0',
        machine: {},
        interfaces: [],
        tools: { guestinfoReadable: false, guestinfoWritable: false },
        claim: { written: false, reason: 'ToolMissing', message: '' },
      },
    }
    t.match(
      await kubelet.request(
        'PATCH',
        `${reports}/a?fieldManager=rollcall-agent&force=true`,
        { apiVersion: 'rollcall.dev/v1alpha1', kind: 'NodeReport', ...report },
        { contentType: 'application/apply-patch+yaml' },
      ),
      { status: 201 },
    )
    sample = 'a'
    const before = check.requests.length
    await until('it was asked again', () => check.requests.length > before + 4)
    t.same(check.states, [{ state: 'in-force' }])
    const methods = check.requests.slice(-4).map(({ method }) => method)
    t.strictSame([...new Set(methods)].sort(), ['PATCH', 'POST'])
  })

  await t.test('the binding is gone, and comes back', async () => {
    await remove(`${policies.replace('policies', 'policybindings')}/own-report.rollcall.dev`)
    await becomes(
      'not-in-force',
      /^reports may be forged: .* could create a report; apply policy-own-report\.yaml/,
    )
    await applyManifests(cluster, ['policy-own-report.yaml'])
    await becomes('in-force')
  })

  await t.test('the binding only warns', async () => {
    const binding = await manifest(
      'policy-own-report.yaml',
      'ValidatingAdmissionPolicyBinding',
      'own-report.rollcall.dev',
    )
    const spec = { policyName: binding.metadata.name, validationActions: ['Warn'] }
    await applyManifest(cluster, { ...binding, spec } as Manifest)
    await becomes('not-in-force', /^reports may be forged/)
    await applyManifest(cluster, binding)
    await becomes('in-force')
  })

  await t.test('the policy no longer looks at changes', async () => {
    const policy = await manifest(
      'policy-own-report.yaml',
      'ValidatingAdmissionPolicy',
      'own-report.rollcall.dev',
    )
    const { status } = await cluster.request(
      'PATCH',
      `${policies}/own-report.rollcall.dev`,
      [{ op: 'replace', path: '/spec/matchConstraints/resourceRules/0/operations', value: ['CREATE'] }],
      { contentType: 'application/json-patch+json' },
    )
    t.equal(status, 200)
    await becomes(
      'not-in-force',
      /^reports may be forged: an agent without a node could change a Node's report/,
    )
    await applyManifest(cluster, policy)
    await becomes('in-force')
  })

  await t.test('the policy no longer asks who writes', async () => {
    const policy = await manifest(
      'policy-own-report.yaml',
      'ValidatingAdmissionPolicy',
      'own-report.rollcall.dev',
    )
    type Spec = { spec: { validations: { expression: string }[] } }
    const { spec } = policy as Manifest & Spec
    const validations = spec.validations.filter(({ expression }) => !/variables\.node\b/.test(expression))
    t.equal(validations.length, spec.validations.length - 3, 'owner, name and the rest are still asked')
    await applyManifest(cluster, {
      ...policy,
      spec: {
        ...spec,
        validations: validations.filter(({ expression }) => !/isAgentAccount/.test(expression)),
      },
    } as Manifest)
    await becomes('not-in-force', /^reports may be forged/)
    await applyManifest(cluster, policy)
    await becomes('in-force')
  })

  await t.test('the controller may not impersonate', async () => {
    await remove(`${rbac}/namespaces/kube-system/rolebindings/rollcall-policy-proof`)
    await becomes(
      'not-in-force',
      /^whether .*rollcall-controller is not allowed to impersonate kube-system\/rollcall-agent; apply rbac/,
    )
    await applyManifests(cluster, ['rbac.yaml'])
    await becomes('in-force')
  })

  await t.test('the agent may write nothing', async () => {
    await remove(`${rbac}/clusterrolebindings/rollcall-agent`)
    await becomes(
      'not-in-force',
      /^whether .*rollcall-agent is not allowed to create and patch NodeReports; apply rbac/,
    )
    await applyManifests(cluster, ['rbac.yaml'])
    await becomes('in-force')
  })

  await t.test('another policy is in between', async () => {
    const other = {
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'other.example.com' },
      spec: {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ['rollcall.dev'],
              apiVersions: ['*'],
              resources: ['nodereports'],
              operations: ['CREATE'],
            },
          ],
        },
        validations: [{ expression: 'false', reason: 'Forbidden', message: 'not today' }],
      },
    }
    await remove(`${policies.replace('policies', 'policybindings')}/own-report.rollcall.dev`)
    await applyManifest(cluster, other)
    await applyManifest(cluster, {
      ...other,
      kind: 'ValidatingAdmissionPolicyBinding',
      spec: { policyName: 'other.example.com', validationActions: ['Deny'] },
    } as Manifest)
    await becomes(
      'not-in-force',
      /^whether .* is unknown: the policy other\.example\.com denied a trial write/,
    )
    t.ok(
      check.lines.some(({ cause }) => /other\.example\.com.*not today/.test(String(cause))),
      'the log says by whom',
    )
    await remove(`${policies.replace('policies', 'policybindings')}/other.example.com`)
    await becomes('not-in-force', /^reports may be forged/)
    await applyManifests(cluster, ['policy-own-report.yaml'])
    await becomes('in-force')
  })

  await t.test('the API server is away and comes back', async (t) => {
    const changes = check.states.length
    const answerless = () => check.messages().filter((m) => m === 'policy proof without an answer').length
    const before = answerless()
    await cluster.stopApiServer()
    await until('an answer is missed', () => answerless() > before)
    const asked = check.requests.length
    await until('it goes on asking', () => check.requests.length > asked + 5)
    t.equal(answerless(), before + 1, 'said once')
    t.equal(check.state().state, 'in-force', 'what was proven stays')
    await cluster.startApiServer()
    await becomes('in-force')
    const since = check.requests.length
    await until('it goes on asking', () => check.requests.length > since + 10)
    t.same(check.states.slice(changes), [], 'nothing changed')
  })

  await t.test('there are no reports', async () => {
    await remove(`/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodereports.rollcall.dev`)
    await becomes('not-in-force', /^whether .* has no NodeReports; apply crd\.yaml/)
    await applyManifests(cluster, ['crd.yaml'])
    await becomes('in-force')
  })

  await t.test('a dry run leaves nothing, and each change was logged once', async (t) => {
    t.match(await cluster.request('GET', reports), { status: 200, body: { items: [] } })
    const said = check.messages().filter((m) => /^policy is/.test(String(m)))
    t.equal(said.length, check.states.length)
    t.ok(check.requests.every(({ query, impersonate }) => query?.dryRun === 'All' && impersonate))
  })
})
