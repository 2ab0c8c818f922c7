import t from 'tap'
import { until } from '../fixtures/until.ts'
import { startVcsim } from '../servers/vcsim.ts'
import { startApiProxy } from '../world/api-proxy.ts'
import { deleted, deletionPending, followed, QUICK } from '../world/deletion.ts'
import { heartbeat, loseHeartbeats } from '../world/kubelet.ts'
import { condition } from '../world/objects.ts'
import { runTheme } from './refused.ts'
import { standIns } from './rows/stand-ins.ts'
import { openAttackStage, truth } from './stage.ts'
import { createMarker, holdings } from './tenant.ts'

const second = await startVcsim({ clusters: 2, vms: 4, seed: 'second' })
t.teardown(() => second.stop())
const impostor = await startVcsim({ clusters: 2, vms: 4, seed: 'impostor' })
t.teardown(() => impostor.stop())
const bare = await startVcsim({ vms: 0, seed: 'bare' })
t.teardown(() => bare.stop())
const line = await startApiProxy(second.url)
t.teardown(() => line.close())
const access = {
  ...second,
  port: Number(new URL(line.url).port),
  certificateFile: [second, impostor, bare].map(({ certificateFile }) => certificateFile).join(':'),
}
const stage = await openAttackStage(
  t,
  { vms: 4 },
  {
    otherVCenters: { second: access },
    // The brake is not what this is about.
    lifecycle: { ...QUICK, maxAbsentShare: '100%' },
    // Names of attributes are read first, and then all that is known of VMs is looked at again.
    labelRules: [{ label: 'example.com/owner', from: { attribute: 'owner' } }],
  },
)
const { cluster, reports, vcsim } = stage
const [vm] = await second.vms()
if (vm === undefined) throw new Error('the second vCenter has no VM')
const there = await stage.forger('there', { vm, vcsim: second })
await there.proven()
await followed({ vcsim: second }, there.vm)
const gone = await stage.forger('gone')
await gone.proven()
await followed(stage, gone.vm)

const passed = await createMarker(stage)
const found = () => condition(reports.last(there.name), 'VMFound')
const boundIn = () => reports.last(there.name)?.status?.vm?.vCenterInstanceUUID
const isAnother = (times: number) =>
  until(
    'another vCenter answers',
    () => stage.running.output().split('another vCenter answers').length > times,
  )

await runTheme(t, standIns, {
  'same references': async (t, row) => {
    t.ok(
      (await impostor.vms()).some(({ ref }) => ref === there.vm.ref),
      'it has a VM of that reference',
    )
    const before = await holdings(stage, there.name)
    const home = boundIn()
    const search = { operation: 'FindAllByUuid', object: there.vm.uuid }
    await impostor.fault({ ...search, kind: 'delay', milliseconds: 60_000 })
    line.leadTo(impostor.url)
    await isAnother(1)
    await until('its VM is searched for', async () => (await impostor.faults()).some(({ hits }) => hits > 0))
    t.match(await there.report(truth(there, { hostname: 'again.example' })), { status: 200 })
    await passed()
    t.same(await holdings(stage, there.name), before, 'it stays what it was')
    t.equal(boundIn(), home, 'nor is it what the former vCenter has shown, in this one')
    await impostor.clearFaults()
    await reports.until('its VM is not there', () => found()?.reason === row.seen)
    t.same(await holdings(stage, there.name), before)
    line.leadTo(second.url)
    await isAnother(2)
    await reports.until('its VM is there again', () => found()?.status === 'True')
    t.same(await holdings(stage, there.name), before)
  },

  'shows nothing': async (t, row) => {
    await heartbeat(cluster, there.name)
    line.leadTo(bare.url)
    await isAnother(3)
    await loseHeartbeats(cluster, gone.name)
    await vcsim.destroy(gone.vm.ref)
    const message = /vCenter second shows no VM at all, .* Node there is Ready and no vCenter shows its VM/
    await deletionPending(stage, gone.name, { status: 'Unknown', reason: row.seen, message })
    t.equal((await holdings(stage, gone.name)).uid, gone.uid, 'its VM may be there')
    await loseHeartbeats(cluster, there.name)
    await deleted(stage, gone.name)
  },
})
