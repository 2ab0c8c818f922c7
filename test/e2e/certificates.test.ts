// What people see of a kubelet's request for its serving certificate, by the real binaries.
import t from 'tap'
import { dns, ip, subjectOf } from '../../controller/loops/certificates/testing/make-request.ts'
import { allowApprovals, REQUESTS, readRequestObject, requestObject } from '../world/certificates.ts'
import type { Controller } from '../world/controller.ts'
import { kubeletIdentity } from '../world/kubelet.ts'
import { condition } from '../world/objects.ts'
import { runProgram } from '../world/program.ts'
import { openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 2 })
const { cluster, reports } = stage
const certificates = { approve: true }
const nodes = { internalNetworkSubnetCidr: '10.0.0.0/8' }
const without = await stage.controller({ certificates, nodes, until: 'answering' })
const worker = await stage.initialized('worker-1')
const kubelet = await cluster.as(kubeletIdentity(worker.name))
let controller: Controller | undefined
const access = [`--config=${without.configFile}`, `--kubeconfig=${cluster.adminKubeconfig}`]
const run = (command: string, ...args: string[]) => runProgram('rollcall-controller', command, ...args)

async function ask(name: string, ...names: readonly Buffer[]): Promise<void> {
  const body = requestObject(name, { subject: subjectOf(`system:node:${worker.name}`), names })
  t.equal((await kubelet.request('POST', REQUESTS, body)).status, 201)
}
const said = (name: string) =>
  reports.until(`${name} is judged`, () => {
    const report = reports.last(worker.name)
    const found = report && condition(report, 'ServingCertificate')
    return found?.message.startsWith(`${name}: `) === true ? found : undefined
  })

await t.test('without the right, the leader says what to apply, and goes on with Nodes', async (t) => {
  t.match(
    await without.readyz(),
    /this controller is not allowed to list certificate requests: apply the component approve-certificates/,
  )
  const { text } = await run('doctor', ...access)
  t.match(
    text,
    /fail +RBAC of the controller .*may not .*certificatesigningrequests.*component approve-certificates/,
  )
  t.match(text, /fail +admission policies .*approve-certificate\.rollcall\.dev is missing/)
  await without.stop()
})

await t.test('a plan says what would be approved, and approves nothing', async (t) => {
  await allowApprovals(cluster)
  await ask('csr-1', dns(worker.name), ip(worker.address))
  const { code, text } = await run('plan', ...access)
  t.match(text, `  + certificate: csr-1: for ${worker.name}, ${worker.address}, which are the Node's`)
  t.equal(code, 2)
  t.equal((await readRequestObject(cluster, 'csr-1')).status?.conditions, undefined)
})

await t.test('it is approved, and the report says for what', async (t) => {
  controller = await stage.controller({ certificates, nodes, identity: 'second' })
  t.match(await said('csr-1'), { status: 'True', reason: 'CertificateApproved' })
  t.match((await readRequestObject(cluster, 'csr-1')).status?.conditions, [
    { type: 'Approved', reason: 'ApprovedByRollcall', message: /worker-1/ },
  ])
  t.match((await run('plan', ...access)).text, /^no change to any of 1 Nodes$/m)
  t.match((await run('doctor', ...access)).text, /ok +serving certificates +no request of a kubelet waits/)
})

await t.test('why another one waits is said wherever people look', async (t) => {
  await ask('csr-2', dns(worker.name), ip('10.200.0.1'))
  t.match(await said('csr-2'), { status: 'False', reason: 'NameNotVerified' })
  const [event] = await stage.told(worker.name, 'NameNotVerified')
  t.match(event, { type: 'Warning', message: /^csr-2: "10\.200\.0\.1" is not known to be/ })
  const { text } = await run('explain', worker.name, `--kubeconfig=${cluster.adminKubeconfig}`)
  t.match(text, /certificate +NameNotVerified: csr-2: "10\.200\.0\.1"/)
  const status = await run('status', `--kubeconfig=${cluster.adminKubeconfig}`)
  t.match(status.text, /worker-1 .*NameNotVerified/)
  t.match(
    (await run('doctor', ...access)).text,
    /warn +serving certificates +1 of 1 Nodes wait .*worker-1: NameNotVerified/,
  )
  t.match(
    await controller?.metrics(),
    /^rollcall_certificate_requests_judged_total\{reason="NameNotVerified"\} 1$/m,
  )
  t.match(
    await controller?.metrics(),
    /^rollcall_node_conditions\{condition="ServingCertificate",status="False",reason="NameNotVerified"\} 1$/m,
  )
})

await t.test('one that cannot be read is left alone', async (t) => {
  await ask('csr-3', dns(''))
  t.match(await said('csr-3'), { status: 'False', reason: 'RequestMalformed' })
  const [event] = await stage.told(worker.name, 'RequestMalformed')
  t.match(event, { type: 'Warning', message: /^csr-3: has a DNS name that is not one/ })
  t.equal((await readRequestObject(cluster, 'csr-3')).status?.conditions, undefined)
  await ask('csr-4', dns(worker.name))
  t.match(await said('csr-4'), { status: 'True' }, 'the next one is approved all the same')
})
