import t from 'tap'
import { until } from '../fixtures/until.ts'
import { condition, isInitialized } from './objects.ts'
import { openStage } from './stage.ts'

// A vCenter, or a part of it, that takes calls and never answers.
const stage = await openStage(t, { vms: 16 })
const { nodes, reports, vcsim } = stage
t.afterEach(() => vcsim.clearFaults())

t.test(
  'all of it, when many Nodes come: they and whoever asks are told, running Nodes are left alone',
  async (t) => {
    const controller = await stage.controller()
    t.teardown(() => controller.stop())
    const running = await stage.member('running')
    await running.reportOnce()
    await nodes.until('it is initialised', () => isInitialized(nodes.last(running.name)))
    await until('it is watched', async () => (await vcsim.calls()).operations.ModifyListView === 1)
    const before = nodes.of(running.name).length

    await vcsim.fault({ operation: '*', kind: 'hang' })
    const crowd = await Promise.all(Array.from({ length: 12 }, (_, i) => stage.member(`crowd-${i}`)))
    await Promise.all(crowd.map((member) => member.reportOnce()))
    const readyz = async () => (await (await fetch(`${controller.url}/readyz`)).text()).trim()
    await until('it is not ready', async () => (await readyz()) === 'vCenter main: TimedOut')
    await reports.until('each is told', () =>
      crowd.every(({ name }) => condition(reports.last(name), 'VMFound')?.reason === 'TimedOut'),
    )
    t.equal(nodes.of(running.name).length, before)

    await vcsim.clearFaults()
    await nodes.until('all are initialised', () => crowd.every(({ name }) => isInitialized(nodes.last(name))))
    await until('it is ready', async () => (await readyz()).startsWith('leading'))
    t.equal(nodes.of(running.name).length, before, 'nobody wrote to the Node that runs')
    t.equal((await vcsim.sessions()).soap, 1)
  },
)

t.test('its tag service: the rest goes on, the labels follow', async (t) => {
  await vcsim.fault({ operation: 'REST POST /rest/com/vmware/cis/session', kind: 'hang' })
  // Ready, although no tag can be read.
  const controller = await stage.controller()
  t.teardown(() => controller.stop())
  const [first, second] = [await stage.member('first'), await stage.member('second')]
  const zone = (name: string) => nodes.last(name)?.metadata.labels['topology.kubernetes.io/zone']
  await first.reportOnce()
  await nodes.until('the first is initialised', () => isInitialized(nodes.last(first.name)))
  await second.reportOnce()
  await nodes.until('the second need not wait', () => isInitialized(nodes.last(second.name)))
  for (const { name } of [first, second]) {
    t.equal(zone(name), undefined)
    await reports.until(
      `${name} says why`,
      () => condition(reports.last(name), 'TopologyResolved')?.reason === 'TagsUnreadable',
    )
  }
  t.equal((await fetch(`${controller.url}/readyz`)).status, 200)
  await vcsim.clearFaults()
  await nodes.until(
    'the labels have come',
    () => zone(first.name) !== undefined && zone(second.name) !== undefined,
  )
})
