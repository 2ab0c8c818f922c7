import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { stringify } from 'yaml'
import { cpiObject } from '../../controller/cpi/interlock/testing/cpi-object.ts'
import type { NodePlan } from '../../controller/inspect/plan/node-plan.ts'
import { until } from '../fixtures/until.ts'
import { applyManifest } from '../servers/manifests.ts'
import { settled } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { ready } from '../world/objects.ts'
import { runProgram, type Said } from '../world/program.ts'
import { LABELS, openStage, REGION_CATEGORY } from '../world/stage.ts'

const PASSWORD = 'correct-horse-7f3a'
const stage = await openStage(t, {
  vms: 4,
  cpus: 2,
  memoryMB: 4096,
  guestId: 'ubuntu64Guest',
  password: PASSWORD,
})
const { cluster, nodes, vcsim } = stage
const controller = await stage.controller({ require: 'asserted' })
const { configFile, kubeconfig } = controller

for (const i of [1, 2]) await stage.member(`worker-${i}`, { tools: true, addresses: [`10.7.0.${i}/24`] })
const lost = await stage.member('worker-3', { tools: true, addresses: ['10.7.0.3/24'] })
// A status is written after the Node; a busy machine's leader that ends may not get to it.
await settled(stage, 'worker-1', 'worker-2', lost.name)
await controller.stop()

t.test('a cluster that is as it should be', async (t) => {
  t.match(await plan(), { code: 0, text: /^no change to any of 3 Nodes$/m })
})

