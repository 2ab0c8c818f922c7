import t from 'tap'
import { until } from '../fixtures/until.ts'
import { address, condition, isInitialized } from '../world/objects.ts'
import { openOwnStage } from '../world/stage.ts'

const stage = await openOwnStage(t, { vms: 6 })
const { cluster, nodes, reports } = stage
const proxy = await stage.line()
const controller = await stage.controller({ cluster: proxy.cluster })

t.test('the API server no longer knows where the watches were', async (t) => {
  const [stays, moves, goes] = await Promise.all(['stays', 'moves', 'goes'].map((name) => stage.member(name)))
  if (stays === undefined || moves === undefined || goes === undefined) throw new Error('no members')
  for (const member of [stays, moves, goes]) await member.reportOnce()
  const settled = (name: string) =>
    isInitialized(nodes.last(name)) && condition(reports.last(name), 'Initialized')?.status === 'True'
  await nodes.until('all are initialized', () =>
    ['stays', 'moves', 'goes'].every((n) => isInitialized(nodes.last(n))),
  )
  await reports.until('all are reported', () => ['stays', 'moves', 'goes'].every(settled))
  const before = { stays: nodes.of('stays').length, report: reports.of('stays').length }

  // A restarted server remembers no earlier changes.
  proxy.set('cut')
  await cluster.stopApiServer(500)
  await cluster.startApiServer()
  await moves.setAddresses('10.8.0.1/24')
  await moves.reportOnce()
  const deleted = await cluster.request('DELETE', '/api/v1/nodes/goes')
  t.equal(deleted.status, 200)
  const again = await stage.register(goes)
  await stage.reported('late')
  const start = performance.now()
  proxy.set('works')

  await nodes.until('a new Node is seen', () => isInitialized(nodes.last('late')))
  await nodes.until('a change is seen', () => address(nodes.last('moves'), 'InternalIP') === '10.8.0.1')
  t.comment(`${Math.round(performance.now() - start)} ms`)
  // On a busy machine the API server starts so late that the Lease is lost; then everything is listed again as well.
  const lost = controller.output().includes('leadership lost')
  t.match(
    controller.output(),
    lost ? /leadership begins[\s\S]*leadership begins/ : /410/,
    'the places were forgotten',
  )
  // Its old report names another UID, and its agent has not reported again yet.
  t.notOk(isInitialized(nodes.last('goes')), 'the Node that took a deleted one’s name is not taken for it')
  t.equal(nodes.last('goes')?.metadata.uid, again.uid)
  await until(
    'all is ready',
    async () => (await (await fetch(`${controller.url}/readyz`)).text()) === 'leading\n',
  )
  t.equal(nodes.of('stays').length, before.stays, 'what did not change is not written again')
  t.equal(reports.of('stays').length, before.report)
  t.equal(nodes.of('late').length, 3)
  t.equal(controller.exit(), undefined)
})
