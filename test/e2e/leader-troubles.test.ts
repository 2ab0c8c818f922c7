/** What the leader itself lacks, as `status` and `explain` read it with a kubeconfig alone, by the real binaries. */
import { readFile } from 'node:fs/promises'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { applyManifests } from '../servers/manifests.ts'
import { createCertificateAuthority } from '../servers/pki.ts'
import { vsphereConf } from '../world/controller.ts'
import { runProgram } from '../world/program.ts'
import { LABELS, openStage } from '../world/stage.ts'

const stage = await openStage(t, { vms: 2 })
const { cluster, vcsim, events } = stage
const kubeconfig = await cluster.kubeconfig({ user: 'ann', groups: ['system:masters'] })
const good = vsphereConf(vcsim, { labels: LABELS })
const { controller, write } = await stage.mounted(t, good)
await stage.initialized('worker-1')

const said = async (...args: string[]) =>
  `${(await runProgram('rollcall-controller', ...args, `--kubeconfig=${kubeconfig}`)).text}\n`
/** What `status` says, once it says this. */
const status = (pattern: RegExp) =>
  until(`status says ${pattern}`, async () => {
    const text = await said('status')
    return pattern.test(text) && text
  })
const told = () =>
  new Map(
    events.versions
      .filter(({ object }) => object.reason === 'LeaderTroubled')
      .map(({ object }) => [object.metadata.name, object]),
  )

t.test('a leader that works has none', async (t) => {
  t.notMatch(await status(/controller-0_\S+ leads/), /^!/m)
  t.equal(told().size, 0)
  t.match(await said('explain', 'worker-1'), /its VM is powered off: the Node is tainted/)
})

t.test('a configuration that is refused', async (t) => {
  await write(good.replace('server:', 'sever:'))
  const text = await status(/^! .*configuration is refused/m)
  t.match(
    text,
    /^! the changed configuration is refused, and the one before stays in force: .*sever: unknown key.* \(since \S+Z; the leader wrote this at \S+Z\)$/m,
  )
  t.match(await said('explain', 'worker-1'), /^! the changed configuration is refused/m)
  t.match(await controller.readyz(), /^leading\nthe changed configuration is refused.*; see the log$/m)
  await write(good)
  await until('it is not said any more', async () => !/^!/m.test(await said('status')))
})

const FORGED = /^! reports may be forged.*apply policy-own-report\.yaml.* \(since (\S+);/m
let forgedSince: string | undefined

t.test('a policy that is not in force', async (t) => {
  await cluster.request(
    'DELETE',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/own-report.rollcall.dev',
  )
  forgedSince = FORGED.exec(await status(FORGED))?.[1]
  t.ok(forgedSince)
  const heard = controller.stderr.length
  await write(vsphereConf(vcsim, { labels: LABELS, nodes: { externalIP: 'none' } }))
  await until('the changed configuration is loaded', () =>
    controller.stderr.slice(heard).some((line) => line.includes('configuration loaded')),
  )
})

t.test('a vCenter that answers with 503, and one that refuses the login', async (t) => {
  await vcsim.fault({ operation: '*', kind: 'status', status: 503 })
  // By now what is told anew after the change would have been told.
  const text = await status(/^! vCenter main: Unavailable: .* \(since /m)
  t.equal(FORGED.exec(text)?.[1], forgedSince, 'what lasts goes on, whatever is configured')
  await applyManifests(cluster, ['policy-own-report.yaml'])
  const explained = await said('explain', 'worker-1')
  t.match(explained, /^! vCenter main: Unavailable: /m)
  t.match(
    explained,
    /the leader can ask vCenter main again; until then it does not see what happens to the VM/,
  )
  t.notMatch(explained, /the Node is tainted/)
  await vcsim.clearFaults()
  await write(good.replace(/user: .*/, 'user: nobody').replace(/password: .*/, 'password: wrong-7f3a'))
  t.notMatch(await status(/^! vCenter main: InvalidLogin: /m), /wrong-7f3a/)
  await until('the policy is in force again', async () => !FORGED.test(await said('status')))
  t.match(
    await said('doctor', `--config=${controller.configFile}`),
    /^warn +Lease +\S+ leads, and says: .*vCenter main: InvalidLogin: /m,
  )
})

t.test('a vCenter with a certificate of another CA', async (t) => {
  const { caFile } = await createCertificateAuthority(stage.dir)
  await write(good.replace(/caFile: .*/, 'caFile: other.pem'), {
    'other.pem': await readFile(caFile, 'utf8'),
  })
  await status(/^! vCenter main: CertificateNotTrusted: .* is not trusted by the configured CA .* \(since /m)
  t.match(
    await said('explain', 'worker-1'),
    /the leader can ask vCenter main again; until then it does not see what happens to the VM/,
  )
  // It is told once it has lasted.
  await events.until('there is an Event', () =>
    [...told().values()].some(({ message }) => message.includes('NotTrusted')),
  )
  await write(good.replace(/user: .*/, 'user: nobody').replace(/password: .*/, 'password: wrong-7f3a'))
  await status(/^! vCenter main: InvalidLogin: /m)
})

t.test('each was told once', async (t) => {
  const all = [...told().values()]
  for (const pattern of [
    /configuration is refused/,
    /may be forged/,
    /Unavailable/,
    /NotTrusted/,
    /InvalidLogin/,
  ]) {
    await events.until(`there is an Event ${pattern}`, () =>
      [...told().values()].some(({ message }) => pattern.test(message)),
    )
    t.equal([...told().values()].filter(({ message }) => pattern.test(message)).length, 1, String(pattern))
  }
  for (const { type, count, involvedObject } of all)
    t.match({ type, count, involvedObject }, { type: 'Warning', count: 1, involvedObject: { kind: 'Lease' } })
})

t.test(
  'when it has stopped, its last words stand there, and nothing is said of what it would do',
  async (t) => {
    await controller.stop()
    const text = await status(/^! no replica has held the Lease/m)
    t.match(text, /^! no replica has held .* for \d+s: check that rollcall-controller is running/m)
    t.match(text, /^! vCenter main: InvalidLogin: /m)
    const explained = await said('explain', 'worker-1')
    t.match(
      explained,
      /a replica of rollcall-controller becomes the leader; until then nothing changes the Node/,
    )
    t.notMatch(explained, /the Node is tainted|the Node is deleted/)
  },
)