t.test('what would change is said, and nothing is written', async (t) => {
  const waiting = await stage.member('worker-4', { tools: true, addresses: ['10.7.0.4/24'] })
  await vcsim.hide(lost.vm.ref)
  t.match(await plan(), { code: 2, text: /^1 of 4 Nodes would change$/m }, 'not while it is Ready')
  await loseHeartbeats(cluster, lost.name)
  await nodes.until('that is recorded', () => ready(nodes.last(lost.name)) === 'Unknown')
  const written = () => [nodes, stage.reports, stage.events].map(({ versions }) => versions.length)
  const before = written()
  const { code, text } = await plan()
  t.equal(code, 2)
  t.match(text, /^2 of 4 Nodes would change$/m)
  t.match(text, `+ providerID: vsphere://${waiting.vm.uuid}`)
  t.match(text, '+ deletion: once its VM is proven gone')
  t.match(text, /^Nodes that would get a new identity level label: 1 \(worker-4\)$/m)
  const planned: { changes: boolean; nodes: NodePlan[] } = JSON.parse((await plan('--output', 'json')).text)
  t.match(text, /^Nodes that need an agent to reach reported: 4 \(worker-1, worker-2, worker-3, worker-4\)$/m)
  t.equal(planned.changes, true)
  const of = (name: string) => planned.nodes.find((each) => each.name === name)
  t.same(of('worker-1'), {
    name: 'worker-1',
    level: 'asserted',
    changes: [],
    levelLabel: false,
    lacks: of('worker-1')?.lacks,
    remarks: [],
  })
  t.match(of('worker-1')?.lacks, /does not need an agent/)
  t.match(of('worker-4')?.changes, [
    { what: 'labels.beta.kubernetes.io/instance-type', to: 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu' },
    { what: 'labels.failure-domain.beta.kubernetes.io/region', to: 'region-1' },
    { what: 'labels.failure-domain.beta.kubernetes.io/zone' },
    { what: 'labels.node.kubernetes.io/instance-type', to: 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu' },
    { what: 'labels.topology.kubernetes.io/region', to: 'region-1' },
    { what: 'labels.topology.kubernetes.io/zone' },
    { what: 'providerID', to: `vsphere://${waiting.vm.uuid}` },
    { what: 'addresses', to: 'Hostname=worker-4, InternalIP=10.7.0.4, ExternalIP=10.7.0.4' },
    { what: 'taints', from: /uninitialized/ },
  ])
  t.same(written(), before, 'no Node, report or Event was written')
})

t.test('a new Node waits for a tag where that is required', async (t) => {
  const region = { category: REGION_CATEGORY, tag: 'region-1', object: 'DC0' }
  await vcsim.tag({ ...region, detach: true })
  t.teardown(() => vcsim.tag(region))
  const required = join(stage.dir, 'required.conf')
  await writeFile(required, `${await readFile(configFile, 'utf8')}\ntopology:\n  required: true\n`)
  const { code, text } = await planWith(required, '--output', 'json')
  t.equal(code, 2)
  const { nodes: planned }: { nodes: NodePlan[] } = JSON.parse(text)
  const of = (name: string) => planned.find((each) => each.name === name)
  t.same(
    of('worker-4')?.changes.map(({ what }) => what),
    ['addresses'],
    'it keeps its taint',
  )
  t.match(of('worker-4')?.remarks, [
    /^TagMissing: no tag of category "k8s-region" \(region\) on .*; topology\.required is true, so the Node stays uninitialized until that is fixed in vCenter .*; or set topology\.required to false$/,
  ])
  t.same(of('worker-1')?.changes, [], 'a running one goes on')
  t.match(of('worker-1')?.remarks, [/^TagMissing: .*; attach a tag in vCenter; the label follows by itself$/])
  t.match((await planWith(required)).text, /^ {2}! TagMissing: .* topology\.required is true, /m)
})

t.test('the CPI is found, and the steps of the hand-over are those of this cluster', async (t) => {
  const args = ['--cloud-config=/etc/cloud/vsphere.conf', '--node-labels=example.com/rack=r1']
  for (const object of [
    cpiObject(args, {
      volumeMounts: [{ name: 'config', mountPath: '/etc/cloud' }],
      volumes: [{ name: 'config', configMap: { name: 'vsphere-cloud-config' } }],
      env: [
        { name: 'SKIP_NODE_DELETION', value: 'false' },
        // Whoever may run a Pod could have the password sent to a server of his own.
        { name: 'VSPHERE_VCENTER_A', value: 'main' },
        { name: 'VCENTER_A_SERVER', value: 'elsewhere.invalid' },
      ],
    }),
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {
        namespace: 'default',
        name: 'web',
        finalizers: ['service.kubernetes.io/load-balancer-cleanup'],
      },
      spec: { type: 'LoadBalancer', ports: [{ port: 80 }] },
    },
  ]) {
    await applyManifest(cluster, object)
  }
  // As the CPI's route controller says it.
  const condition = {
    type: 'NetworkUnavailable',
    status: 'False',
    reason: 'RouteCreated',
    message: 'a route',
  }
  const patched = await cluster.request(
    'PATCH',
    '/api/v1/nodes/worker-1/status',
    { status: { conditions: [condition] } },
    { contentType: 'application/strategic-merge-patch+json' },
  )
  t.equal(patched.status, 200)
  const service = '/api/v1/namespaces/default/services/web'
  t.teardown(async () => {
    await cluster.request('DELETE', '/apis/apps/v1/namespaces/kube-system/daemonsets/cpi')
    await cluster.request('PATCH', service, { metadata: { finalizers: null } })
    await cluster.request('DELETE', service)
  })
  const asAdmin = ['--from-cpi', `--config=${configFile}`, `--kubeconfig=${cluster.adminKubeconfig}`]
  const { code, output } = await runProgram('rollcall-controller', 'plan', ...asAdmin)
  t.equal(code, 2)
  t.match(output, /^the vSphere CPI is DaemonSet kube-system\/cpi$/m)
  t.notMatch(output, '+ deletion', 'by its SKIP_NODE_DELETION')
  t.match(output, /"lifecycle: \{deletion: off\}", because the CPI has SKIP_NODE_DELETION/)
  t.match(output, /^ {2}\+ labels\.example\.com\/rack: r1$/m, 'by its --node-labels')
  t.match(output, /^1\. get the CPI's file: .* get configmap vsphere-cloud-config /m)
  t.match(output, /^Services of type LoadBalancer .*: 1 \(default\/web\)$/m)
  t.match(output, /^Nodes with routes .*: 1 \(worker-1\)$/m)
  t.match(output, /^4\. start DaemonSet kube-system\/cpi with --controllers=service,route/m)
})

t.test(
  "without a file it reads the CPI's own, its Secret and its environment from the cluster",
  async (t) => {
    const namespace = 'cloud'
    const { host, port, username, certificateFile } = vcsim
    const objects = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace, name: 'cloud-conf' },
        data: {
          'cloud.conf': stringify({
            global: { port, caFile: 'ca.crt' },
            vcenter: { [host]: { server: host, datacenters: ['DC0'] } },
            labels: LABELS,
            loadBalancer: { size: 'SMALL', tier1GatewayPath: '/infra/tier-1s/shared', ipPoolName: 'pool' },
          }),
          'ca.crt': await readFile(certificateFile, 'utf8'),
        },
      },
      {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { namespace, name: 'cpi-environment' },
        data: { SECRET_NAMESPACE: namespace },
      },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { namespace, name: 'login' },
        stringData: { [`${host}.username`]: username, [`${host}.password`]: PASSWORD },
      },
      cpiObject([], {
        namespace,
        image: 'example.com/ccm:1',
        command: ['/bin/bash', '-c', 'exec ccm --cloud-provider=vsphere --cloud-config=$(CLOUD_CONFIG)'],
        env: [
          { name: 'CLOUD_CONFIG', value: '/etc/cpi/cloud.conf' },
          { name: 'VSPHERE_SECRET_NAME', value: 'login' },
          { name: 'OTHER', valueFrom: { secretKeyRef: { name: 'login', key: `${host}.password` } } },
        ],
        envFrom: [{ prefix: 'VSPHERE_', configMapRef: { name: 'cpi-environment' } }],
        volumeMounts: [{ name: 'config', mountPath: '/etc/cpi' }],
        volumes: [{ name: 'config', configMap: { name: 'cloud-conf' } }],
      }),
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { namespace, name: 'sctp' },
        spec: { type: 'LoadBalancer', ports: [{ port: 80, protocol: 'SCTP' }] },
      },
    ]
    for (const object of objects) await applyManifest(cluster, object)
    t.teardown(async () => {
      const daemonSet = `/apis/apps/v1/namespaces/${namespace}/daemonsets/cpi`
      await cluster.request('DELETE', daemonSet)
      await cluster.request('DELETE', `/api/v1/namespaces/${namespace}/services/sctp`)
    })
    const run = (...args: string[]) =>
      runProgram('rollcall-controller', 'plan', '--from-cpi', ...args, '--output', 'json')
    const { code, text, said } = await run(`--kubeconfig=${cluster.adminKubeconfig}`)
    t.equal(code, 2, said)
    const { nodes: planned, handOver }: { nodes: NodePlan[]; handOver: string[] } = JSON.parse(text)
    t.match(
      planned.find(({ name }) => name === 'worker-1'),
      { level: 'asserted', changes: [] },
      'it has logged in to vCenter as the CPI does',
    )
    const lines = handOver.join('\n')
    t.match(
      lines,
      /this plan uses them: VSPHERE_SECRET_NAME, VSPHERE_SECRET_NAMESPACE|VSPHERE_SECRET_NAMESPACE, VSPHERE_SECRET_NAME/,
    )
    t.match(
      lines,
      /kubectl -n cloud get configmap cloud-conf -o go-template='\{\{index \.data "cloud\.conf"\}\}'/,
    )
    t.match(lines, /kubectl -n cloud create role rollcall-credentials .*--resource-name=login/)
    t.match(lines, /while the CPI serves NSX: the cluster name is kubernetes, the default/)
    t.match(
      lines,
      /while the CPI serves NSX: the CPI takes any load balancer service on \/infra\/tier-1s\/shared/,
    )
    t.match(lines, /Services with a port of SCTP: 1 \(cloud\/sctp\)/)
    t.match(lines, /Nodes whose kubelet has no --node-ip: /)
    t.notMatch(text + said, PASSWORD)

    await t.test('a Secret of another namespace only where the CPI may read it', async (t) => {
      const foreign = { namespace: 'kube-system', name: 'login' }
      const stringData = { [`${host}.username`]: username, [`${host}.password`]: PASSWORD }
      const data = { SECRET_NAMESPACE: foreign.namespace }
      for (const object of [
        { apiVersion: 'v1', kind: 'Secret', metadata: foreign, stringData },
        { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name: 'cpi-environment' }, data },
      ])
        await applyManifest(cluster, object)
      const asAdmin = `--kubeconfig=${cluster.adminKubeconfig}`
      const { code, text, said } = await run(asAdmin)
      t.equal(code, 1)
      t.match(
        said,
        /DaemonSet cloud\/cpi names the Secret kube-system\/login, which its own account cloud\/cloud-controller-manager may not get: it is not read; .*--config/,
      )
      t.notMatch(text + said, PASSWORD)
      const rbac = 'rbac.authorization.k8s.io'
      const rules = [{ apiGroups: [''], resources: ['secrets'], resourceNames: ['login'], verbs: ['get'] }]
      const metadata = { namespace: foreign.namespace, name: 'login-of-cloud' }
      const roleRef = { apiGroup: rbac, kind: 'Role', name: metadata.name }
      const subjects = [{ kind: 'ServiceAccount', namespace, name: 'cloud-controller-manager' }]
      for (const object of [
        { apiVersion: `${rbac}/v1`, kind: 'Role', metadata, rules },
        { apiVersion: `${rbac}/v1`, kind: 'RoleBinding', metadata, roleRef, subjects },
      ])
        await applyManifest(cluster, object)
      await until('its account may', async () => (await run(asAdmin)).code === 2)
    })

    const without = await runProgram('rollcall-controller', 'plan', `--kubeconfig=${cluster.adminKubeconfig}`)
    t.match(without, { code: 1, output: /--config is missing: .*, or --from-cpi/ })
    // The controller's own account may list them, and read none.
    const refused = await run(`--kubeconfig=${kubeconfig}`)
    t.match(refused, { code: 1 })
    await cluster.request('DELETE', `/apis/apps/v1/namespaces/${namespace}/daemonsets/cpi`)
    t.match(await run(`--kubeconfig=${cluster.adminKubeconfig}`), {
      code: 1,
      said: /no vSphere CPI that handles Nodes among DaemonSets and Deployments to read a configuration from; name its vsphere\.conf with --config/,
    })
  },
)

