// Many VMs vanish at once: an old backup was restored, or the inventory is still being loaded. Each scene has a cluster of
// its own.
import { execFile } from 'node:child_process'
import { dirname } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { serverBinary } from '../servers/build.ts'
import { vsphereConf } from '../world/controller.ts'
import type { CrowdMember } from '../world/crowd.ts'
import {
  BRAKE,
  brakeEvents,
  DELETED,
  deleted,
  deletionPending,
  eventsOfReason,
  heldByBrake,
  MISSING,
  probed,
  QUICK,
  wish,
} from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { openPlay } from '../world/play.ts'
import { mountSecret } from '../world/secret-mount.ts'
import { LABELS } from '../world/stage.ts'

t.jobs = 3
const lifecycle = { ...QUICK, absentFor: '2s' } as const
const namesOf = (members: readonly CrowdMember[]) => members.map(({ name }) => name)
const refsOf = (members: readonly CrowdMember[]) => members.map(({ vm }) => vm.ref)

t.test('half of the VMs vanish', { buffered: true }, async (t) => {
  const play = await openPlay(t, 10, lifecycle)
  const { members, nodes, events, reports, vcsim } = play
  const half = members.slice(0, 5)
  const names = namesOf(half)
  const engagedAt = () => names.map((name) => reports.last(name)?.status?.brakeEngagedAt)
  await loseHeartbeats(play.cluster, ...names)

  await t.test('the brake engages, and is loud', async (t) => {
    t.equal(await play.count(BRAKE), 0)
    const before = members.map(({ name }) => nodes.of(name).length)
    await vcsim.hide(...refsOf(half))
    await heldByBrake(play, ...names)
    t.equal(play.kept(), 10)
    t.ok(
      engagedAt().every((at) => at !== undefined),
      'on record',
    )
    t.equal(await play.count(BRAKE), 1)
    t.equal(await play.count(MISSING), 5)
    t.equal(await play.count(DELETED), 0)
    const ready = await fetch(`${play.leader.url}/readyz`)
    t.match([ready.status, await ready.text()], [200, 'leading'], 'readiness is another thing')
    await events.until('all are told', () =>
      names.every((name) => eventsOfReason(play, name, 'BrakeEngaged').length > 0),
    )
    for (const name of names) {
      const [event] = eventsOfReason(play, name, 'BrakeEngaged')
      t.match(event, {
        type: 'Warning',
        message: `kubectl annotate node ${name} rollcall.dev/deletion=proceed`,
      })
    }
    t.same(
      members.map(({ name }) => nodes.of(name).length),
      before,
      'no Node was written',
    )
  })

  await t.test('it survives the controller, and stays engaged for those still missing', async (t) => {
    const before = engagedAt()
    // It asks every second, and is not through with it: after that it would ask once a minute.
    await play.nextLeader({
      identity: 'second',
      lifecycle: { ...lifecycle, absentFor: '50s', confirmations: 50 },
    })
    await until('it is engaged again', async () => (await play.count(BRAKE)) === 1)
    const [last, ...others] = half
    if (last === undefined) throw new Error('there are five')
    await vcsim.show(...refsOf(others))
    for (const name of namesOf(others))
      await deletionPending(play, name, { status: 'False', reason: 'VMExists' })
    await reports.until('it is released for those', () =>
      engagedAt()
        .slice(1)
        .every((at) => at === undefined),
    )
    await probed(play, 2)
    await deletionPending(play, last.name, { status: 'True', reason: 'BrakeEngaged' })
    t.equal(engagedAt()[0], before[0], 'as it was')
    t.equal(await play.count(BRAKE), 1)
    t.equal(play.kept(), 10, 'one in ten alone would not have engaged it')

    await vcsim.show(last.vm.ref)
    await deletionPending(play, last.name, { status: 'False', reason: 'VMExists' })
    await until('it is released', async () => (await play.count(BRAKE)) === 0)
    await reports.until('nothing is on record', () => engagedAt().every((at) => at === undefined))
    t.equal(await play.count(DELETED), 0)
    t.equal(play.kept(), 10)
  })
})

