import t from 'tap'
import { ApiError } from '../../agent/shared/api-error.ts'
import { systemClock } from '../../agent/shared/clock.ts'
import type { NodeReportStatus } from '../../agent/shared/node-report.ts'
import { withdrawOwnReport } from '../../test/servers/manifests.ts'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import type { Node, NodeReport } from '../types/node.ts'
import { createKubeClient, DEFAULT_TIMEOUT, type KubeClient } from './client.ts'
import { createNodeWriter } from './node-writer.ts'
import { createObjectParsers } from './object-parsers.ts'
import { parseNode, parseNodeReport } from './parse-node.ts'
import { answer, startApiStub } from './testing/api-stub.ts'
import { adminClient } from './testing/cluster-client.ts'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
// The test writes reports itself, as administrator.
await withdrawOwnReport(cluster)
const client = adminClient(cluster)
t.teardown(() => client.close())
const never = new AbortController().signal
const writerOf = (client: KubeClient, timeout = DEFAULT_TIMEOUT, signal = never) =>
  createNodeWriter(client, createObjectParsers(), timeout, signal)
const writer = writerOf(client)

const uninitialized = {
  key: 'node.cloudprovider.kubernetes.io/uninitialized',
  effect: 'NoSchedule',
  value: 'true',
} as const
const other = { key: 'example.com/other', effect: 'NoExecute' } as const
const merge = { contentType: 'application/merge-patch+json' }
const reports = '/apis/rollcall.dev/v1alpha1/nodereports'

async function createNode(name: string): Promise<Node> {
  const { body } = await cluster.request('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name, labels: { mine: 'x' } },
    spec: { taints: [uninitialized, other] },
  })
  return present(parseNode(body))
}

async function createReport(name: string): Promise<NodeReport> {
  const { body } = await cluster.request('POST', reports, {
    apiVersion: 'rollcall.dev/v1alpha1',
    kind: 'NodeReport',
    metadata: { name },
    spec: {
      nodeUID: '8c6e6b2c-8e58-4a1c-9d66-0d8f2f6f3a10',
      agentVersion: '0.1.0',
      machine: {},
      interfaces: [],
      tools: { guestinfoReadable: false, guestinfoWritable: false },
      claim: { written: false, reason: 'ToolMissing', message: '' },
    },
  })
  return present(parseNodeReport(body))
}

t.test('addresses, then labels, provider ID and taints', async (t) => {
  const node = await createNode('whole')
  // Two addresses of one type: a strategic merge would keep one.
  const addresses = [
    { type: 'InternalIP', address: '10.0.0.1' },
    { type: 'InternalIP', address: 'fd00::1' },
    { type: 'Hostname', address: 'whole' },
  ] as const
  const first = await writer.patchNodeStatus(node.name, node, { addresses })
  t.match(first, { outcome: 'written', object: { addresses, taints: [uninitialized, other] } })
  if (first.outcome !== 'written') return
  const labels = { 'topology.kubernetes.io/zone': 'z' }
  const second = await writer.patchNode(node.name, first.object, {
    labels,
    providerID: 'vsphere://42',
    taints: [other],
  })
  t.strictSame(second, {
    outcome: 'written',
    object: {
      ...first.object,
      resourceVersion: second.outcome === 'written' ? second.object.resourceVersion : '',
      labels: { mine: 'x', ...labels },
      labelCount: 2,
      providerID: 'vsphere://42',
      taints: [other],
    },
  })
  if (second.outcome !== 'written') return
  const third = await writer.patchNode(node.name, second.object, { taints: [] })
  t.match(third, { outcome: 'written', object: { taints: [] } })
  if (third.outcome !== 'written') return
  const fewer = await writer.patchNodeStatus(node.name, third.object, { addresses: addresses.slice(0, 1) })
  t.match(fewer, { outcome: 'written', object: { addresses: addresses.slice(0, 1) } }, 'the list is replaced')
  t.equal(fewer.outcome === 'written' && fewer.object.addresses.length, 1)
})

