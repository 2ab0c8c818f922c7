/** A vCenter that takes calls and does not answer them. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { answered, openLab, QUICK, until, vmAt } from './testing/lab.ts'

t.test('a vCenter that hangs is told as soon as a small call was waited for in vain', async (t) => {
  const cases: readonly [string, number, readonly string[]][] = [
    ['one is looked for', 1, ['*']],
    ['a view is made', 12, ['*']],
    ['all is read', 12, ['RetrievePropertiesEx', 'CurrentTime']],
  ]
  for (const [name, newcomers, operations] of cases) {
    const lab = await openLab(t, { timings: { ...QUICK, failureGrace: 10_000 } })
    const { uuid } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    await until('watching', async () => (await lab.vCenter.calls()).operations.ModifyListView === 1)
    await sleep(QUICK.locate.spacing)
    for (const operation of operations) await lab.vCenter.fault({ operation, kind: 'hang' })
    const start = performance.now()
    for (let i = 0; i < newcomers; i++) lab.inventory.follow(`42000000-0000-4000-8000-${100000000000 + i}`)
    t.match(
      await until('a failure', () => lab.inventory.failure()),
      { reason: 'TimedOut', message: /within 1 s/ },
      name,
    )
    const took = performance.now() - start
    t.ok(took < QUICK.doubt + QUICK.callDeadline + 700, `${name}: ${Math.round(took)} ms`)
    t.notOk(lab.inventory.connected())
    await lab.vCenter.clearFaults()
    await answered(lab, uuid)
    await lab.stop()
  }
})

t.test('a big call may take long while vCenter answers small ones', async (t) => {
  const lab = await openLab(t)
  const { uuid } = await vmAt(lab, 0)
  await until('a session', () => lab.inventory.connected())
  await lab.vCenter.fault({ operation: 'RetrievePropertiesEx', kind: 'delay', milliseconds: 2_000, times: 1 })
  lab.inventory.follow(uuid)
  await answered(lab, uuid)
  const { operations } = await lab.vCenter.calls()
  t.ok((operations.CurrentTime ?? 0) >= 4, 'asked beside it')
  t.equal(operations.CreateFilter, 1)
})

t.test('stops within 3 s while vCenter hangs', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, callDeadline: 15_000 } })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await answered(lab, uuid)
  await lab.vCenter.fault({ operation: '*', kind: 'hang' })
  const start = performance.now()
  await lab.stop()
  const took = performance.now() - start
  t.ok(took > 2_000 && took < 3_000, `${took} ms`)
  t.match(lab.log.join(''), /could not be ended/)
})
