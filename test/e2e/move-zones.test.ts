import t from 'tap'
import { until } from '../fixtures/until.ts'
import { metric, settled } from '../world/deletion.ts'
import type { Member } from '../world/member.ts'
import { condition, eventsOf, level } from '../world/objects.ts'
import { openStage, ZONE_CATEGORY } from '../world/stage.ts'

const ZONE = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'] as const
const TYPE = ['node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type'] as const

const stage = await openStage(t, { hosts: 2, vms: 12, cpus: 2, memoryMB: 4096 })
const { nodes, reports, events, vcsim } = stage
const inFirst = (await vcsim.vms()).filter(({ cluster }) => cluster === 'DC0_C0')
stage.vms.splice(0, stage.vms.length, ...inFirst)

const labels = ({ name }: Member, names: readonly string[]) =>
  names.map((label) => nodes.last(name)?.metadata.labels[label])
const topology = ({ name }: Member) => condition(reports.last(name), 'TopologyResolved')
const news = ({ name }: Member) =>
  eventsOf(events, name)
    .filter(({ reason }) => reason !== 'Initialized' && reason !== 'Synced')
    .map(({ type, reason, count }) => ({ type, reason, count }))

/** Members in the first cluster, which vCenter watches. */
async function members(...names: readonly string[]): Promise<Member[]> {
  const made: Member[] = []
  for (const name of names) made.push(await stage.member(name))
  const before = await watches()
  await Promise.all(made.map((member) => member.reportOnce()))
  await settled(stage, ...names)
  await until('vCenter watches them', async () => (await watches()) > before)
  return made
}

async function watches(): Promise<number> {
  return (await vcsim.calls()).operations.ModifyListView ?? 0
}

/** CPUs and memory are never pushed, so that the VM moves within its cluster: upon that all of it is read again. */
async function resize(member: Member, cpus: number, memoryMB: number, host: string): Promise<void> {
  await vcsim.setState({ vm: member.vm.ref, cpus, memoryMB })
  await vMotion(member, host)
}

const nextHost = ({ vm }: Member) => (vm.host === 'DC0_C0_H0' ? 'DC0_C0_H1' : 'DC0_C0_H0')
const vMotion = ({ vm }: Member, host: string) => vcsim.move({ vm: vm.ref, host })

t.test('report, the default: it is said, and the labels stay', async (t) => {
  const controller = await stage.controller()
  t.teardown(() => controller.stop())
  const [mover, grower] = await members('report-moves', 'report-grows')
  if (!mover || !grower) throw new Error('there are too few members')
  const before = nodes.of(mover.name).length

  const start = performance.now()
  await vMotion(mover, 'DC0_C1_H0')
  await reports.until('it says so', () => topology(mover)?.reason === 'TopologyChanged')
  t.comment(`said after ${Math.round(performance.now() - start)} ms`)
  t.match(topology(mover), { status: 'False', message: /zone is zone-a, and vCenter says zone-b: / })
  t.match(reports.last(mover.name)?.status, {
    vm: { host: 'DC0_C1_H0', cluster: 'DC0_C1' },
    identityLevel: 'proven',
  })
  t.same(labels(mover, ZONE), ['zone-a', 'zone-a'])
  t.equal(nodes.of(mover.name).length, before, 'the Node is not touched')
  await events.until('an Event says so', () => news(mover).length > 0)
  t.same(news(mover), [{ type: 'Warning', reason: 'TopologyChanged', count: 1 }])

  await vMotion(mover, mover.vm.host)
  await reports.until('it is back', () => topology(mover)?.reason === 'Resolved')
  t.equal(nodes.of(mover.name).length, before)

  const [type] = labels(grower, TYPE)
  await resize(grower, 8, 16_384, nextHost(grower))
  await reports.until('it says so', () => topology(grower)?.reason === 'TopologyChanged')
  t.match(topology(grower)?.message, `instance-type is ${type}, and vCenter says vsphere-vm.cpu-8.mem-16gb.`)
  t.same(labels(grower, TYPE), [type, type])
  await resize(grower, 2, 4_096, grower.vm.host)
  await reports.until('it is back', () => topology(grower)?.reason === 'Resolved')
})