t.test('writes to the very object that was looked at', async (t) => {
  const node = await createNode('guarded')
  const report = await createReport('guarded')
  const touch = { metadata: { annotations: { touched: 'true' } } }
  const writes = (name: string, node: Node, report: NodeReport) => [
    () => writer.patchNodeStatus(name, node, { addresses: [{ type: 'Hostname', address: 'x' }] }),
    () => writer.patchNode(name, node, { taints: [] }),
    () => writer.deleteNode(name, node),
    () => writer.patchReportStatus(name, report, { instanceType: 'x' }),
  ]
  for (const write of writes('nobody', node, report)) t.same(await write(), { outcome: 'gone' })

  await cluster.request('PATCH', '/api/v1/nodes/guarded', touch, merge)
  await cluster.request('PATCH', `${reports}/guarded`, touch, merge)
  for (const write of writes('guarded', node, report))
    t.same(await write(), { outcome: 'conflict' }, 'changed')

  await cluster.request('DELETE', '/api/v1/nodes/guarded')
  await cluster.request('DELETE', `${reports}/guarded`)
  for (const write of writes('guarded', node, report)) t.same(await write(), { outcome: 'gone' })

  const nextNode = await createNode('guarded')
  await createReport('guarded')
  for (const write of writes('guarded', node, report))
    t.same(await write(), { outcome: 'conflict' }, 'replaced')

  const mixed = { ...nextNode, uid: node.uid }
  const other = await writer.patchNode('guarded', mixed, { taints: [] })
  t.not(other.outcome, 'written', 'the UID alone is enough to refuse')
  const addresses = await writer.patchNodeStatus('guarded', mixed, { addresses: [] })
  t.not(addresses.outcome, 'written')
  const halves = [mixed, { uid: nextNode.uid, resourceVersion: node.resourceVersion }]
  for (const half of halves) t.same(await writer.deleteNode('guarded', half), { outcome: 'conflict' })
  const { body } = await cluster.request('GET', '/api/v1/nodes/guarded')
  t.strictSame(parseNode(body), nextNode, 'nothing was written')
})

const taint = (key: string, effect = 'NoSchedule') => ({ key: `example.com/${key}`, effect })

t.test('of taints only the differences are sent', async (t) => {
  const bodies: unknown[] = []
  const recording = writerOf({
    ...client,
    request(request) {
      bodies.push(request.body)
      return client.request(request)
    },
  })
  let node = await createNode('tainted')
  const same = [taint('a'), taint('a', 'NoExecute'), { ...taint('a', 'PreferNoSchedule'), value: 'x' }]
  for (const taints of [
    [other, ...same],
    // One of those with the same key.
    [other, ...same.slice(0, 1), ...same.slice(2)],
    [other, ...same],
    // In another order.
    [...same, other],
    [taint('b'), ...same, taint('c')],
    [{ ...taint('b'), value: 'y' }],
    [],
    same,
  ]) {
    const result = await recording.patchNode(node.name, node, { taints })
    if (result.outcome !== 'written') throw new Error(JSON.stringify(result))
    node = result.object
    t.strictSame(node.taints, taints)
  }
  const many = Array.from({ length: 50 }, (_, i) => taint(`many-${i}`))
  const { body } = await cluster.request('PATCH', '/api/v1/nodes/tainted', { spec: { taints: many } }, merge)
  const result = await recording.patchNode(node.name, present(parseNode(body)), {
    taints: [...many.slice(0, 20), ...many.slice(21), other],
  })
  t.match(result, { outcome: 'written' })
  t.match(bodies.at(-1), [
    { path: '/metadata/resourceVersion' },
    { path: '/metadata/uid' },
    { op: 'remove', path: '/spec/taints/20' },
    { op: 'add', path: '/spec/taints/-', value: other },
  ])
})