t.test('a person who knows that VMs are gone lets their Nodes go', { buffered: true }, async (t) => {
  const play = await openPlay(t, 10, { ...lifecycle, deletionsPerMinute: 3 })
  const [one = '', ...others] = namesOf(play.members.slice(0, 5))
  const [other = ''] = others
  await play.vanish(...play.members.slice(0, 5))

  await t.test('one Node goes, the others stay', async (t) => {
    await heldByBrake(play, one, ...others)
    await wish(play, one, 'proceed')
    const start = performance.now()
    await deleted(play, one)
    t.comment(`annotated to deleted: ${(performance.now() - start).toFixed()} ms`)
    // They are looked at again, as if something had happened.
    await wish(play, other, 'hold')
    await deletionPending(play, other, { status: 'True', reason: 'DeletionHeld' })
    await wish(play, other, null)
    await heldByBrake(play, ...others)
    t.equal(play.kept(), 9)
    t.equal(await play.count(BRAKE), 1)
    t.equal(await play.count(DELETED), 1)
  })

  await t.test('all go by one command, and no more in a minute than are allowed', async (t) => {
    const { message } = await deletionPending(play, other, { reason: 'BrakeEngaged' })
    const [, command = ''] = /or all Nodes that it holds: (kubectl .*)$/.exec(message) ?? []
    const env = {
      PATH: `${dirname(await serverBinary('kubectl'))}:/usr/bin:/bin`,
      KUBECONFIG: play.cluster.adminKubeconfig,
      HOME: play.dir,
    }
    // No garbage collector runs here: it complains of the report of the Node that is gone already.
    const { stdout } = await promisify(execFile)('/bin/sh', ['-c', `${command} || true`], { env })
    for (const name of others) t.match(stdout, `node/${name} annotated`)
    await play.nodes.until('two more are deleted', () => play.kept() === 7)
    for (const name of others.filter((name) => play.nodes.last(name) !== undefined)) {
      const message = /is kept for now: lifecycle.deletionsPerMinute is 3, and that many/
      await deletionPending(play, name, { status: 'True', reason: 'RateLimited', message })
    }
    t.equal(play.kept(), 7)
    t.equal(await play.count(BRAKE), 0)
    t.equal(await play.count(DELETED), 3)
  })
})