t.test('what it cannot tell is an error, and says why', async (t) => {
  const wrong = join(stage.dir, 'wrong.conf')
  await writeFile(wrong, (await readFile(configFile, 'utf8')).replace(/password: .*/, 'password: other'))
  const { code, output: twice } = await plan(`--config=${wrong}`)
  t.equal(code, 1)
  t.match(twice, /--config: given twice/)
  const refused = async (...args: string[]) => {
    const { code, output } = await planWith(wrong, ...args)
    t.equal(code, 1)
    return output
  }
  t.match(
    await refused('--lease-name=none'),
    /^a login attempt was not counted .* the Lease cannot be read: each wrong password/m,
  )
  for (let times = 0; times < 3; times++) {
    const output = await refused()
    t.match(
      output,
      /^! vCenter main: InvalidLogin: \S+ refuses the user .*; this was one attempt, which counts .*; check user and password$/m,
    )
    t.notMatch(output, /was not counted|lately|retried/)
  }
  const withheld = await refused()
  t.match(
    withheld,
    /^! vCenter main: InvalidLogin: .*3 were refused or got no answer lately; try again after \d\d:\d\d UTC so that the account is not locked out; check user and password$/m,
  )
  t.notMatch(withheld, /retried/, 'nobody does')
})

function plan(...args: string[]): Promise<Said> {
  return planWith(configFile, ...args)
}

function planWith(config: string, ...args: string[]): Promise<Said> {
  return runProgram(
    'rollcall-controller',
    'plan',
    `--config=${config}`,
    `--kubeconfig=${kubeconfig}`,
    ...args,
  )
}
