// User and password in a Secret, as the CPI has them: it comes late, changes, goes, and is wrong.
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import { applyManifest, readManifests } from '../servers/manifests.ts'
import { type Controller, vsphereConf } from '../world/controller.ts'
import { loginsOf } from '../world/deletion.ts'
import { becomes, metric } from '../world/meters.ts'
import { condition, isInitialized } from '../world/objects.ts'
import { runProgram } from '../world/program.ts'
import { mountSecret } from '../world/secret-mount.ts'
import { openStage } from '../world/stage.ts'

const NAME = 'vsphere-cloud-secret'
const USABLE = 'rollcall_vcenter_credential_usable{vcenter="main"}'
const stage = await openStage(t, { vms: 8, password: 'marker-first' })
const { cluster, events, nodes, reports, vcsim } = stage
const config = vsphereConf(vcsim)
  .replace(/^ *(user|password): .*\n/gm, '')
  .concat(`global: {secretName: ${NAME}, secretNamespace: kube-system}\n`)
const key = (what: string) => `${vcsim.host}.${what}`
const kubeconfig = await cluster.kubeconfig({ user: 'ann', groups: ['system:masters'] })
const [, ...rights] = await readManifests('../credentials.example.yaml')

await t.test(
  'neither the right to read it, nor the Secret, nor its keys: each told, and mended live',
  async (t) => {
    const { controller, attempts } = await open(t)
    const member = await stage.reported('waits')
    const isTold = async (words: RegExp) => {
      const fits = (said: { reason: string; message: string } | undefined) =>
        said?.reason === 'NoCredential' && words.test(said.message)
      await reports.until(`its report says ${words}`, () =>
        fits(condition(reports.last(member.name), 'VMFound')),
      )
      t.match(condition(reports.last(member.name), 'Initialized'), {
        status: 'False',
        reason: 'NoCredential',
      })
      await controller.says(/"error":"no user and password for .*"msg":"no credential"/)
      t.match(await controller.readyz(), /^vCenter main: NoCredential\n.*no user and password; see the log/)
      t.equal((await fetch(`${controller.url}/readyz`)).status, 503)
      t.equal(await metric(controller, USABLE), 0)
    }
    await isTold(
      /the Secret kube-system\/vsphere-cloud-secret cannot be read \(permission denied\): .*credentials\.example\.yaml/,
    )
    for (const right of rights) await applyManifest(cluster, right)
    await isTold(/vsphere-cloud-secret does not exist: create it/)
    t.equal(await metric(controller, 'rollcall_nodes_held_up{condition="VMFound",reason="NoCredential"}'), 1)
    await stage.told(member.name, 'NoCredential')
    await write({ [key('username')]: vcsim.username, 'vc.password': 'marker-first', other: 'marker-other' })
    await isTold(
      new RegExp(
        `has no key "${key('password')}", only "${key('username')}", "other", "vc.password": add it`,
      ),
    )
    t.same(await attempts(), [])
    await write(credential('marker-first'))
    await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
    t.equal(await metric(controller, USABLE), 1)
    t.equal((await controller.readyz()).trim(), 'leading')
    t.same(await attempts(), ['marker-first accepted'])
  },
)

await t.test('a new password, in either order, without a restart and without a login too many', async (t) => {
  const { controller, attempts } = await open(t)
  await stage.initialized('before')
  await vcsim.setPassword('marker-second')
  await write(credential('marker-second'))
  await controller.says(/"changed":\["password"\].*credential loaded/)
  await stage.initialized('between')
  t.same(await attempts(), ['marker-first accepted'], 'the session lives on')
  await vcsim.endSessions()
  await stage.initialized('after')
  t.same(await attempts(), ['marker-first accepted', 'marker-second accepted'])
  await write(credential('marker-third'))
  await until('it is loaded', () => controller.output().split('credential loaded').length === 4)
  await vcsim.setPassword('marker-third')
  await vcsim.endSessions()
  await stage.initialized('and-back')
  t.same((await attempts()).slice(2), ['marker-third accepted'])
})

await t.test('the Secret is spoilt, then deleted: the last one stays in use, and it is said', async (t) => {
  const { controller, attempts } = await open(t)
  await becomes(controller, USABLE, 1)
  const standby = await stage.controller({ config, labels: {}, identity: 'standby', until: 'answering' }, t)
  await becomes(standby, USABLE, 1)
  await write({ [key('username')]: vcsim.username, [key('password')]: '' })
  await becomes(controller, USABLE, 0)
  await controller.says(/has nothing under .*password.*no credential any more; the last one stays in use/)
  await cluster.request('DELETE', `/api/v1/namespaces/kube-system/secrets/${NAME}`)
  await controller.says(/vsphere-cloud-secret does not exist.*no credential any more/)
  t.match(
    await controller.readyz(),
    /vCenter main: its Secret or folder gives no user and password; the last ones stay in use/,
  )
  t.ok(await controller.isReady())
  const status = await until('status says so', async () => {
    const { text } = await runProgram('rollcall-controller', 'status', `--kubeconfig=${kubeconfig}`)
    return /^! vCenter main: its Secret .* the last ones stay in use/m.test(text) && text
  })
  t.match(status, /the last ones stay in use: .* the Secret kube-system\/vsphere-cloud-secret does not exist/)
  t.notMatch(status, /marker/)
  await becomes(standby, USABLE, 0)
  t.match(await standby.readyz(), /^standby; .* leads\nvCenter main: its Secret or folder gives no/)
  await vcsim.endSessions()
  await stage.initialized('without-secret')
  t.ok((await attempts()).every((attempt) => attempt === 'marker-third accepted'))
  // The leader ends as well: a replica that has watched still knows the credential.
  await controller.stop()
  await until('the other one leads', async () => (await standby.readyz()).startsWith('leading'))
  await stage.initialized('by-another')
  const lettered = { server_a: vcsim.host, username_a: vcsim.username, password_a: 'marker-third' }
  // Nearly as much as a Secret may hold.
  await write({ ...lettered, junk: `marker${'\0'.repeat(1_000_000)}` })
  await becomes(standby, USABLE, 1)
  t.equal((await standby.readyz()).trim(), 'leading')
  t.notMatch(controller.output() + standby.output(), /marker/)
  t.notMatch(await standby.metrics(), /marker/)
  t.notMatch(JSON.stringify([events.versions, reports.versions, nodes.versions]), /marker/)
})

await t.test('a folder that is mounted late, and changes', async (t) => {
  const folder = `${stage.dir}/late`
  const controller = await stage.controller({
    config: `${vsphereConf(vcsim).replace(/^ *(user|password): .*\n/gm, '')}global: {secretsDirectory: ${folder}}\n`,
    labels: {},
    until: 'answering',
  })
  await controller.says(/the folder \S+ does not exist: check the path/)
  const secret = await mountSecret(folder, credential('marker-wrong'))
  await until('it is refused', async () =>
    (await controller.readyz()).startsWith('vCenter main: InvalidLogin'),
  )
  await secret.write(credential('marker-third'))
  await stage.initialized('from-a-folder')
  t.equal(await metric(controller, USABLE), 1)
  t.notMatch(controller.output(), /marker/)
})

/** Writes the Secret with these keys and no others. */
async function write(data: Record<string, string>): Promise<void> {
  const encoded = Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')])
  const metadata = { name: NAME, namespace: 'kube-system' }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data: Object.fromEntries(encoded) }
  await applyManifest(cluster, secret)
}

/** Starts a controller on a vCenter whose logins are counted from now on. */
async function open(t: Test): Promise<{ controller: Controller; attempts: () => Promise<string[]> }> {
  const before = (await vcsim.logins()).length
  const controller = await stage.controller({ config, labels: {}, until: 'answering' }, t)
  return { controller, attempts: () => loginsOf(stage, before) }
}

function credential(password: string): Record<string, string> {
  return { [key('username')]: vcsim.username, [key('password')]: `${password}\n` }
}
