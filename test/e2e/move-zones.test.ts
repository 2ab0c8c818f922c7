import t from 'tap'
import { verified, watched } from '../world/deletion.ts'
import type { Member } from '../world/member.ts'
import { metric } from '../world/meters.ts'
import { condition, eventsOf, level } from '../world/objects.ts'
import { openStage, ZONE_CATEGORY } from '../world/stage.ts'

const ZONE = ['topology.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/zone'] as const
const TYPE = ['node.kubernetes.io/instance-type', 'beta.kubernetes.io/instance-type'] as const

const stage = await openStage(t, { hosts: 2, vms: 12, cpus: 2, memoryMB: 4096 })
const { nodes, reports, events, vcsim } = stage
stage.keepVMs(({ cluster }) => cluster === 'DC0_C0')

const labels = ({ name }: Member, names: readonly string[]) =>
  names.map((label) => nodes.last(name)?.metadata.labels[label])
const topology = ({ name }: Member) => condition(reports.last(name), 'TopologyResolved')
const news = ({ name }: Member) =>
  eventsOf(events, name)
    .filter(({ reason }) => reason !== 'Initialized' && reason !== 'Synced')
    .map(({ type, reason, count }) => ({ type, reason, count }))

t.test('report, the default: it is said, and the labels stay', async (t) => {
  await stage.controller({}, t)
  const [mover, grower] = await members('report-moves', 'report-grows')
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
  await stage.controller({ topology: { onChange: 'relabel' } }, t)
  const [mover, grower] = await members('relabel-moves', 'relabel-grows')
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
  await stage.controller({ topology: { onChange: 'ignore' } }, t)
  const [mover] = await members('ignore-moves')
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
  await last.stop()
  // Tags are read at the start and every five minutes.
  await vcsim.tag(
    { category: ZONE_CATEGORY, tag: 'zone-a', object: 'DC0_C0', detach: true },
    { category: ZONE_CATEGORY, tag: 'zone-new', object: 'DC0_C0' },
  )
  await t.test('report', async (t) => {
    const controller = await stage.controller({}, t)
    await reports.until('it says so', () => topology(tagged)?.reason === 'TopologyChanged')
    t.match(topology(tagged)?.message, 'zone is zone-a, and vCenter says zone-new')
    t.same(labels(tagged, ZONE), ['zone-a', 'zone-a'])
    const changed = 'condition="TopologyResolved",status="False",reason="TopologyChanged"'
    t.ok(((await metric(controller, `rollcall_node_conditions{${changed}}`)) ?? 0) > 0)
  })
  await t.test('relabel', async (t) => {
    await stage.controller({ topology: { onChange: 'relabel' } }, t)
    await nodes.until('the labels follow', () => labels(tagged, ZONE)[0] === 'zone-new')
    t.same(labels(tagged, ZONE), ['zone-new', 'zone-new'])
    await reports.until('it says so', () => topology(tagged)?.reason === 'Resolved')
  })
})

/** CPUs and memory are never pushed, so that the VM moves within its cluster: upon that all of it is read again. */
async function resize(member: Member, cpus: number, memoryMB: number, host: string): Promise<void> {
  await vcsim.setState({ vm: member.vm.ref, cpus, memoryMB })
  await vMotion(member, host)
}

/** Members in the first cluster, which vCenter watches. */
async function members<const Names extends readonly string[]>(...names: Names) {
  const made = await verified(stage, ...names)
  await watched(stage)
  return made
}

function nextHost({ vm }: Member): string {
  return vm.host === 'DC0_C0_H0' ? 'DC0_C0_H1' : 'DC0_C0_H0'
}

async function vMotion({ vm }: Member, host: string): Promise<void> {
  await vcsim.move({ vm: vm.ref, host })
}
