/** A stranger's policy refuses each status that the controller writes into a report: reports say what is old, or nothing. */
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { applyManifest, type Manifest } from '../servers/manifests.ts'
import { metric } from '../world/meters.ts'
import { isInitialized, isShutDown } from '../world/objects.ts'
import { runProgram } from '../world/program.ts'
import { openStage } from '../world/stage.ts'

const NAME = 'frozen.example.com'
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicy'

const stage = await openStage(t, { vms: 2 })
const { cluster, events, nodes, reports, vcsim } = stage
const controller = await stage.controller()
const known = await stage.initialized('known')
const kubeconfig = await cluster.kubeconfig({ user: 'ann', groups: ['system:masters'] })
const said = async (...args: string[]) =>
  (await runProgram('rollcall-controller', ...args, `--kubeconfig=${kubeconfig}`)).text
/** What a command says once it says this: a leader that has just begun looks for its troubles anew. */
const saying = (pattern: RegExp, ...args: string[]) =>
  until(`${args[0]} says ${pattern}`, async () => {
    const text = await said(...args)
    return pattern.test(text) && text
  })

const LINE =
  /^! the API server rejects writes for some Nodes, so their NodeReports are out of date or empty: .*'frozen\.example\.com'.* not in this cluster; look for an admission webhook or policy.*/m
/** The line of `status` that says it, once it names this Node. */
const line = (name: string) =>
  until(`status says it of ${name}`, async () => {
    const found = LINE.exec(await said('status'))?.[0]
    return found?.includes(name) && found
  })

t.test('a Node is initialized, and others say what its report cannot', async (t) => {
  await refuseStatuses()
  await stage.reported('fresh')
  await nodes.until('it is initialized', () => isInitialized(nodes.last('fresh')))
  t.match(await stage.told('fresh', 'StatusRefused'), [
    { type: 'Warning', message: /frozen\.example\.com.* not in this cluster; look for an admission webhook/ },
  ])
  t.equal(reports.last('fresh')?.status, undefined)
  const heldUp = 'rollcall_nodes_held_up{condition="Initialized",reason="StatusRefused"}'
  await until('it is counted', async () => (await metric(controller, heldUp)) === 1)
  await line('fresh')
  t.match(await said('status'), /- +fresh +- +zone-b +- +initialized +NotDecidedYet$/m)
  await until('it is ready', async () =>
    /^leading\nthe API server rejects writes for some Nodes/.test(await controller.readyz()),
  )
  t.match(
    await saying(LINE, 'explain', 'fresh'),
    /^Node fresh is initialized; needs attention: no leader has .* or could not write what/m,
  )
  await saying(
    /^warn +Lease +\S+ leads, and says: the API server rejects writes .*frozen\.example\.com/m,
    'doctor',
    `--config=${controller.configFile}`,
  )
})

t.test('of a VM that is powered off meanwhile it is not said that it runs', async (t) => {
  await vcsim.govc('vm.power', '-off', known.vm.name)
  await nodes.until('it is tainted', () => isShutDown(nodes.last('known')))
  await stage.told('known', 'StatusRefused')
  await line('known')
  t.match(await said('status'), / known +proven +zone-a +- +initialized +NotDecidedYet$/m)
  const explained = await saying(LINE, 'explain', 'known')
  t.match(
    explained,
    /needs attention: the Node has the taint .*shutdown, and its report .*: the report is old/,
  )
  t.notMatch(explained, /the Node is tainted/)
})

t.test('it is one Event of the leader, and when the policy is gone, all is written', async (t) => {
  const told = () =>
    events.versions.filter(({ object }) => object.message?.includes('rejects writes for some Nodes'))
  await events.until('there is one', () => told().length > 0)
  t.match(told(), [{ object: { reason: 'LeaderTroubled', involvedObject: { kind: 'Lease' } } }])
  await cluster.request('DELETE', `${POLICIES}bindings/${NAME}`)
  await stage.says('fresh', 'Initialized', { status: 'True' })
  await stage.says('known', 'VMFound', { reason: 'VMPoweredOff' })
  await until('nobody says it any more', async () => !LINE.test(await said('status')))
  await saying(/ known +proven +zone-a +off +VM off +VMPoweredOff$/m, 'status')
})

/** Applies the policy, and waits until it refuses. */
async function refuseStatuses(): Promise<void> {
  const apply = (kind: string, spec: object) => {
    const object = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name: NAME }, spec }
    return applyManifest(cluster, object satisfies Manifest)
  }
  await apply('ValidatingAdmissionPolicy', {
    matchConstraints: {
      resourceRules: [
        {
          apiGroups: ['rollcall.dev'],
          apiVersions: ['*'],
          operations: ['UPDATE'],
          resources: ['nodereports/status'],
        },
      ],
    },
    validations: [{ expression: 'false', message: 'no status is written, not in this cluster' }],
  })
  await apply('ValidatingAdmissionPolicyBinding', { policyName: NAME, validationActions: ['Deny'] })
  // Others may write none anyway.
  const writer = await cluster.as({ user: 'system:serviceaccount:kube-system:rollcall-controller' })
  await until('the policy is in force', async () => {
    const { body } = await writer.request<{ message?: string }>(
      'PATCH',
      '/apis/rollcall.dev/v1alpha1/nodereports/known/status?dryRun=All',
      { status: { nodeUID: '00000000-0000-4000-8000-000000000000' } },
      { contentType: 'application/merge-patch+json' },
    )
    return body.message?.includes(NAME)
  })
}
