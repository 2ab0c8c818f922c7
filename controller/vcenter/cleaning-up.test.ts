/** What is left in vCenter, and cannot be ended or destroyed, keeps nobody from the next session. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import type { VcsimFault } from '../../test/servers/control.ts'
import { answered, NEVER, openLab, QUICK, vmAt } from './testing/lab.ts'

type Failing = Omit<VcsimFault, 'operation'>
const FAILING: readonly Failing[] = [
  { kind: 'fault', fault: 'SystemError' },
  { kind: 'fault', fault: 'NoPermission' },
  { kind: 'status', status: 500 },
  { kind: 'hang' },
]
const TIMINGS = { ...QUICK, callDeadline: 3_000, readDeadline: 4_000, keepAlive: NEVER }

for (const failing of FAILING) {
  const how = failing.fault ?? failing.status ?? failing.kind

  for (const operation of ['DestroyView', 'DestroyPropertyCollector'])
    t.test(`${operation} fails (${how}): its session is ended`, async (t) => {
      const lab = await openLab(t, {
        timings: TIMINGS,
        async before(vCenter) {
          await vCenter.fault({ operation, ...failing })
          await vCenter.fault({
            operation: 'WaitForUpdatesEx',
            kind: 'fault',
            fault: 'SystemError',
            times: 2,
          })
        },
      })
      const { uuid } = await vmAt(lab, 0)
      lab.inventory.follow(uuid)
      await until('another login', async () => (await lab.vCenter.calls()).operations.Login === 2)
      await answered(lab, uuid)
      await until('it answers', () => lab.inventory.failure() === undefined)
      t.same((await lab.vCenter.sessions()).soap, 1)
      t.equal((await lab.vCenter.calls()).operations.Login, 2)
    })

  t.test(`a logout fails (${how}): there is a new session, and the other is ended from there`, async (t) => {
    const lab = await openLab(t, {
      timings: TIMINGS,
      async before(vCenter) {
        await vCenter.fault({ operation: 'Logout', ...failing, times: 1 })
        // It may have made a view that nobody knows.
        await vCenter.fault({ operation: 'CreateContainerView', kind: 'lost', times: 1 })
      },
    })
    const { uuid } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    await until('another login', async () => (await lab.vCenter.calls()).operations.Login === 2)
    await answered(lab, uuid)
    await until('it answers', () => lab.inventory.failure() === undefined)
    await until('one session', async () => (await lab.vCenter.sessions()).soap === 1)
    t.match(lab.log.join(''), /a session could not be ended/)
  })
}

for (const failing of [{ kind: 'status', status: 500 }, { kind: 'hang' }] as const)
  t.test(
    `the session of a lost login cannot be ended (${failing.kind}): the one that works goes on`,
    async (t) => {
      const lab = await openLab(t, {
        timings: { ...TIMINGS, keepAlive: 1_000 },
        async before(vCenter) {
          await vCenter.fault({ operation: 'Login', kind: 'lost', times: 1 })
          await vCenter.fault({ operation: 'TerminateSession', ...failing, times: 1 })
        },
      })
      const { uuid } = await vmAt(lab, 0)
      lab.inventory.follow(uuid)
      await answered(lab, uuid)
      await until('it is ended the next time', async () => (await lab.vCenter.sessions()).soap === 1)
      t.match(lab.log.join(''), /left behind could not be ended/)
      const { CreateListView, Login, TerminateSession } = (await lab.vCenter.calls()).operations
      t.same([CreateListView, Login, TerminateSession], [1, 2, 2], 'nothing was made anew')
    },
  )
