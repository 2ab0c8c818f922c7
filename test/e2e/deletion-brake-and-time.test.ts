// What the brake does in the course of time: it releases itself, remembers, and leaves nothing behind where it is off.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { vsphereConf } from '../world/controller.ts'
import { deletionPending, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { mountSecret } from '../world/secret-mount.ts'
import { openStage, REGION_CATEGORY, ZONE_CATEGORY } from '../world/stage.ts'
import { BRAKE, DELETED, HALF_LIFECYCLE, heldByBrake } from './half.ts'

const stage = await openStage(t, { vms: 12 })
const { cluster, nodes, reports, vcsim } = stage
const labels = { zone: ZONE_CATEGORY, region: REGION_CATEGORY }
const conf = (lifecycle: object, topology = {}) =>
  vsphereConf(vcsim, { labels, topology, lifecycle: { ...HALF_LIFECYCLE, ...lifecycle } })
const secret = await mountSecret(`${stage.dir}/secret`, { 'vsphere.conf': conf({ deletionsPerMinute: 1 }) })
const controller = await stage.controller({ configFile: secret.path('vsphere.conf') })
const members = await stage.crowd(12)
await watched(stage)
const groups = [members.slice(0, 4), members.slice(4, 8), members.slice(8, 10)]
const [back = [], off = [], one = []] = groups
const namesOf = (group: typeof members) => group.map(({ name }) => name)
const engaged = (name: string) => reports.last(name)?.status?.brakeEngagedAt

async function vanish(group: typeof members): Promise<void> {
  await loseHeartbeats(cluster, ...namesOf(group))
  await vcsim.hide(...group.map(({ vm }) => vm.ref))
}

async function configure(text: string): Promise<void> {
  const heard = controller.stderr.length
  await secret.write({ 'vsphere.conf': text })
  await until('the configuration is loaded', () =>
    controller.stderr.slice(heard).some((line) => line.includes('configuration loaded')),
  )
}

t.test('it releases itself when few are missing for twice absentFor', async (t) => {
  await vanish(back)
  await heldByBrake(stage, namesOf(back))
  const [last, ...others] = back
  if (last === undefined) throw new Error('there are four')
  await vcsim.show(...others.map(({ vm }) => vm.ref))
  await nodes.until('it is deleted without a person', () => nodes.last(last.name) === undefined)
  await until('the brake is released', async () => (await metric(controller, BRAKE)) === 0)
  t.equal(await metric(controller, DELETED), 1)
  for (const { name } of others) t.ok(nodes.last(name), 'the others are back')
})

t.test('what was deleted is remembered when the configuration changes', async (t) => {
  await configure(conf({ deletionsPerMinute: 1 }, { onChange: 'ignore' }))
  const [first] = one
  if (first === undefined) throw new Error('there are two')
  await vanish([first])
  const message = /deletionsPerMinute is 1, and that many Nodes were deleted/
  await deletionPending(stage, first.name, { status: 'True', reason: 'RateLimited', message })
  t.ok(nodes.last(first.name))
  await nodes.until('it is deleted then', () => nodes.last(first.name) === undefined)
})

t.test('it holds, and says so, while vCenter is away', async (t) => {
  await configure(conf({ deletionsPerMinute: 10 }))
  await vanish(off)
  await heldByBrake(stage, namesOf(off))
  t.equal(await metric(controller, BRAKE), 1)
  const fault = await vcsim.fault({ operation: '*', kind: 'reset' })
  await until(
    'vCenter is away',
    async () => (await metric(controller, 'rollcall_vcenter_up{vcenter="main"}')) === 0,
  )
  t.equal(await metric(controller, BRAKE), 1)
  for (const name of namesOf(off)) t.ok(engaged(name))
  await vcsim.clearFaults(fault)
  await until(
    'it is there again',
    async () => (await metric(controller, 'rollcall_vcenter_up{vcenter="main"}')) === 1,
  )
})

for (const deletion of ['dry-run', 'off'])
  t.test(`one that deletes nothing (${deletion}) takes the latch away, and engages none`, async (t) => {
    await configure(conf({ deletion }))
    await reports.until('nothing is on record', () =>
      namesOf(off).every((name) => engaged(name) === undefined),
    )
    t.ok(namesOf(off).every((name) => nodes.last(name)))
    await configure(conf({ deletion: 'on' }))
    await heldByBrake(stage, namesOf(off))
    t.ok(
      namesOf(off).every((name) => engaged(name) !== undefined),
      'and it engages again',
    )
  })