t.test('a list of taints that has changed meanwhile is a conflict, whatever it has become', async (t) => {
  const first = [taint('a'), taint('b'), taint('c')]
  const writes: readonly (readonly ReturnType<typeof taint>[])[] = [
    [taint('a'), taint('b')],
    [...first, taint('d')],
    [],
  ]
  for (const [index, becomes] of [[], [taint('b')], [taint('c'), taint('b'), taint('a')], null].entries()) {
    for (const [number, taints] of writes.entries()) {
      const name = `changed-${index}-${number}`
      await createNode(name)
      const path = `/api/v1/nodes/${name}`
      const { body } = await cluster.request('PATCH', path, { spec: { taints: first } }, merge)
      const seen = present(parseNode(body))
      const { body: changed } = await cluster.request('PATCH', path, { spec: { taints: becomes } }, merge)
      t.same(await writer.patchNode(name, seen, { taints }), { outcome: 'conflict' })
      const now = parseNode((await cluster.request('GET', path)).body)
      t.strictSame(now, parseNode(changed), 'it is as it was')
      await cluster.request('DELETE', path)
      t.same(await writer.patchNode(name, seen, { taints }), { outcome: 'gone' })
    }
  }
})

t.test('the first label', async (t) => {
  const { body } = await cluster.request('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'unlabeled' },
  })
  const node = present(parseNode(body))
  t.equal(node.labelCount, 0)
  const first = await writer.patchNode(node.name, node, { labels: { 'x/a': '1' } })
  t.match(first, { outcome: 'written', object: { labels: { 'x/a': '1' }, labelCount: 1 } })
  if (first.outcome !== 'written') return
  const second = await writer.patchNode(node.name, first.object, { labels: { 'x/a': null, 'x/b': '2' } })
  t.strictSame(second.outcome === 'written' && second.object.labels, { 'x/b': '2' })
})

t.test('the first annotation', async (t) => {
  const { body } = await cluster.request('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'unannotated' },
  })
  const node = present(parseNode(body))
  t.equal(node.hasAnnotations, false)
  const annotations = { 'rollcall.dev/labels': 'x/a=1' }
  const first = await writer.patchNode(node.name, node, { annotations, labels: { 'x/a': '1' } })
  t.match(first, { outcome: 'written', object: { labelRecord: 'x/a=1', hasAnnotations: true } })
})

t.test('an annotation is taken away, others stay', async (t) => {
  const node = await createNode('annotated')
  const two = { metadata: { annotations: { 'x/a': '1', 'x/b': '2' } } }
  const { body: first } = await cluster.request('PATCH', '/api/v1/nodes/annotated', two, merge)
  const second = await writer.patchNode(node.name, present(parseNode(first)), {
    annotations: { 'x/a': null },
  })
  t.equal(second.outcome, 'written')
  const { body } = await cluster.request<{ metadata: object }>('GET', '/api/v1/nodes/annotated')
  t.match(body.metadata, { annotations: { 'x/b': '2' }, labels: { mine: 'x' } })
  t.notMatch(body.metadata, { annotations: { 'x/a': '1' } })
})

t.test('a deletion', async (t) => {
  const node = await createNode('unwanted')
  t.same(await writer.deleteNode('unwanted', node), { outcome: 'written', object: { gone: true } })
  t.equal((await cluster.request('GET', '/api/v1/nodes/unwanted')).status, 404)

  await t.test('that finalizers hold up', async (t) => {
    await createNode('lingering')
    const finalizers = (list: string[]) =>
      cluster.request('PATCH', '/api/v1/nodes/lingering', { metadata: { finalizers: list } }, merge)
    const { body } = await finalizers(['example.com/wait'])
    const held = present(parseNode(body))
    t.same(await writer.deleteNode('lingering', held), { outcome: 'written', object: { gone: false } })
    const now = parseNode((await cluster.request('GET', '/api/v1/nodes/lingering')).body)
    t.match(now, { deleting: true, uid: held.uid })
    t.same(await writer.deleteNode('lingering', held), { outcome: 'conflict' }, 'it is another version now')
    await finalizers([])
    t.equal((await cluster.request('GET', '/api/v1/nodes/lingering')).status, 404)
  })

  await t.test('by who may not', async (t) => {
    const nobody = createKubeClient({
      credentials: { kind: 'kubeconfig', path: await cluster.kubeconfig({ user: 'nobody', groups: [] }) },
      clock: systemClock,
      userAgent: 'test',
    })
    t.teardown(() => nobody.close())
    const kept = await createNode('kept')
    t.match(await writerOf(nobody).deleteNode('kept', kept), {
      outcome: 'rejected',
      message: /403 Forbidden: .*nobody/,
    })
  })
})

