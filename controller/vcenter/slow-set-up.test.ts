/** Calls that are made once in a session, if vCenter is slow to answer them, or their answers are lost. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, openLab, QUICK, vmAt } from './testing/lab.ts'

const MADE = ['CreateListView', 'CreatePropertyCollector', 'CreateContainerView'] as const

t.test('each call of the set-up may take longer than a small one', async (t) => {
  for (const operation of ['RetrieveServiceContent', ...MADE, 'CreateFilter', 'FindAllByUuid']) {
    const lab = await openLab(t, {
      timings: { ...QUICK, callDeadline: 3_000 },
      before: (vCenter) => vCenter.fault({ operation, kind: 'late', milliseconds: 5_000 }),
    })
    const { uuid } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    await answered(lab, uuid)
    await until('the view of all', async () => (await lab.vCenter.calls()).operations.CreateContainerView)
    const { operations } = await lab.vCenter.calls()
    t.equal(operations.Login, 1, operation)
    t.equal(operations.CreateListView, 1, operation)
    t.notMatch(lab.log.join(''), /vCenter failed/)
    await lab.stop()
  }
})

t.test('a view that is never answered is not created without end in one session', async (t) => {
  const lab = await openLab(t, {
    timings: { ...QUICK, readDeadline: 1_000, unanswered: { base: 100, max: 100 } },
    before: (vCenter) => vCenter.fault({ operation: 'CreateContainerView', kind: 'lost' }),
  })
  const { uuid } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await answered(lab, uuid)
  const calls = async () => (await lab.vCenter.calls()).operations
  await until('another session', async () => ((await calls()).Login ?? 0) > 1)
  const { CreateContainerView = 0, Login = 0, Logout } = await calls()
  t.ok(CreateContainerView <= 32 * Login, `${CreateContainerView} in ${Login} sessions`)
  t.equal(Logout, Login - 1)
  t.equal((await lab.vCenter.sessions()).soap, 1)
  t.notMatch(lab.log.join(''), /"level":40[^\n]*vCenter failed/)
})

// A proxy that answers 502 had passed the call on.
for (const answer of [{ kind: 'lost' }, { kind: 'status', status: 502 }] as const)
  t.test(`an object whose name was lost goes with its session; ${answer.kind}`, async (t) => {
    for (const operation of MADE) {
      const lab = await openLab(t, {
        before: (vCenter) => vCenter.fault({ operation, ...answer, times: 1 }),
      })
      const { uuid } = await vmAt(lab, 0)
      lab.inventory.follow(uuid)
      await answered(lab, uuid)
      await until('another session', async () => (await lab.vCenter.calls()).operations.Login === 2)
      t.equal((await lab.vCenter.calls()).operations.Logout, 1, operation)
      t.equal((await lab.vCenter.sessions()).soap, 1)
      await lab.stop()
    }
  })

t.test('an object that is not waited for any more goes with its session, too', async (t) => {
  for (const beside of [
    { kind: 'status', status: 503 },
    { kind: 'fault', fault: 'SystemError' },
  ] as const) {
    const lab = await openLab(t, {
      timings: { ...QUICK, callDeadline: 1_000 },
      async before(vCenter) {
        await vCenter.fault({ operation: 'CreateListView', kind: 'late', milliseconds: 3_000, times: 1 })
        await vCenter.fault({ operation: 'CurrentTime', ...beside, times: 2 })
      },
    })
    const { uuid } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    await answered(lab, uuid)
    t.equal((await lab.vCenter.calls()).operations.Logout, 1, beside.kind)
    t.equal((await lab.vCenter.sessions()).soap, 1)
    await lab.stop()
  }
})
