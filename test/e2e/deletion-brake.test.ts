// Half of a cluster's VMs vanish at once: an old backup was restored, or the inventory is still being loaded.
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { deletionPending, eventsOfReason, probed } from '../world/deletion.ts'
import { metric } from '../world/meters.ts'
import { openStage } from '../world/stage.ts'
import { BRAKE, DELETED, heldByBrake, HALF_LIFECYCLE as lifecycle, openHalf } from './half.ts'

const stage = await openStage(t, { vms: 10 })
const { events, nodes, reports, vcsim } = stage
const first = await stage.controller({ identity: 'first', lifecycle })
const { members, names, refs, kept } = await openHalf(stage)
const engagedAt = () => names.map((name) => reports.last(name)?.status?.brakeEngagedAt)

t.test('the brake engages, and is loud', async (t) => {
  t.equal(await metric(first, BRAKE), 0)
  const before = members.map(({ name }) => nodes.of(name).length)
  await vcsim.hide(...refs)
  await heldByBrake(stage, names)
  t.equal(kept(), 10)
  t.ok(
    engagedAt().every((at) => at !== undefined),
    'on record',
  )
  t.equal(await metric(first, BRAKE), 1)
  t.equal(await metric(first, 'rollcall_vms_missing{vcenter="main"}'), 5)
  t.equal(await metric(first, DELETED), 0)
  const ready = await fetch(`${first.url}/readyz`)
  t.match([ready.status, await ready.text()], [200, 'leading'], 'readiness is another thing')
  await events.until('all are told', () =>
    names.every((name) => eventsOfReason(stage, name, 'BrakeEngaged').length > 0),
  )
  for (const name of names) {
    const [event] = eventsOfReason(stage, name, 'BrakeEngaged')
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

t.test('it survives the controller, and stays engaged for those still missing', async (t) => {
  const before = engagedAt()
  await first.stop()
  // It asks every second, and is not through with it: after that it would ask once a minute.
  const second = await stage.controller({
    identity: 'second',
    lifecycle: { ...lifecycle, absentFor: '50s', confirmations: 50 },
  })
  await until('it is engaged again', async () => (await metric(second, BRAKE)) === 1)
  const [last, ...others] = names
  const [lastRef = '', ...otherRefs] = refs
  if (last === undefined) throw new Error('there are five')
  await vcsim.show(...otherRefs)
  for (const name of others) await deletionPending(stage, name, { status: 'False', reason: 'VMExists' })
  await reports.until('it is released for those', () =>
    engagedAt()
      .slice(1)
      .every((at) => at === undefined),
  )
  await probed(stage, 2)
  await deletionPending(stage, last, { status: 'True', reason: 'BrakeEngaged' })
  t.equal(engagedAt()[0], before[0], 'as it was')
  t.equal(await metric(second, BRAKE), 1)
  t.equal(kept(), 10, 'one in ten alone would not have engaged it')

  await vcsim.show(lastRef)
  await deletionPending(stage, last, { status: 'False', reason: 'VMExists' })
  await until('it is released', async () => (await metric(second, BRAKE)) === 0)
  await reports.until('nothing is on record', () => engagedAt().every((at) => at === undefined))
  t.equal(await metric(second, DELETED), 0)
  t.equal(kept(), 10)
})
