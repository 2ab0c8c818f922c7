/** doctor at a vCenter whose directory is slow. */
import { readFile } from 'node:fs/promises'
import { pino } from 'pino'
import t from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { startVcsim } from '../../../test/servers/vcsim.ts'
import { Secret } from '../../config/secret.ts'
import { testLogins } from '../../vcenter/testing/logins.ts'
import { TIMINGS } from '../../vcenter/timings.ts'
import { judgeVCenter, lookAtVCenter } from './vcenter.ts'

t.test('a login that takes long is waited for', async (t) => {
  const vCenter = await startVcsim({ vms: 1 })
  t.teardown(() => vCenter.stop())
  await vCenter.tag({ category: 'k8s-zone', tag: 'z', object: 'DC0_C0' })
  const slow = { kind: 'late', milliseconds: 2_500 } as const
  await vCenter.fault({ operation: 'Login', ...slow })
  await vCenter.fault({ operation: 'REST POST /rest/com/vmware/cis/session', ...slow })
  const facts = await lookAtVCenter(
    {
      config: {
        name: 'lab',
        server: vCenter.host,
        port: vCenter.port,
        user: vCenter.username,
        password: new Secret(vCenter.password),
        trust: { kind: 'ca', pem: await readFile(vCenter.certificateFile, 'utf8') },
        datacenters: [],
      },
      logins: testLogins({ once: true }),
      alone: () => undefined,
      isController: async () => true,
      labels: { zone: 'k8s-zone', region: undefined },
      parentsIn: async () => [],
      userAgent: 'rollcall-controller/test',
      timings: { ...TIMINGS, callDeadline: 1_500 },
      clock: systemClock,
      random: Math.random,
      logger: pino({ level: 'silent' }),
    },
    new AbortController().signal,
  )
  const lines = judgeVCenter(facts, Date.now())
  t.same(
    lines.filter(({ status }) => status !== 'ok' && status !== 'warn'),
    [],
  )
  t.same(await vCenter.sessions(), { soap: 0, rest: 0 })
})
