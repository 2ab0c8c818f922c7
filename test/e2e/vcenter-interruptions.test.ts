import t from 'tap'
import { until } from '../fixtures/until.ts'
import { pushes } from '../world/deletion.ts'
import { condition, isInitialized } from '../world/objects.ts'
import { openStage, ZONE_CATEGORY } from '../world/stage.ts'

// A vCenter, or a part of it, that fails, or takes calls and never answers.
const stage = await openStage(t, { vms: 28 })
const { nodes, reports, vcsim } = stage
t.afterEach(() => vcsim.clearFaults())

t.test(
  'all of it, when many Nodes come: they and whoever asks are told, running Nodes are left alone',
  async (t) => {
    const controller = await stage.controller({}, t)
    const running = await stage.initialized('running')
    await pushes(stage)
    const before = nodes.of(running.name).length

    await vcsim.fault({ operation: '*', kind: 'hang' })
    const crowd = await Promise.all(Array.from({ length: 12 }, (_, i) => stage.member(`crowd-${i}`)))
    await Promise.all(crowd.map((member) => member.reportOnce()))
    await until(
      'it is not ready',
      async () => (await controller.readyz()).trim() === 'vCenter main: TimedOut',
    )
    await reports.until('each is told', () =>
      crowd.every(({ name }) => condition(reports.last(name), 'VMFound')?.reason === 'TimedOut'),
    )
    for (const { name } of crowd)
      t.match(
        condition(reports.last(name), 'VMFound'),
        { status: 'Unknown', message: /\d+ s/ },
        'no call is without a deadline',
      )
    t.equal(nodes.of(running.name).length, before)

    await vcsim.clearFaults()
    await nodes.until('all are initialized', () => crowd.every(({ name }) => isInitialized(nodes.last(name))))
    await until('it is ready', async () => (await controller.readyz()).startsWith('leading'))
    t.equal(nodes.of(running.name).length, before, 'nobody wrote to the Node that runs')
    t.equal((await vcsim.sessions()).soap, 1)
  },
)

t.test('its tag service: the rest goes on, the labels follow', async (t) => {
  await vcsim.fault({ operation: 'REST POST /rest/com/vmware/cis/session', kind: 'hang' })
  // Ready, although no tag can be read.
  const controller = await stage.controller({}, t)
  const [first, second] = [await stage.member('first'), await stage.member('second')]
  const zone = (name: string) => nodes.last(name)?.metadata.labels['topology.kubernetes.io/zone']
  await first.reportOnce()
  await nodes.until('the first is initialized', () => isInitialized(nodes.last(first.name)))
  await second.reportOnce()
  await nodes.until('the second need not wait', () => isInitialized(nodes.last(second.name)))
  for (const { name } of [first, second]) {
    t.equal(zone(name), undefined)
    await stage.says(name, 'TopologyResolved', { reason: 'TagsUnreadable' })
  }
  t.ok(await controller.isReady())
  await vcsim.clearFaults()
  await nodes.until(
    'the labels have come',
    () => zone(first.name) !== undefined && zone(second.name) !== undefined,
  )
})

t.test('its tag service, where tags are required: a new Node waits, and goes on by itself', async (t) => {
  const running = await stage.member('running-required')
  const untagged = { category: ZONE_CATEGORY, tag: 'zone-a', object: 'DC0_C0' }
  const vm = stage.vms.find(({ cluster }) => cluster === 'DC0_C0')
  if (vm === undefined) throw new Error('there are too few VMs')
  stage.vms.splice(stage.vms.indexOf(vm), 1)
  const earlier = await stage.controller()
  await running.reportOnce()
  await nodes.until('a Node runs', () => isInitialized(nodes.last(running.name)))
  await earlier.stop()

  await vcsim.tag({ ...untagged, detach: true })
  await vcsim.fault({ operation: 'REST POST /rest/com/vmware/cis/session', kind: 'hang' })
  await stage.controller({ topology: { required: 'true' } }, t)
  const member = await stage.reported('required', { vm })
  const waits = (reason: string) => {
    const resolved = condition(reports.last(member.name), 'TopologyResolved')
    return resolved?.reason === reason && resolved.message.includes('topology.required is true')
  }
  await reports.until('it says that tags cannot be read', () => waits('TagsUnreadable'))
  t.notOk(isInitialized(nodes.last(member.name)))
  await vcsim.clearFaults()
  await reports.until('it says that the tag is missing', () => waits('TagMissing'))
  t.notOk(isInitialized(nodes.last(member.name)))
  t.match(condition(reports.last(member.name), 'Initialized'), { status: 'False', reason: 'TagMissing' })

  await vcsim.move({ vm: vm.ref, host: 'DC0_C1_H0' })
  await nodes.until('it is initialized with the tag', () => isInitialized(nodes.last(member.name)))
  t.equal(nodes.last(member.name)?.metadata.labels['topology.kubernetes.io/zone'], 'zone-b')
  t.ok(isInitialized(nodes.last(running.name)), 'the one that runs has never got its taint back')
})
