// A small cluster whose workers are destroyed one after the other, so that several are missing at once.
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { brakeEvents, deleted, missing, QUICK, watched } from '../world/deletion.ts'
import { loseHeartbeats } from '../world/kubelet.ts'
import { metric } from '../world/meters.ts'
import { openStage } from '../world/stage.ts'
import { BRAKE, DELETED } from './half.ts'

const stage = await openStage(t, { vms: 5 })
const { cluster, reports, vcsim } = stage
// What vanishes within a fifth of absentFor vanishes at once, and within five seconds at least.
const APART = 12_000
const controller = await stage.controller({ lifecycle: { ...QUICK, absentFor: '25s' } })
const members = await stage.crowd(5)
const workers = members.slice(0, 4)
await watched(stage)

t.test('all go, and the brake never engages', async (t) => {
  const engaged: string[] = []
  for (const [index, { name, vm }] of workers.entries()) {
    if (index > 0) await sleep(APART)
    await vcsim.hide(vm.ref)
    await loseHeartbeats(cluster, name)
    // The next VM vanishes only after this one is known to be missing.
    await missing(stage, name)
  }
  await Promise.all(workers.map(({ name }) => deleted(stage, name)))
  for (const { name } of workers) {
    for (const { object } of reports.of(name)) if (object?.status?.brakeEngagedAt) engaged.push(name)
    t.same(brakeEvents(stage, name), [], name)
  }
  t.same(engaged, [])
  t.equal(await metric(controller, BRAKE), 0)
  t.equal(await metric(controller, DELETED), 4)
})
