import t from 'tap'
import { ApiError } from '../../../agent/shared/api-error.ts'
import { spec } from '../../../test/fixtures/facts.ts'
import type { KubeRequest } from '../../kubernetes/client.ts'
import { watchEvents } from '../../kubernetes/informer.ts'
import { createNodeWriter } from '../../kubernetes/node-writer.ts'
import { createObjectParsers } from '../../kubernetes/object-parsers.ts'
import { parseNode } from '../../kubernetes/parse-node.ts'
import { copyCluster } from './copied-cluster.ts'

const NODES = '/api/v1/nodes'
const REPORTS = '/apis/rollcall.dev/v1alpha1/nodereports'
const before = {
  metadata: {
    name: 'worker-1',
    uid: 'u1',
    resourceVersion: '7',
    creationTimestamp: '2026-03-01T09:59:50Z',
    labels: { a: '1', b: '2' },
    annotations: { 'rollcall.dev/deletion': 'proceed', other: 'x' },
  },
  spec: { podCIDR: '10.0.0.0/24', taints: [{ key: 'x', effect: 'NoSchedule' }] },
}

/** What is patched of it. */
const seen = { ...before.metadata, labelCount: 2, hasAnnotations: true, taints: before.spec.taints }

/** A copy of a cluster with one Node and without Rollcall's CRD. */
function setUp() {
  const sent: KubeRequest[] = []
  const client = copyCluster({
    async request(request) {
      sent.push(request)
      if (request.path === NODES) return { metadata: { resourceVersion: '9' }, items: [before] }
      throw new ApiError('there is no such kind', { status: 404, reason: 'NotFound' })
    },
    stream: () => Promise.reject(new Error('nothing is watched')),
    close: async () => undefined,
  })
  const { signal } = new AbortController()
  const list = async (path: string): Promise<{ metadata: { resourceVersion: string }; items: unknown[] }> =>
    JSON.parse(JSON.stringify(await client.request({ method: 'GET', path, query: { limit: '1' }, signal })))
  return {
    client,
    sent,
    signal,
    list,
    writer: createNodeWriter(client, createObjectParsers(), 1_000, signal),
  }
}

t.test('it takes writes as the API server does, shows them, and sends none', async (t) => {
  const { client, sent, signal, list, writer } = setUp()
  const { metadata } = await list(NODES)
  const written = await writer.patchNode('worker-1', seen, {
    labels: { a: null, c: '3' },
    annotations: { 'rollcall.dev/deletion': null },
    taints: [],
  })
  t.match(written, { outcome: 'written', object: { labels: { b: '2', c: '3' }, taints: [] } })
  const { items } = await list(NODES)
  t.match(items, [{ metadata: { annotations: { other: 'x' } }, spec: { podCIDR: '10.0.0.0/24' } }])
  t.equal(parseNode(items[0])?.deletionAnnotation, undefined)
  t.not(parseNode(items[0])?.resourceVersion, '7')
  t.same(await writer.patchNode('worker-1', seen, {}), { outcome: 'conflict' }, 'the former version')
  t.same(await writer.patchNode('nobody', seen, {}), { outcome: 'gone' })
  t.match(await writer.deleteNode('worker-1', seen), { outcome: 'rejected' })

  const ending = new AbortController()
  const watch = { method: 'GET', path: NODES, query: metadata, signal: ending.signal } as const
  const events = watchEvents('watch', await client.stream(watch, 1_000))
  t.match((await events.next()).value, { type: 'MODIFIED', name: 'worker-1' })
  const next = events.next()
  ending.abort()
  await t.rejects(next, { name: 'AbortError' }, 'it goes on until it is ended')
  t.same(
    sent.map(({ method, path }) => `${method} ${path}`),
    [`GET ${NODES}`],
    'and the list was read once',
  )
  await t.rejects(client.request({ method: 'GET', path: '/version', signal }), /no such kind/)
})

t.test('a kind that is not there has no objects, and takes some', async (t) => {
  const { list, writer } = setUp()
  t.same((await list(REPORTS)).items, [])
  const created = await writer.createReport({ name: 'worker-1', uid: 'u1' }, spec())
  if (created.outcome !== 'written') throw new Error(created.outcome)
  t.match(created.object, { name: 'worker-1', spec: { ok: true } })
  t.same(await writer.createReport({ name: 'worker-1', uid: 'u1' }, spec()), { outcome: 'conflict' })
  const status = { instanceType: 'x' }
  const written = await writer.patchReportStatus('worker-1', created.object, status)
  t.match(written, { outcome: 'written', object: { spec: created.object.spec, status } })
})
