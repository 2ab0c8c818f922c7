/** Polls that end without an answer, such as behind a proxy that limits silence, or that always fail. */
import t from 'tap'
import { until } from '../../test/fixtures/until.ts'
import { answered, NEVER, openLab, QUICK, vmAt, vmsOf } from './testing/lab.ts'

/** Polls that are cut in a row; one more would be a failure. */
const TIMES = 3

for (const status of [504, 408, 502, undefined]) {
  const how = status === undefined ? 'a closed connection' : `HTTP status ${status}`
  t.test(`after a silent poll was cut off with ${how}, the next continues where it began`, async (t) => {
    const lab = await openLab(t, { timings: { ...QUICK, pollWait: 60_000, resync: NEVER } })
    const { uuid, ref } = await vmAt(lab, 0)
    lab.inventory.follow(uuid)
    await answered(lab, uuid)
    const calls = async () => (await lab.vCenter.calls()).operations
    await until('watching', async () => ((await calls()).ModifyListView ?? 0) > 0)
    const wakes = async (powerState: 'poweredOn' | 'poweredOff') => {
      await lab.vCenter.setState({ vm: ref, powerState })
      await until('push', () => vmsOf(lab.inventory.lookup(uuid))?.[0]?.powerState === powerState)
    }
    for (const powerState of ['poweredOff', 'poweredOn'] as const) {
      const limit = { kind: 'cut', milliseconds: 500, times: TIMES, ...(status ? { status } : {}) } as const
      const { CancelWaitForUpdates: before = 0, WaitForUpdatesEx: polls = 0 } = await calls()
      await lab.vCenter.fault({ operation: 'WaitForUpdatesEx', ...limit })
      // Ends the poll that had begun before. What it brings may come in several answers, so not each one is cut.
      await wakes(powerState)
      await until('polls were cut, and the next one has begun', async () => {
        const { CancelWaitForUpdates = 0, WaitForUpdatesEx = 0 } = await calls()
        const met = (await lab.vCenter.faults()).every(({ hits }) => hits === TIMES)
        return met && CancelWaitForUpdates > before && WaitForUpdatesEx > polls + TIMES
      })
    }
    await wakes('poweredOff')
    const { CreateListView, CreatePropertyCollector, Login } = await calls()
    t.same([CreateListView, Login], [1, 1])
    t.ok((CreatePropertyCollector ?? 0) <= 3)
    t.notMatch(lab.log.join(''), /"level":40|vCenter failed/, 'nothing is worth a warning')
    t.same((await lab.vCenter.sessions()).soap, 1)
  })
}

t.test('a session that ended with the poll is noticed', async (t) => {
  const lab = await openLab(t, { timings: { ...QUICK, pollWait: 60_000 } })
  const { uuid, ref } = await vmAt(lab, 0)
  lab.inventory.follow(uuid)
  await answered(lab, uuid)
  await lab.vCenter.fault({ operation: 'WaitForUpdatesEx', kind: 'cut', milliseconds: 500, times: 1 })
  await lab.vCenter.setState({ vm: ref, powerState: 'poweredOff' })
  await until('a poll', async () => (await lab.vCenter.faults()).every(({ hits }) => hits === 1))
  await lab.vCenter.endSessions()
  await until('another login', async () => (await lab.vCenter.calls()).operations.Login === 2)
  await answered(lab, uuid)
  t.same((await lab.vCenter.sessions()).soap, 1)
})

for (const [how, fault] of [
  ['with a fault, at once', { kind: 'fault', fault: 'SystemError' }],
  ['with HTTP status 500, after a while', { kind: 'cut', milliseconds: 500, status: 500 }],
  ['with a reset, at once', { kind: 'reset' }],
] as const) {
  t.test(`each poll fails ${how}, while all else works: that is told until it has ended`, async (t) => {
    const unsteady = { lasting: 3_000, within: 10_000 }
    // Each wait before the next connection is longer than the grace.
    const backoff = { base: 1_000, max: 60_000 }
    const shown = new Set<string>()
    const lab = await openLab(t, {
      timings: { ...QUICK, failureGrace: 300, unsteady, backoff },
      onChange() {
        const failure = lab.inventory.failure()
        if (failure !== undefined) shown.add(failure.message)
      },
    })
    const { inventory, vCenter } = lab
    const { uuid, ref } = await vmAt(lab, 0)
    inventory.follow(uuid)
    await answered(lab, uuid)
    t.equal(inventory.unsteady(), undefined)
    await vCenter.fault({ operation: 'WaitForUpdatesEx', ...fault })
    // Ends the poll that had begun before.
    await vCenter.setState({ vm: ref, powerState: 'poweredOff' })
    t.match(await until('it is told', () => inventory.unsteady()), { vCenter: 'lab', reason: /^Un/ })
    t.same([...shown], [], 'no failure is shown: it answers again each time')
    t.ok(inventory.connected())
    await vCenter.clearFaults()
    await until('it has ended', () => inventory.unsteady() === undefined)
    t.equal((await vCenter.calls()).operations.Login, 1)
  })
}