t.test('an answer to a deletion that says neither', async (t) => {
  for (const said of [{}, { kind: 'Status', status: 'Failure' }, []]) {
    await using stub = await startApiStub((_, response) => answer(response, 200, said))
    const writing = writerOf(stub.client)
    await t.rejects(writing.deleteNode('x', { uid: 'u', resourceVersion: '1' }), /object of another kind/)
  }
})

t.test("a report's status is replaced whole", async (t) => {
  const report = await createReport('status')
  const full: NodeReportStatus = {
    observedGeneration: 1,
    identityLevel: 'reported',
    topology: { zone: 'z', region: 'r' },
    instanceType: 'vsphere-vm.cpu-2.mem-4gb.os-ubuntu',
    addresses: [{ type: 'InternalIP', address: '10.0.0.1' }],
    conditions: [
      {
        type: 'VMFound',
        status: 'True',
        reason: 'Found',
        message: 'x',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  }
  const first = await writer.patchReportStatus('status', report, full)
  t.match(first, { outcome: 'written' })
  if (first.outcome !== 'written') return
  t.strictSame(first.object.status, full)
  t.strictSame(first.object.spec, report.spec)
  t.equal(first.object.generation, report.generation, 'a status is no new generation')

  const less: NodeReportStatus = { topology: { region: 'r' }, conditions: [] }
  const second = await writer.patchReportStatus('status', first.object, less)
  t.match(second, { outcome: 'written' })
  t.strictSame(second.outcome === 'written' && second.object.status, less, 'what the new one lacks is gone')
})

t.test('what the API server will never take', async (t) => {
  const node = await createNode('refused')
  t.match(await writer.patchNode('refused', node, { labels: { 'not a label': 'x' } }), {
    outcome: 'rejected',
    message: /422 Invalid: .*not a label/,
  })
  t.match(
    await writer.patchReportStatus('refused', await createReport('refused'), { identityLevel: 'x' as never }),
    {
      outcome: 'rejected',
      message: /identityLevel/,
    },
  )
})

t.test('what says nothing of the write is thrown', async (t) => {
  const seen = { uid: 'u', resourceVersion: '1', labelCount: 1, hasAnnotations: true, taints: [] }
  for (const status of [401, 408, 429, 500, 503, 400, 403, 422]) {
    await using stub = await startApiStub((_, response) => answer(response, status, {}))
    const answered = writerOf(stub.client)
    const write = answered.patchNode('x', seen, { taints: [] })
    if ([400, 403, 422].includes(status)) t.match(await write, { outcome: 'rejected' }, `${status}`)
    else await t.rejects(write, ApiError, `${status}`)
  }
})

t.test('what is not answered in time may have been stored', async (t) => {
  const seen = { uid: 'u', resourceVersion: '1', labelCount: 1, hasAnnotations: true, taints: [] }
  await using late = await startApiStub(() => undefined)
  const write = writerOf(late.client, 50).patchNode('x', seen, {})
  t.same(await write, { outcome: 'unanswered', message: 'no answer within 0.05 s' })
  await using over = await startApiStub((_, response) => answer(response, 504, {}))
  t.match(await writerOf(over.client).deleteNode('x', seen), {
    outcome: 'unanswered',
    message: /DELETE .*504/,
  })
  const cutOff = AbortSignal.abort(new Error('the end'))
  await t.rejects(writerOf(late.client, DEFAULT_TIMEOUT, cutOff).patchNode('x', seen, {}), {
    message: /the end/,
  })
})

function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the object could not be parsed')
  return value
}
