import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { until } from '../../test/fixtures/until.ts'
import { startCluster } from '../../test/servers/start-cluster.ts'
import type { Node } from '../types/node.ts'
import type { KubeRequest } from './client.ts'
import { createInformer } from './informer.ts'
import { parseNode } from './parse-node.ts'
import { adminClient, eightAtOnce, observed } from './testing/cluster-client.ts'
import { createLogLines } from './testing/log-lines.ts'

const COUNT = 300
// Without it the server waits for its watches to end by themselves.
const cluster = await startCluster({ apiServerArgs: ['--shutdown-watch-termination-grace-period=1s'] })
t.teardown(() => cluster.stop())

const name = (index: number) => `node-${index}`
const create = (index: number) =>
  cluster.request('POST', '/api/v1/nodes', {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: name(index), labels: { round: '0' } },
  })
const label = (index: number, round: string) =>
  cluster.request(
    'PATCH',
    `/api/v1/nodes/${name(index)}`,
    { metadata: { labels: { round } } },
    { contentType: 'application/merge-patch+json' },
  )
const remove = (index: number) => cluster.request('DELETE', `/api/v1/nodes/${name(index)}`)

t.test('Nodes of two pages through lists, watches and an API server that goes away', async (t) => {
  await eightAtOnce(COUNT, create)
  const client = adminClient(cluster)
  t.teardown(() => client.close())

  const requests: KubeRequest[] = []
  const changes: { name: string; current: Node | undefined; previous: Node | undefined }[] = []
  const log = createLogLines()
  const nodes = createInformer<Node>({
    client: observed(client, (request) => requests.push(request)),
    path: '/api/v1/nodes',
    parse: parseNode,
    onChange: (name, current, previous) => changes.push({ name, current, previous }),
    clock: systemClock,
    random: Math.random,
    logger: log.logger,
  })
  const stop = new AbortController()
  const ended = nodes.run(stop.signal)
  const round = (index: number) => nodes.get(name(index))?.labels.round

  await until('the list is in', () => nodes.synced)
  t.equal(nodes.size, COUNT)
  t.equal(changes.length, COUNT)
  t.same(
    requests.map(({ query }) => query?.limit ?? query?.watch),
    ['250', '250', 'true'],
    'two pages and a watch',
  )

  changes.length = 0
  await eightAtOnce(50, (index) => label(index, '1'))
  await eightAtOnce(10, (index) => remove(COUNT - 1 - index))
  await until('all is seen', () => changes.length >= 60)
  t.ok(Array.from({ length: 50 }).every((_, index) => round(index) === '1'))
  t.equal(nodes.size, COUNT - 10)
  t.ok(
    changes.every(
      ({ current, previous }) => previous && previous.resourceVersion !== current?.resourceVersion,
    ),
    'every change is one',
  )

  // Nothing changes while the server is away: nothing is told afterwards.
  changes.length = 0
  await cluster.stopApiServer()
  await until('it is noticed', () => log.messages().includes('watch failed'))
  await sleep(2_000)
  await cluster.startApiServer()
  await until('it watches again', () => log.messages().includes('watch works again'))
  await label(0, '2')
  await until('the first change is seen', () => round(0) === '2')
  t.same(
    changes.map(({ name }) => name),
    [name(0)],
    'that change and no other',
  )

  // Two writers that need no watch: one just before the server stops, one as soon as it answers again.
  changes.length = 0
  log.lines.length = 0
  await label(1, '3')
  await remove(2)
  await cluster.stopApiServer()
  await cluster.startApiServer()
  await label(3, '3')
  await create(COUNT - 1)
  await until('all is seen', () => nodes.get(name(COUNT - 1)) !== undefined && round(3) === '3')
  t.equal(round(1), '3')
  t.equal(nodes.get(name(2)), undefined)
  t.same(
    changes.map(({ name }) => name).sort(),
    [name(1), name(2), name(3), name(COUNT - 1)].sort(),
    'each once',
  )

  stop.abort()
  await ended
  t.equal(log.lines.filter(({ level }) => level === 50).length, 0)
})

t.test('a Node as long as etcd accepts, in the longest spelling that JSON has for it', async (t) => {
  const client = adminClient(cluster)
  t.teardown(() => client.close())
  const log = createLogLines()
  const nodes = createInformer<Node>({
    client,
    path: '/api/v1/nodes',
    parse: parseNode,
    onChange: () => undefined,
    clock: systemClock,
    random: Math.random,
    logger: log.logger,
  })
  const stop = new AbortController()
  const ended = nodes.run(stop.signal)
  await until('the list is in', () => nodes.synced)
  // Each of them is six bytes long in the API server's JSON.
  const message = '<'.repeat(1.4 * 1024 * 1024)
  const { status, body } = await cluster.request<{ metadata: { resourceVersion: string } }>(
    'PATCH',
    `/api/v1/nodes/${name(3)}/status`,
    { status: { conditions: [{ type: 'Long', status: 'True', message }] } },
    { contentType: 'application/strategic-merge-patch+json' },
  )
  t.equal(status, 200)
  await until('it is seen', () => nodes.get(name(3))?.resourceVersion === body.metadata.resourceVersion)
  t.same(log.messages(), [], 'the watch goes on')
  stop.abort()
  await ended
})

t.test('a place that the API server has forgotten', async (t) => {
  const client = adminClient(cluster)
  t.teardown(() => client.close())
  const requests: KubeRequest[] = []
  const log = createLogLines()
  const changes: string[] = []
  let old = true
  // Watching from the very first version is what a client does that slept through a compaction.
  const nodes = createInformer<Node>({
    client: observed(client, (request) => {
      requests.push(request)
      if (request.query?.watch && old) {
        old = false
        Object.assign(request.query, { resourceVersion: '1' })
      }
    }),
    path: '/api/v1/nodes',
    parse: parseNode,
    onChange: (name) => changes.push(name),
    clock: systemClock,
    random: Math.random,
    logger: log.logger,
  })
  const stop = new AbortController()
  const ended = nodes.run(stop.signal)
  await until('it watches again', () => requests.filter(({ query }) => query?.watch).length === 2)
  const before = changes.length
  await label(5, '9')
  await until('a change is seen', () => nodes.get(name(5))?.labels.round === '9')
  t.equal(changes.length, before + 1)
  t.match(log.lines[0], { msg: 'watch failed', cause: /410/ })
  stop.abort()
  await ended
})
