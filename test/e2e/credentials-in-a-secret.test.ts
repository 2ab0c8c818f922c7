// User and password in a Secret, as the CPI has them: it comes late, changes, goes, and is wrong.
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import { applyManifest, readManifests } from '../servers/manifests.ts'
import { type Controller, vsphereConf } from '../world/controller.ts'
import { loginsOf } from '../world/deletion.ts'
import { readyz } from '../world/leadership.ts'
import { metric } from '../world/meters.ts'
import { condition, eventsOf, isInitialized } from '../world/objects.ts'
import { mountSecret } from '../world/secret-mount.ts'
import { openStage } from '../world/stage.ts'

const NAME = 'vsphere-cloud-secret'
const PATH = '/api/v1/namespaces/kube-system/secrets'
const stage = await openStage(t, { vms: 8, password: 'marker-first' })
const { cluster, events, nodes, reports, vcsim } = stage
const config = vsphereConf(vcsim)
  .replace(/^ *(user|password): .*\n/gm, '')
  .concat(`global: {secretName: ${NAME}, secretNamespace: kube-system}\n`)
const key = (what: string) => `${vcsim.host}.${what}`
const [, ...rights] = await readManifests('../credentials.example.yaml')

/** Writes the Secret with these keys and no others. */
async function write(data: Record<string, string>): Promise<void> {
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: NAME, namespace: 'kube-system' },
    data: Object.fromEntries(
      Object.entries(data).map(([name, text]) => [name, Buffer.from(text).toString('base64')]),
    ),
  }
  const { status } = await cluster.request('PUT', `${PATH}/${NAME}`, secret)
  if (status === 404) await cluster.request('POST', PATH, secret)
}

const credential = (password: string) => ({
  [key('username')]: vcsim.username,
  [key('password')]: `${password}\n`,
})
const remove = () => cluster.request('DELETE', `${PATH}/${NAME}`)
const usable = (controller: Controller) =>
  metric(controller, 'rollcall_vcenter_credential_usable{vcenter="main"}')
const becomes = (controller: Controller, value: 0 | 1) =>
  until(`its credential is usable: ${value}`, async () => (await usable(controller)) === value)

/** Starts a controller on a vCenter whose logins are counted from now on. */
async function open(t: Test): Promise<{ controller: Controller; attempts: () => Promise<string[]> }> {
  const before = (await vcsim.logins()).length
  const controller = await stage.controller({ config, labels: {}, until: 'answering' })
  t.teardown(() => controller.stop())
  return {
    controller,
    attempts: () => loginsOf(stage, before),
  }
}

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
      await controller.says(/"error":"no login at .*"msg":"no credential"/)
      t.match(await readyz(controller), /^vCenter main: NoCredential\n.*no user and password; see the log/)
      t.equal((await fetch(`${controller.url}/readyz`)).status, 503)
      t.equal(await usable(controller), 0)
    }
    await isTold(/the Secret kube-system\/vsphere-cloud-secret may not be read: .*credentials\.example\.yaml/)
    for (const right of rights) await applyManifest(cluster, right)
    await isTold(/vsphere-cloud-secret does not exist: create it/)
    t.equal(await metric(controller, 'rollcall_nodes_held_up{condition="VMFound",reason="NoCredential"}'), 1)
    await events.until('an Event says so', () =>
      eventsOf(events, member.name).some(({ reason }) => reason === 'NoCredential'),
    )
    await write({ [key('username')]: vcsim.username, 'vc.password': 'marker-first', other: 'marker-other' })
    await isTold(
      new RegExp(
        `has no key "${key('password')}", only "${key('username')}", "other", "vc.password": add it`,
      ),
    )
    t.same(await attempts(), [])
    await write(credential('marker-first'))
    await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
    t.equal(await usable(controller), 1)
    t.equal((await readyz(controller)).trim(), 'leading')
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
  await becomes(controller, 1)
  const standby = await stage.controller({ config, labels: {}, identity: 'standby', until: 'answering' })
  t.teardown(() => standby.stop())
  await becomes(standby, 1)
  await write({ [key('username')]: vcsim.username, [key('password')]: '' })
  await becomes(controller, 0)
  await controller.says(/has nothing under .*password.*no credential any more, the last one stays in use/)
  await remove()
  await controller.says(/vsphere-cloud-secret does not exist.*no credential any more/)
  t.match(await readyz(controller), /vCenter main: its Secret or folder gives no user and password any more/)
  t.equal((await fetch(`${controller.url}/readyz`)).status, 200)
  await becomes(standby, 0)
  t.match(await readyz(standby), /^standby; .* leads\nvCenter main: its Secret or folder gives no/)
  await vcsim.endSessions()
  await stage.initialized('without-secret')
  t.ok((await attempts()).every((attempt) => attempt === 'marker-third accepted'))
  // The leader ends as well: a replica that has watched still knows the credential.
  await controller.stop()
  await until('the other one leads', async () => (await readyz(standby)).startsWith('leading'))
  await stage.initialized('by-another')
  const lettered = { server_a: vcsim.host, username_a: vcsim.username, password_a: 'marker-third' }
  // Nearly as much as a Secret may hold.
  await write({ ...lettered, junk: `marker${'\0'.repeat(1_000_000)}` })
  await becomes(standby, 1)
  t.equal((await readyz(standby)).trim(), 'leading')
  t.notMatch(controller.output() + standby.output(), /marker/)
  t.notMatch(await (await fetch(`${standby.url}/metrics`)).text(), /marker/)
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
    (await readyz(controller)).startsWith('vCenter main: InvalidLogin'),
  )
  await secret.write(credential('marker-third'))
  await stage.initialized('from-a-folder')
  t.equal(await usable(controller), 1)
  t.notMatch(controller.output(), /marker/)
})
