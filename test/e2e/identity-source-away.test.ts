// A right credential that is refused for a while: the controller itself, run in this process with shorter pauses.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { run } from '../../controller/cli/commands/run.ts'
import { loadConfig } from '../../controller/config/load.ts'
import { createMetrics } from '../../controller/telemetry/metrics.ts'
import { TIMINGS } from '../../controller/vcenter/timings.ts'
import { until } from '../fixtures/until.ts'
import { openSoap } from '../servers/soap.ts'
import { vsphereConf } from '../world/controller.ts'
import { condition, eventsOf, isInitialized } from '../world/objects.ts'
import { serviceAccountToken, writeTokenKubeconfig } from '../world/service-account.ts'
import { LABELS, openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 3 })
const { cluster, dir, events, nodes, reports, vcsim } = stage
const WORDS = /will be retried at \d\d:\d\d UTC so that the account is not locked out/
const ZONE = 'topology.kubernetes.io/zone'
let runs = 0

t.test('the identity source is away, then back: the same password is taken, without a person', async (t) => {
  const away = await vcsim.fault({ operation: 'Login', kind: 'fault', fault: 'InvalidLogin' })
  const member = await stage.reported('waits')
  await start(t)
  const found = () => condition(reports.last(member.name), 'VMFound')
  t.match(await stage.says(member.name, 'VMFound', { reason: 'InvalidLogin' }), {
    status: 'Unknown',
    message: WORDS,
  })
  await events.until('an Event says so', () =>
    eventsOf(events, member.name).some(
      ({ reason, message }) => reason === 'InvalidLogin' && WORDS.test(message),
    ),
  )
  await vcsim.clearFaults(away)
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
  await reports.until('the condition is gone', () => found()?.status === 'True')
})

t.test('somebody else has locked the account: it is taken once that has ended', async (t) => {
  await vcsim.setLockout({ failures: 3, withinSeconds: 60, unlockSeconds: 8 })
  for (let i = 0; i < 3; i++) {
    await using stranger = await openSoap({ ...vcsim, password: 'of a script that nobody maintains' })
    await t.rejects(stranger.login(), /InvalidLogin/)
  }
  t.ok(await vcsim.isLocked())
  const member = await stage.reported('locked-out')
  await start(t)
  await stage.says(member.name, 'VMFound', { reason: 'InvalidLogin' })
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
})

t.test(
  'REST refuses the password with which the SOAP session was made: tags come when it does no more',
  async (t) => {
    const operation = 'REST POST /rest/com/vmware/cis/session'
    const refuses = await vcsim.fault({ operation, kind: 'status', status: 401 })
    const member = await stage.reported('without-zone')
    await start(t)
    await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
    t.equal(nodes.last(member.name)?.metadata.labels[ZONE], undefined)
    await reports.until('it is told', () => /REST/.test(JSON.stringify(reports.last(member.name)?.status)))
    t.match(JSON.stringify(reports.last(member.name)?.status), WORDS)
    await vcsim.clearFaults(refuses)
    await until('it has its zone', () => nodes.last(member.name)?.metadata.labels[ZONE] !== undefined)
  },
)

/** Runs a controller until the test ends. */
async function start(t: Test): Promise<void> {
  runs += 1
  const path = `${dir}/run-${runs}.conf`
  await writeFile(path, vsphereConf(vcsim, { labels: LABELS }), { mode: 0o600 })
  const token = await serviceAccountToken(cluster, 'rollcall-controller')
  const kubeconfig = await writeTokenKubeconfig(`${dir}/run-${runs}.kubeconfig`, cluster, token)
  const source = {
    path,
    readFile: (file: string) => readFile(file),
    readFolder: (folder: string) => readdir(folder),
  }
  const pause = { base: 6_000, max: 6_000 }
  const ending = new AbortController()
  const running = run(
    {
      config: { ...source, loaded: await loadConfig(source) },
      credentials: { kind: 'kubeconfig', path: kubeconfig },
      lease: { namespace: 'kube-system', name: 'rollcall-controller' },
      identity: `run-${runs}`,
      listen: { host: '127.0.0.1', port: 0 },
      version: 'test',
      clock: systemClock,
      random: Math.random,
      logger: pino({ level: 'silent' }),
      metrics: createMetrics({ version: 'test', lease: 'test', clock: systemClock }),
      memory: { resident: () => 0, release: () => 0 },
      timings: { ...TIMINGS, refusedLogin: pause, refusedREST: pause },
    },
    ending.signal,
  )
  t.teardown(async () => {
    ending.abort()
    await running
  })
}
