// A cluster that still has the CPI's arguments, and its older form of vsphere.conf, with a section of the provider before it.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Agent, request } from 'undici'
import { parse } from 'yaml'
import { until } from '../fixtures/until.ts'
import type { CertificateIdentity } from '../servers/pki.ts'
import { freePort } from '../servers/ports.ts'
import { eventsOf, isInitialized } from '../world/objects.ts'
import { serviceAccountToken } from '../world/service-account.ts'
import { openStage } from '../world/stage.ts'

const lists = join(import.meta.dirname, '../cpi/argument-lists.yaml')
const { daemonset }: { daemonset: string[] } = parse(readFileSync(lists, 'utf8'))

const stage = await openStage(t, { vms: 2, password: 'semi;colon # "quote" \\' })
const { cluster, vcsim, nodes, reports, events } = stage
const password = vcsim.password.replaceAll(/[\\"]/g, '\\$&')

// The client CA is looked up at the start, and then by the minute.
const reader = { kind: 'Role', name: 'extension-apiserver-authentication-reader' }
await bind(reader, 'rollcall-controller', 'kube-system')
const securePort = await freePort()
const controller = await stage.controller({
  cpiArguments: daemonset,
  args: [
    '--node-labels=example.com/site=a,kubernetes.io/no=b',
    '--allocate-node-cidrs=true',
    `--secure-port=${securePort}`,
  ],
  config: `; as gcfg has it
[Global]
user = ${vcsim.username}
password = "${password}" # escaped
port = "${vcsim.port}"

[VirtualCenter "${vcsim.host}"]
ca-file = "${vcsim.certificateFile}"

[Workspace]
server = "${vcsim.host}"
`,
})

t.test('a Node with an agent is initialized', async (t) => {
  const member = await stage.member('worker-1')
  await member.agent()
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
  t.equal(nodes.last(member.name)?.spec.providerID, `vsphere://${member.vm.uuid}`)
  const synced = () => eventsOf(events, member.name).find(({ reason }) => reason === 'Synced')
  await events.until("the CPI's Event is there", () => synced() !== undefined)
  t.match(synced(), { type: 'Normal', source: { component: 'cloud-node-controller' } })
})

t.test('so is one without an agent, as by the CPI', async (t) => {
  const { name, vm } = await stage.member('worker-2', { tools: true, labels: { 'example.com/own': 'kept' } })
  await nodes.until('it is initialized', () => isInitialized(nodes.last(name)))
  t.equal(nodes.last(name)?.spec.providerID, `vsphere://${vm.uuid}`)
  t.match(nodes.last(name)?.metadata.labels, { 'example.com/own': 'kept', 'example.com/site': 'a' })
  t.notOk('kubernetes.io/no' in (nodes.last(name)?.metadata.labels ?? {}))
  await reports.until('its level is told', () => reports.last(name)?.status?.identityLevel === 'asserted')
})

t.test('HTTPS is for those alone whom the API server lets see it', async (t) => {
  const agent = new Agent({ connect: { rejectUnauthorized: false } })
  t.teardown(() => agent.close())
  const get = async (path: string, token?: string, dispatcher = agent) => {
    const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const answer = await request(`https://127.0.0.1:${securePort}${path}`, { headers, dispatcher })
    return { status: answer.statusCode, text: await answer.body.text() }
  }
  t.match(await get('/healthz'), { status: 200, text: 'ok\n' })
  t.match(await get('/metrics'), { status: 503 }, 'it may not ask yet')
  const rules = [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }]
  const clusterRoles = '/apis/rbac.authorization.k8s.io/v1/clusterroles'
  await cluster.request('POST', clusterRoles, { metadata: { name: 'scraper' }, rules })
  await bind({ kind: 'ClusterRole', name: 'scraper' }, 'rollcall-agent')
  await bind({ kind: 'ClusterRole', name: 'system:auth-delegator' }, 'rollcall-controller')
  const token = await serviceAccountToken(cluster, 'rollcall-agent')
  await until('the scraper is let in', async () => (await get('/metrics', token)).status === 200)
  t.match((await get('/metrics', token)).text, /^rollcall_leader 1$/m)
  t.match(
    (await get('/metrics', token)).text,
    /^running_managed_controllers\{name="cloud-node-lifecycle",manager="cloud-controller-manager"\} 1$/m,
  )
  // An answer that the API server refused counts for a second.
  await until('it may ask again', async () => (await get('/metrics')).status === 403)
  t.match(await get('/metrics', 'x.y.z'), { status: 401 })
  t.match(await get('/readyz'), { status: 200 })
  t.match(await get('/anything', token), { status: 404 })

  const showing = async (identity: CertificateIdentity) => {
    const { certificateFile, keyFile } = await cluster.clientCertificate(identity)
    const pair = { cert: readFileSync(certificateFile), key: readFileSync(keyFile) }
    const client = new Agent({ connect: { rejectUnauthorized: false, ...pair } })
    t.teardown(() => client.close())
    return get('/metrics', undefined, client)
  }
  t.match(await showing({ user: 'admin', groups: ['system:masters'] }), { status: 200 })
  t.match(
    await showing({ user: 'nobody' }),
    { status: 403 },
    'the cluster knows no such user, and lets none in',
  )
  t.match(
    await showing({ user: 'system:serviceaccount:kube-system:rollcall-agent' }),
    { status: 200 },
    'the API server is asked what the user of a certificate may',
  )
})

t.test('what has no effect is told, and what follows from the arguments', async (t) => {
  t.match(
    controller.output(),
    /controller-0\.conf:10:1: workspace: has no effect because it is for the former in-tree provider/,
  )
  t.match(controller.output(), /"level":"info",[^\n]*--allocate-node-cidrs has no effect/)
  t.match(controller.output(), /"level":"warn",[^\n]*kubernetes\.io\/no is left out/)
  t.match(controller.output(), /"level":"warn",[^\n]*command line: identity\.require: is not set/)
  t.notMatch(controller.output(), 'semi;colon')
})

/** Binds a service account of kube-system to a role of this namespace, or to one of the cluster. */
async function bind(role: { kind: string; name: string }, account: string, namespace?: string) {
  const scope = namespace === undefined ? 'clusterrolebindings' : `namespaces/${namespace}/rolebindings`
  const { status } = await cluster.request('POST', `/apis/rbac.authorization.k8s.io/v1/${scope}`, {
    metadata: { name: role.name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', ...role },
    subjects: [{ kind: 'ServiceAccount', namespace: 'kube-system', name: account }],
  })
  if (status !== 201) throw new Error(`${role.name}: HTTP ${status}`)
}
