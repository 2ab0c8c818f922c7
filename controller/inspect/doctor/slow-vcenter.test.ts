/** doctor, and the recording of `bundle`, at a vCenter whose directory is slow, or behind what loses the answers to logins. */
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { until } from '../../../test/fixtures/until.ts'
import type { VcsimFault } from '../../../test/servers/control.ts'
import { startVcsim } from '../../../test/servers/vcsim.ts'
import { configOf } from '../../vcenter/testing/lab.ts'
import { testLogins } from '../../vcenter/testing/logins.ts'
import { TIMINGS } from '../../vcenter/timings.ts'
import { recordVCenter } from '../recording/record-vcenter.ts'
import { judgeVCenter, lookAtVCenter } from './vcenter.ts'

const LABELS = { zone: 'k8s-zone', region: undefined }

/** A vCenter, and what doctor and bundle ask it with. */
async function open(t: Test, shorter: Partial<typeof TIMINGS>) {
  const vCenter = await startVcsim({ vms: 1 })
  t.teardown(() => vCenter.stop())
  await vCenter.tag({ category: 'k8s-zone', tag: 'z', object: 'DC0_C0' })
  const config = await configOf(vCenter)
  const around = {
    logins: testLogins({ once: true }),
    alone: () => undefined,
    userAgent: 'rollcall-controller/test',
    timings: { ...TIMINGS, ...shorter },
    clock: systemClock,
    random: Math.random,
    logger: pino({ level: 'silent' }),
  }
  const ending = new AbortController()
  const { signal } = ending
  async function doctor() {
    const more = { config, labels: LABELS, isController: async () => true, parentsIn: async () => [] }
    const lines = judgeVCenter(await lookAtVCenter({ ...around, ...more }, signal), Date.now())
    return lines.filter(({ status }) => status !== 'ok')
  }
  const record = () =>
    recordVCenter({ around, config, labels: LABELS, uuids: [], version: 'test', warn: t.fail }, signal)
  const logins = async () => (await vCenter.calls()).operations.Login
  return { vCenter, doctor, record, logins, end: () => ending.abort() }
}

for (const status of [403, 404])
  t.test(
    `a category of somebody else answers ${status}: nothing is wrong with the configured ones`,
    async (t) => {
      const { vCenter, doctor } = await open(t, {})
      await vCenter.tag({ category: 'installer', tag: 'x', object: 'DC0_C0' })
      const said = await vCenter.govc('tags.category.info', 'installer')
      const object = /ID:\s*(\S+)/.exec(said)?.[1] ?? ''
      const operation = 'REST GET /rest/com/vmware/cis/tagging/category/*'
      await vCenter.fault({ operation, kind: 'status', status, object })
      t.same(
        (await doctor()).filter(({ check }) => check.endsWith('tag categories')),
        [],
      )
      t.match(await vCenter.faults(), [{ hits: 1 }], 'it was asked for')
    },
  )

t.test('a login that takes long is waited for', async (t) => {
  const { vCenter, doctor } = await open(t, { callDeadline: 1_500 })
  const slow = { kind: 'late', milliseconds: 2_500 } as const
  await vCenter.fault({ operation: 'Login', ...slow })
  await vCenter.fault({ operation: 'REST POST /rest/com/vmware/cis/session', ...slow })
  t.same(
    (await doctor()).filter(({ status }) => status !== 'warn'),
    [],
  )
  t.same(await vCenter.sessions(), { soap: 0, rest: 0 })
})

const LOST: readonly [string, Omit<VcsimFault, 'operation'>, Partial<typeof TIMINGS>, RegExp][] = [
  ['too late', { kind: 'late', milliseconds: 2_500 }, { loginDeadline: 1_500 }, /within 1\.5 s/],
  ['lost by a proxy with a limit', { kind: 'lost', status: 504 }, {}, /HTTP status 504/],
  ['lost by a proxy that closes the connection', { kind: 'lost' }, {}, /broke|reached/],
  ['lost in its middle', { kind: 'truncate' }, {}, /the answer of vCenter cannot/],
]
for (const [how, fault, shorter, why] of LOST) {
  t.test(`the answer to a login is ${how}: another login ends its session`, async (t) => {
    const { vCenter, doctor, logins } = await open(t, shorter)
    await vCenter.fault({ operation: 'Login', ...fault, times: 1 })
    const [login, ...others] = (await doctor()).filter(({ check }) => /login|sessions|categories/.test(check))
    t.match(login, { check: 'vCenter lab: login', status: 'warn', message: /only the second login/ })
    t.match(login?.message, why)
    t.same(others, [])
    t.equal(await logins(), 2)
    t.same(await vCenter.sessions(), { soap: 0, rest: 0 })
  })
}

t.test('no answer to a login ever arrives: there are two, and no more', async (t) => {
  const { vCenter, doctor, logins } = await open(t, {})
  await vCenter.fault({ operation: 'Login', kind: 'lost', status: 504 })
  t.match(
    (await doctor()).find(({ status }) => status === 'fail'),
    { check: 'vCenter lab: login', message: /HTTP status 504/ },
  )
  t.equal(await logins(), 2)
})

t.test(
  'doctor is ended during a login: the answer is awaited for a while, and the session ended',
  async (t) => {
    const { vCenter, doctor, logins, end } = await open(t, { logout: 60_000 })
    await vCenter.fault({ operation: 'Login', kind: 'late', milliseconds: 1_000 })
    const looking = doctor()
    await until('its login', async () => (await logins()) === 1)
    end()
    await looking
    t.same(await vCenter.sessions(), { soap: 0, rest: 0 })
  },
)

t.test('the answer to a login is lost while a vCenter is recorded', async (t) => {
  const { vCenter, record, logins } = await open(t, {})
  await vCenter.fault({ operation: 'Login', kind: 'lost', after: 1, times: 1 })
  t.match(await record(), { vms: [{}] })
  t.equal(await logins(), 4, 'two to read all VMs, one before and one after')
  t.same(await vCenter.sessions(), { soap: 0, rest: 0 })
})
