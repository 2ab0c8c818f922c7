import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../agent/shared/clock.ts'
import { createKubeClient } from '../controller/kubernetes/client.ts'
import { borrowCluster } from '../test/servers/pool/borrow.ts'
import { writeTokenKubeconfig } from '../test/world/service-account.ts'
import { completeSpec, completeStatus, sampleReport } from './testing/sample-report.ts'
import {
  applyReport,
  bindToEverything,
  boundToken,
  registerNode,
  type SendRequest,
  token,
  withToken,
} from './testing/writers.ts'

const collection = '/apis/rollcall.dev/v1alpha1/nodereports'
const agentAccount = 'system:serviceaccount:kube-system:rollcall-agent'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
const controller = withToken(cluster, await token(cluster, 'rollcall-controller'))

const kubelet = (name: string) => cluster.as({ user: `system:node:${name}`, groups: ['system:nodes'] })

/** The report of a Node that runs no agent, with changes. */
function agentless(name: string, nodeUID: string, changes: { metadata?: object; spec?: object } = {}) {
  const { metadata, ...report } = sampleReport(name, nodeUID)
  return {
    ...report,
    metadata: { ...metadata, ...changes.metadata },
    spec: {
      nodeUID,
      agentVersion: 'none',
      machine: { productUUID: completeSpec.machine.productUUID },
      interfaces: [],
      tools: { guestinfoReadable: false, guestinfoWritable: false },
      claim: { written: false, reason: 'NoAgent', message: 'no agent has reported' },
      ...changes.spec,
    },
  }
}

async function create(send: SendRequest, report: object, query = '') {
  const { status, body } = await send<{ message?: string }>('POST', `${collection}${query}`, report)
  return { status, message: String(body.message) }
}

const merge = (send: SendRequest, path: string, body: unknown) =>
  send<{ message?: string }>('PATCH', path, body, { contentType: 'application/merge-patch+json' })

await t.test('the controller introduces a Node that runs no agent', async (t) => {
  const uid = await registerNode((await kubelet('windows')).request, 'windows')
  t.match(await create(controller, agentless('windows', uid)), { status: 201 })
  t.match(await merge(controller, `${collection}/windows/status`, { status: completeStatus }), {
    status: 200,
  })
  const other = await registerNode((await kubelet('unknown')).request, 'unknown')
  t.match(
    await create(controller, agentless('unknown', other, { spec: { machine: {} } })),
    { status: 201 },
    'of which not even a UUID is known',
  )
})

await t.test('and says nothing else of it', async (t) => {
  const uid = await registerNode((await kubelet('b')).request, 'b')
  const { serialUUID, vendor, product } = completeSpec.machine
  const silent = { guestinfoReadable: false, guestinfoWritable: false }
  const specs: Record<string, object> = {
    'a serial': { machine: { serialUUID } },
    'a vendor': { machine: { vendor } },
    'a product': { machine: { product } },
    'an interface': { interfaces: completeSpec.interfaces },
    cloudInit: { cloudInit: completeSpec.cloudInit },
    'an empty cloudInit': { cloudInit: {} },
    bootID: { bootID: completeSpec.bootID },
    hostname: { hostname: 'b' },
    unreadable: { unreadable: completeSpec.unreadable },
    'nothing unreadable': { unreadable: [] },
    'guestinfo to read': { tools: { ...silent, guestinfoReadable: true } },
    'guestinfo to write': { tools: { ...silent, guestinfoWritable: true } },
    tools: { tools: { ...silent, version: '12' } },
    'a claim': { claim: { written: true, reason: 'NoAgent', message: '' } },
    'another reason': { claim: { written: false, reason: 'ToolMissing', message: '' } },
    'an agent': { agentVersion: '0.1.0' },
    'a whole report': completeSpec,
  }
  for (const [what, spec] of Object.entries(specs)) {
    t.match(
      await create(controller, agentless('b', uid, { spec })),
      {
        status: 403,
        message: /"system:.*rollcall-controller" may not create NodeReport "b" that says anything/,
      },
      what,
    )
  }
  for (const field of Object.keys(completeSpec)) {
    t.ok(Object.values(specs).some((spec) => field in spec) || field === 'nodeUID', `spec.${field} was tried`)
  }

  const owner = { apiVersion: 'v1', kind: 'Node', name: 'b', uid }
  const owners: Record<string, object[]> = {
    'no owner': [],
    'another Node': [{ ...owner, name: 'c' }],
    'another UID': [{ ...owner, uid: completeSpec.nodeUID }],
    'two owners': [owner, { ...owner, uid: completeSpec.nodeUID }],
    'a Pod': [{ ...owner, kind: 'Pod' }],
  }
  for (const [what, ownerReferences] of Object.entries(owners)) {
    const expected = { status: 403, message: /ownerReferences must be exactly one, the Node "b"/ }
    t.match(await create(controller, agentless('b', uid, { metadata: { ownerReferences } })), expected, what)
  }
  for (const metadata of [
    { finalizers: ['example.com/x'] },
    { labels: { a: 'b' } },
    { annotations: { a: 'b' } },
    { annotations: { 'rollcall.dev/reported-at': '2026-11-21T09:30:00Z' } },
  ]) {
    const expected = { status: 403, message: /with other finalizers, labels or annotations/ }
    t.match(await create(controller, agentless('b', uid, { metadata })), expected)
  }
  const nameless = agentless('b', uid, { metadata: { name: undefined, generateName: 'b' } })
  t.match(await create(controller, nameless), { status: 403, message: /ownerReferences/ }, 'generateName')
  t.match(await cluster.request('GET', `${collection}/b`), { status: 404 })
})

