/** The chart in a namespace of its own, with another account: everything that names them follows. */
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import type { Line } from '../../agent/shared/diagnosis.ts'
import { sampleReport } from '../../manifests/testing/sample-report.ts'
import { applyReport, bindToEverything, withToken } from '../../manifests/testing/writers.ts'
import { serverBinary } from '../servers/build.ts'
import type { Cluster } from '../servers/cluster.ts'
import { policiesInForce } from '../servers/manifests.ts'
import { vsphereConf } from '../world/controller.ts'
import { isInitialized } from '../world/objects.ts'
import { runProgram } from '../world/program.ts'
import { collection, createAgentPod, serviceAccountToken } from '../world/service-account.ts'
import { openOwnStage } from '../world/stage.ts'

const account = { namespace: 'vsphere', name: 'cloud-operator' }
const { namespace } = account

async function install(cluster: Cluster): Promise<void> {
  const chart = join(import.meta.dirname, '../../manifests/chart/rollcall')
  const args = ['install', 'rollcall', chart, '--namespace', namespace, '--create-namespace']
  const access = ['--kubeconfig', cluster.adminKubeconfig]
  const values = ['--set', `serviceAccount.name=${account.name}`]
  await promisify(execFile)(await serverBinary('helm'), [...args, ...access, ...values])
  await policiesInForce(cluster)
}

const stage = await openOwnStage(t, { vms: 2 }, { apply: install })
const { cluster, vcsim, nodes } = stage

await t.test('controller and agent do their work', async () => {
  await stage.controller({ account })
  const member = await stage.member('worker-1', { agentOf: 'pod', namespace })
  await member.agent()
  await nodes.until('the Node is initialized', () => isInitialized(nodes.last(member.name)))
})

await t.test('doctor finds namespace and accounts by itself', async (t) => {
  const conf = vsphereConf(vcsim).replace(/caFile: .*/, 'caFile: /etc/rollcall/ca.crt')
  const files = { 'vsphere.conf': conf, 'ca.crt': await readFile(vcsim.certificateFile, 'utf8') }
  const secret = { metadata: { name: 'rollcall-config' }, stringData: files }
  t.match(await cluster.request('POST', collection(namespace, 'Secret'), secret), { status: 201 })
  const { code, text } = await runProgram(
    'rollcall-controller',
    'doctor',
    `--kubeconfig=${cluster.adminKubeconfig}`,
    '-o=json',
  )
  const { checks }: { checks: Line[] } = JSON.parse(text)
  t.equal(code, 0, text)
  const of = (check: string) => checks.find((line) => line.check === check)
  t.match(of('configuration'), { status: 'ok', message: /^Secret vsphere\/rollcall-config/ })
  t.match(of('RBAC of the controller'), { status: 'ok', message: /^vsphere\/cloud-operator has/ })
  t.match(of('RBAC of the agents'), { status: 'ok', message: /^vsphere\/rollcall-agent has/ })
  t.match(of('admission policies'), {
    status: 'ok',
    message: /^a forged report is refused, .* as this version/,
  })
})

await t.test('the account of the manifests is nobody there, whatever its rights', async (t) => {
  const { name, uid } = await stage.member('worker-2')
  const stranger = { kind: 'ServiceAccount', namespace: 'kube-system', name: 'rollcall-agent' } as const
  const made = await cluster.request('POST', collection('kube-system', 'ServiceAccount'), {
    metadata: { name: stranger.name },
  })
  t.match(made, { status: 201 })
  await bindToEverything(cluster, [stranger])
  const pod = await createAgentPod(cluster, name)
  const agent = withToken(cluster, await serviceAccountToken(cluster, stranger.name, { pod }))
  t.match(await applyReport(agent, sampleReport(name, uid)), {
    status: 403,
    message: /only the agent of that node may, .* a token of vsphere\/rollcall-agent/,
  })
})
