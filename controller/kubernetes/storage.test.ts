import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { until } from '../../test/fixtures/until.ts'
import { createCSINodes, parseCSINode, readCSINodes, topologyKeysOf } from './storage.ts'
import { answer, startApiStub } from './testing/api-stub.ts'
import { createLogLines } from './testing/log-lines.ts'

const ZONE = 'topology.kubernetes.io/zone'
const BETA = 'failure-domain.beta.kubernetes.io/zone'
const path = '/apis/storage.k8s.io/v1/csinodes'

/** @param keys undefined where the driver is not registered */
const csiNode = (name: string, resourceVersion: string, keys: readonly string[] | undefined, uid = 'u') => ({
  metadata: { name, resourceVersion, ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid }] },
  spec: {
    drivers: [
      { name: 'other.example.com', nodeID: name, topologyKeys: [ZONE] },
      ...(keys === undefined ? [] : [{ name: 'csi.vsphere.vmware.com', nodeID: name, topologyKeys: keys }]),
    ],
  },
})

t.test('the labels of zone and region by which the driver is registered', async (t) => {
  const all = ['topology.csi.vmware.com/k8s-zone', BETA, ZONE, 'kubernetes.io/hostname']
  t.strictSame(parseCSINode(csiNode('a', '1', all)), {
    name: 'a',
    resourceVersion: '1',
    nodeUID: 'u',
    topologyKeys: [ZONE, BETA],
  })
  t.strictSame(parseCSINode(csiNode('a', '1', undefined))?.topologyKeys, undefined)
  t.strictSame(parseCSINode(csiNode('a', '1', ['x']))?.topologyKeys, [], 'it goes by labels of its own')
  const bare = { metadata: { name: 'a', resourceVersion: '1' }, spec: { drivers: null } }
  t.strictSame(parseCSINode(bare), {
    name: 'a',
    resourceVersion: '1',
    nodeUID: undefined,
    topologyKeys: undefined,
  })
  t.equal(parseCSINode({ metadata: {} }), undefined)
  t.same(topologyKeysOf(parseCSINode(csiNode('a', '1', all)), { uid: 'u' }), [ZONE, BETA])
  t.equal(topologyKeysOf(parseCSINode(csiNode('a', '1', all)), { uid: 'new' }), undefined, 'a former Node’s')
})

t.test('they are followed, and remembered while the driver is away', async (t) => {
  let write: (type: string, object: object) => void = () => undefined
  await using stub = await startApiStub((_, response, url) => {
    if (!url.searchParams.has('watch'))
      return answer(response, 200, {
        metadata: { resourceVersion: '9' },
        items: [csiNode('a', '1', [BETA]), csiNode('b', '2', ['x']), csiNode('c', '3', undefined)],
      })
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
    write = (type, object) => void response.write(`${JSON.stringify({ type, object })}\n`)
  })
  const changed: string[] = []
  const { logger } = createLogLines()
  const csiNodes = createCSINodes({
    client: stub.client,
    clock: systemClock,
    random: () => 0,
    logger,
    onChange: (name) => changed.push(name),
  })
  const end = new AbortController()
  const running = csiNodes.run(end.signal)
  const keys = (name: string, uid = 'u') => csiNodes.topologyKeysOf({ name, uid })
  await csiNodes.known
  t.same(changed, ['a', 'b'], 'there is nothing to say of the third')
  t.same([keys('a'), keys('b'), keys('c'), keys('d')], [[BETA], [], undefined, undefined])
  t.same(csiNodes.remarks(), [])
  await until('it is watched', () => stub.requests.length === 2)

  write('MODIFIED', csiNode('a', '10', undefined))
  write('MODIFIED', csiNode('b', '11', [ZONE]))
  await until('the second has come', () => changed.length === 3)
  t.same(keys('a'), [BETA], 'its pod is restarted: the labels are still its own')
  write('MODIFIED', csiNode('a', '12', ['x']))
  await until('it is back, with other labels', () => keys('a')?.length === 0)
  write('DELETED', csiNode('b', '13', [ZONE]))
  write('ADDED', csiNode('b', '14', undefined, 'v'))
  write('MODIFIED', csiNode('a', '15', [BETA]))
  await until('all has come', () => keys('a')?.length === 1)
  t.equal(keys('b', 'v'), undefined, 'of a former Node nothing is remembered')
  t.same(changed, ['a', 'b', 'b', 'a', 'b', 'a'])
  end.abort()
  await running
})

t.test('without the right nobody waits, and it is said', async (t) => {
  let allowed = false
  await using stub = await startApiStub((_, response, url) => {
    const forbidden = { kind: 'Status', code: 403, reason: 'Forbidden', message: 'cannot list csinodes' }
    if (!allowed) return answer(response, 403, forbidden)
    if (!url.searchParams.has('watch'))
      return answer(response, 200, {
        metadata: { resourceVersion: '9' },
        items: [csiNode('a', '1', [BETA])],
      })
    response.writeHead(200, { 'content-type': 'application/json' })
    response.flushHeaders()
  })
  await t.rejects(readCSINodes(stub.client, new AbortController().signal), /403/)
  const changed: string[] = []
  const log = createLogLines()
  const csiNodes = createCSINodes({
    client: stub.client,
    clock: systemClock,
    random: () => 0,
    logger: log.logger,
    onChange: (name) => changed.push(name),
  })
  const end = new AbortController()
  const running = csiNodes.run(end.signal)
  await csiNodes.known
  t.equal(csiNodes.topologyKeysOf({ name: 'a', uid: 'u' }), undefined)
  t.match(csiNodes.remarks(), [/^CSINodes cannot be read, so zone and region stay/])
  t.match(log.lines, [{ path, msg: 'watch failed' }])
  allowed = true
  await until('it goes on by itself', () => changed.length === 1)
  t.same(csiNodes.topologyKeysOf({ name: 'a', uid: 'u' }), [BETA])
  t.same(csiNodes.remarks(), [])
  t.same([...(await readCSINodes(stub.client, new AbortController().signal)).keys()], ['a'])
  end.abort()
  await running
})