await t.test('an agent that comes later takes the report over', async (t) => {
  const { request } = await kubelet('late')
  const uid = await registerNode(request, 'late')
  t.match(await create(controller, agentless('late', uid)), { status: 201 })
  const agent = withToken(cluster, await boundToken(cluster, 'rollcall-agent', 'late'))
  for (const [who, send] of [
    ['the agent of a Pod', agent],
    ['a kubelet', request],
  ] as const) {
    t.match(await applyReport(send, sampleReport('late', uid)), { status: 200 }, who)
    const { body } = await cluster.request<{ spec: object }>('GET', `${collection}/late`)
    t.strictSame(body.spec, sampleReport('late', uid).spec, 'nothing else is left in it')
  }
  t.match(await create(controller, agentless('late', uid)), { status: 409 }, 'it is not written again')
})

await t.test('nobody else introduces a Node', async (t) => {
  const { request } = await kubelet('d')
  const uid = await registerNode(request, 'd')
  const report = agentless('d', uid)
  const other = withToken(cluster, await boundToken(cluster, 'default', 'd'))
  await bindToEverything(cluster, [
    { kind: 'ServiceAccount', name: 'default', namespace: 'kube-system' },
    { kind: 'User', name: 'person' },
  ])
  const person = await cluster.as({ user: 'person' })
  const foreign = await kubelet('e')
  for (const [who, send, message] of [
    ['a service account', other, /only the agent of that node may/],
    ['a person', person.request, /only the agent of that node may/],
    ['an administrator', cluster.request, /only the agent of that node may/],
    ['another kubelet', foreign.request, /speaks for Node "e"/],
    ['an agent without a node', withToken(cluster, await token(cluster, 'rollcall-agent')), /names no node/],
  ] as const) {
    t.match(await create(send, report, '?dryRun=All'), { status: 403, message }, who)
  }

  const kubeconfig = join(cluster.dir, 'controller')
  await writeTokenKubeconfig(kubeconfig, cluster, await token(cluster, 'rollcall-controller'))
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path: kubeconfig },
    clock: systemClock,
    userAgent: 'test',
  })
  const impersonated = client.request({
    method: 'POST',
    path: collection,
    query: { dryRun: 'All' },
    body: report,
    impersonate: agentAccount,
    signal: new AbortController().signal,
  })
  await t.rejects(impersonated, {
    status: 403,
    message: /ValidatingAdmissionPolicy.*rollcall-agent.*names no node/,
  })
  await client.close()
})

await t.test('a report that stands is not for the controller to change, whatever its rights', async (t) => {
  const { request } = await kubelet('f')
  const uid = await registerNode(request, 'f')
  t.match(await create(controller, agentless('f', uid)), { status: 201 })
  const path = `${collection}/f`
  const writes = () => [
    merge(controller, path, { spec: { machine: { serialUUID: completeSpec.machine.serialUUID } } }),
    merge(controller, path, { spec: { claim: { message: 'other' } } }),
    merge(controller, path, { metadata: { labels: { a: 'b' } } }),
    controller('DELETE', path),
  ]
  for (const write of writes()) {
    const { status, body } = await write
    t.match({ status, body }, { status: 403, body: { message: /cannot (patch|delete) resource/ } }, 'by RBAC')
  }
  await bindToEverything(cluster, [
    { kind: 'ServiceAccount', name: 'rollcall-controller', namespace: 'kube-system' },
  ])
  for (const write of writes()) {
    const { status, body } = await write
    t.match(
      { status, body },
      { status: 403, body: { message: /ValidatingAdmissionPolicy/ } },
      'by the policy',
    )
  }
})