t.test(
  'an autoscaler removes 60 % of the cluster, and says so by its taint',
  { buffered: true },
  async (t) => {
    const play = await openPlay(t, 10, lifecycle)
    const removed = play.members.slice(0, 6)
    const [survivor] = play.members.slice(-1)
    if (survivor === undefined) throw new Error('there are ten')
    const taints = [
      { key: 'ToBeDeletedByClusterAutoscaler', value: '1767225600', effect: 'NoSchedule' },
      { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' },
    ]
    for (const { name } of removed) await play.patch(name, { spec: { taints } })
    await play.vanish(...removed)
    await play.ends(...removed)
    t.equal(play.kept(), 4)
    t.equal(await play.count(BRAKE), 0)
    t.equal(await play.count(DELETED), 6)
    for (const { name } of removed) t.same(brakeEvents(play, name), [], name)

    await play.vcsim.hide(survivor.vm.ref)
    await deletionPending(play, survivor.name, { status: 'True', reason: 'NodeReady' })
  },
)

t.test('as many as may go at once, and one more soon after them', { buffered: true }, async (t) => {
  const play = await openPlay(t, 10, lifecycle)
  for (const group of [play.members.slice(0, 2), play.members.slice(2, 3)]) {
    await play.vanish(...group)
    await play.ends(...group)
  }
  t.same(play.latched(), [], 'past deletions slow down what follows, and engage no brake that would stay')
  t.equal(await play.count(BRAKE), 0)
  t.equal(await play.count(DELETED), 3)
})

t.test('in the course of time', { buffered: true }, async (t) => {
  const conf = (vcsim: Parameters<typeof vsphereConf>[0], more: object, topology = {}) =>
    vsphereConf(vcsim, { labels: LABELS, topology, lifecycle: { ...lifecycle, ...more } })
  let write: (text: string) => Promise<void> = () => Promise.reject(new Error('nothing is mounted yet'))
  const play = await openPlay(t, 12, lifecycle, {
    async controller({ vcsim, dir }) {
      const secret = await mountSecret(`${dir}/secret`, {
        'vsphere.conf': conf(vcsim, { deletionsPerMinute: 1 }),
      })
      write = (text) => secret.write({ 'vsphere.conf': text })
      return { configFile: secret.path('vsphere.conf') }
    },
  })
  const { members, nodes, reports, vcsim } = play
  const [back, off, one] = [members.slice(0, 4), members.slice(4, 8), members.slice(8, 9)]
  const engaged = (name: string) => reports.last(name)?.status?.brakeEngagedAt

  async function configure(more: object, topology = {}): Promise<void> {
    const heard = play.leader.stderr.length
    await write(conf(vcsim, more, topology))
    await until('the configuration is loaded', () =>
      play.leader.stderr.slice(heard).some((line) => line.includes('configuration loaded')),
    )
  }

  await t.test('it releases itself when few are missing for twice absentFor', async (t) => {
    await play.vanish(...back)
    await heldByBrake(play, ...namesOf(back))
    const [last, ...others] = back
    if (last === undefined) throw new Error('there are four')
    await vcsim.show(...refsOf(others))
    await nodes.until('it is deleted without a person', () => nodes.last(last.name) === undefined)
    await until('the brake is released', async () => (await play.count(BRAKE)) === 0)
    t.equal(await play.count(DELETED), 1)
    for (const { name } of others) t.ok(nodes.last(name), 'the others are back')
  })

  await t.test('what was deleted is remembered when the configuration changes', async (t) => {
    await configure({ deletionsPerMinute: 1 }, { onChange: 'ignore' })
    const [name = ''] = namesOf(one)
    await play.vanish(...one)
    const message = /deletionsPerMinute is 1, and that many Nodes were deleted/
    await deletionPending(play, name, { status: 'True', reason: 'RateLimited', message })
    t.ok(nodes.last(name))
    await nodes.until('it is deleted then', () => nodes.last(name) === undefined)
  })

  await t.test('it holds, and says so, while vCenter is away', async (t) => {
    await configure({ deletionsPerMinute: 10 })
    await play.vanish(...off)
    await heldByBrake(play, ...namesOf(off))
    t.equal(await play.count(BRAKE), 1)
    const fault = await vcsim.fault({ operation: '*', kind: 'reset' })
    const isUp = () => play.count('rollcall_vcenter_up{vcenter="main"}')
    await until('vCenter is away', async () => (await isUp()) === 0)
    t.equal(await play.count(BRAKE), 1)
    for (const name of namesOf(off)) t.ok(engaged(name))
    await vcsim.clearFaults(fault)
    await until('it is there again', async () => (await isUp()) === 1)
  })

  for (const deletion of ['dry-run', 'off'])
    await t.test(
      `one that deletes nothing (${deletion}) takes the latch away, and engages none`,
      async (t) => {
        await configure({ deletion })
        await reports.until('nothing is on record', () =>
          namesOf(off).every((name) => engaged(name) === undefined),
        )
        t.ok(namesOf(off).every((name) => nodes.last(name)))
        await configure({ deletion: 'on' })
        await heldByBrake(play, ...namesOf(off))
        t.ok(
          namesOf(off).every((name) => engaged(name) !== undefined),
          'and it engages again',
        )
      },
    )
})
