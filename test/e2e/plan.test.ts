import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { cpiObject } from '../../controller/cpi/interlock/testing/cpi-object.ts'
import type { NodePlan } from '../../controller/inspect/plan/node-plan.ts'
import { applyManifest } from '../servers/manifests.ts'
import { settled } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { ready } from '../world/objects.ts'
import { runProgram, type Said } from '../world/program.ts'
import { openStage, REGION_CATEGORY } from '../world/stage.ts'

const stage = await openStage(t, { vms: 4, cpus: 2, memoryMB: 4096, guestId: 'ubuntu64Guest' })
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
      env: [{ name: 'SKIP_NODE_DELETION', value: 'false' }],
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
    /^! vCenter main: InvalidLogin: .*3 were refused or not answered lately; try again after \d\d:\d\d UTC so that the account is not locked out; check user and password$/m,
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