t.test('relabel: both names of each label follow, in one write', async (t) => {
  const controller = await stage.controller({ topology: { onChange: 'relabel' } })
  t.teardown(() => controller.stop())
  const [mover, grower] = await members('relabel-moves', 'relabel-grows')
  if (!mover || !grower) throw new Error('there are too few members')
  const before = nodes.of(mover.name).length

  const start = performance.now()
  await vMotion(mover, 'DC0_C1_H0')
  await nodes.until('the labels follow', () => labels(mover, ZONE)[0] === 'zone-b')
  t.comment(`relabeled after ${Math.round(performance.now() - start)} ms`)
  t.same(labels(mover, ZONE), ['zone-b', 'zone-b'])
  t.equal(nodes.of(mover.name).length, before + 1, 'one write')
  await events.until('an Event says so', () => news(mover).length > 0)
  t.same(news(mover), [{ type: 'Normal', reason: 'Relabeled', count: 1 }])
  t.equal(topology(mover)?.reason, 'Resolved')
  t.equal(level(nodes.last(mover.name)), 'proven')

  await resize(grower, 8, 16_384, nextHost(grower))
  await nodes.until('the type follows', () => labels(grower, TYPE)[0]?.includes('cpu-8') === true)
  const [type, beta] = labels(grower, TYPE)
  t.match(type, /^vsphere-vm\.cpu-8\.mem-16gb\./)
  t.equal(beta, type)
  t.same(labels(grower, ZONE), ['zone-a', 'zone-a'])
})

t.test('ignore: nothing is said and nothing is done', async (t) => {
  const controller = await stage.controller({ topology: { onChange: 'ignore' } })
  t.teardown(() => controller.stop())
  const [mover] = await members('ignore-moves')
  if (!mover) throw new Error('there is no member')
  const before = nodes.of(mover.name).length
  await vMotion(mover, 'DC0_C1_H0')
  await reports.until('it is known', () => reports.last(mover.name)?.status?.vm?.cluster === 'DC0_C1')
  t.match(topology(mover), { status: 'True', reason: 'Resolved' })
  t.same(labels(mover, ZONE), ['zone-a', 'zone-a'])
  t.equal(nodes.of(mover.name).length, before)
  t.same(news(mover), [])
})

t.test('a cluster is tagged anew', async (t) => {
  const last = await stage.controller()
  const [tagged] = await members('tagged')
  if (!tagged) throw new Error('there is no member')
  await last.stop()
  // Tags are read at the start and every five minutes.
  await vcsim.tag(
    { category: ZONE_CATEGORY, tag: 'zone-a', object: 'DC0_C0', detach: true },
    { category: ZONE_CATEGORY, tag: 'zone-new', object: 'DC0_C0' },
  )
  await t.test('report', async (t) => {
    const controller = await stage.controller()
    t.teardown(() => controller.stop())
    await reports.until('it says so', () => topology(tagged)?.reason === 'TopologyChanged')
    t.match(topology(tagged)?.message, 'zone is zone-a, and vCenter says zone-new')
    t.same(labels(tagged, ZONE), ['zone-a', 'zone-a'])
    const changed = 'condition="TopologyResolved",status="False",reason="TopologyChanged"'
    t.ok(((await metric(controller, `rollcall_node_conditions{${changed}}`)) ?? 0) > 0)
  })
  await t.test('relabel', async (t) => {
    const controller = await stage.controller({ topology: { onChange: 'relabel' } })
    t.teardown(() => controller.stop())
    await nodes.until('the labels follow', () => labels(tagged, ZONE)[0] === 'zone-new')
    t.same(labels(tagged, ZONE), ['zone-new', 'zone-new'])
    await reports.until('it says so', () => topology(tagged)?.reason === 'Resolved')
  })
})
