/** Each recording of a vCenter, played to Rollcall's own code: it sees the same VMs and zones as when it was made. */
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import type { VCenterConfig } from '../../controller/config/config.ts'
import { Secret } from '../../controller/config/secret.ts'
import { judgeVCenter, lookAtVCenter, NO_METRICS } from '../../controller/inspect/doctor/vcenter.ts'
import { recordedVM, type VCenterRecording } from '../../controller/inspect/recording/record-vcenter.ts'
import { vmsOf } from '../../controller/types/inventory.ts'
import { openInventory } from '../../controller/vcenter/inventory.ts'
import { testLogins } from '../../controller/vcenter/testing/logins.ts'
import { TIMINGS } from '../../controller/vcenter/timings.ts'
import { until } from '../fixtures/until.ts'
import { playRecording } from './player.ts'

const basics = {
  clock: systemClock,
  random: Math.random,
  logger: pino({ level: 'silent' }),
  timings: TIMINGS,
}

/** Calls that read, and those for our own sessions and what lives in them. */
const HARMLESS = new RegExp(
  `^(?:GET /\\S+|(?:POST|DELETE) /(?:api|rest/com/vmware/cis)/session|POST /\\S+[?]~?action=list-[a-z-]+|SOAP (?:${[
    'RetrieveServiceContent|CurrentTime|RetrievePropertiesEx|FindAllByUuid|HasPrivilegeOnEntities|WaitForUpdatesEx',
    'Login|CloneSession|AcquireCloneTicket|Logout|CreatePropertyCollector|DestroyPropertyCollector|CreateFilter|DestroyFilter',
    'CreateContainerView|CreateListView|ModifyListView|DestroyView|CancelWaitForUpdates|ContinueRetrievePropertiesEx',
  ].join('|')}))$`,
)

for (const name of (await readdir(import.meta.dirname)).filter((file) => file.endsWith('.json'))) {
  await t.test(name, async (t) => {
    // As printRecording writes it.
    const recording = JSON.parse(await readFile(join(import.meta.dirname, name), 'utf8')) as VCenterRecording
    await using player = await playRecording(recording)
    const labels = { zone: undefined, region: undefined, ...recording.config.labels }
    const config: VCenterConfig = {
      name: 'played',
      server: player.host,
      port: player.port,
      user: 'someone',
      password: new Secret('anything'),
      trust: { kind: 'ca', pem: player.pem },
      datacenters: recording.config.datacenters,
    }
    const around = { ...basics, config, labels, logins: testLogins(), userAgent: 'rollcall-controller/test' }

    for (const { call } of recording.exchanges) t.match(call, HARMLESS, 'nothing of the site was changed')

    await t.test('doctor judges it as it judged the vCenter', async (t) => {
      const { signal } = new AbortController()
      const facts = await lookAtVCenter(
        { ...around, alone: () => undefined, parentsIn: async () => [], isController: async () => false },
        signal,
      )
      const lines = judgeVCenter(facts, Date.now())
      // Those are about the way to the vCenter.
      const ways = ['DNS', 'TCP', 'TLS', 'credential', 'clock']
      const checks = Object.entries(recording.checks).filter(([check]) => !ways.includes(check))
      const judged = new Map(lines.map(({ check, status }) => [check.replace(/^.*: /, ''), status]))
      t.same(
        checks.map(([check]) => [check, judged.get(check)]),
        checks,
      )
    })

    await t.test('the inventory sees the same VMs, at the same places', async (t) => {
      const end = new AbortController()
      const inventory = openInventory({
        ...around,
        categories: labels,
        metrics: NO_METRICS,
        onChange: () => undefined,
      })
      const running = inventory.run(end.signal)
      t.teardown(async () => {
        end.abort()
        await running
      })
      const uuids = [...new Set(recording.vms.map(({ biosUUID }) => biosUUID))]
      for (const uuid of uuids) inventory.follow(uuid)
      const seen = () => uuids.flatMap((uuid) => vmsOf(inventory.lookup(uuid)))
      await until('all VMs with what is above them', () => {
        const vms = seen()
        return vms.length === recording.vms.length && vms.every(({ ancestry }) => ancestry !== undefined)
      })
      t.same(
        seen().map((vm) => recordedVM(vm, labels)),
        recording.vms,
      )
      await until('what the account may do', () => inventory.provableEverywhere() !== undefined)
      t.equal(inventory.failure(), undefined)
    })

    t.same(player.unanswered, [])
  })
}
