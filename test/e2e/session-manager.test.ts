// A Secret with a session manager's URL and token alone, as the CPI has it: sessions are cloned, and no password is known.
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { applyManifest, readManifests } from '../servers/manifests.ts'
import { startSessionManager } from '../servers/session-manager.ts'
import { vsphereConf } from '../world/controller.ts'
import { becomes, metric, UP } from '../world/meters.ts'
import { condition, isInitialized } from '../world/objects.ts'
import { LABELS, openStage } from '../world/stage.ts'

const NAME = 'vsphere-cloud-secret'
const stage = await openStage(t, { vms: 6, password: 'marker-password' })
const { cluster, events, nodes, reports, vcsim } = stage
const manager = await startSessionManager({ vcsim, dir: stage.dir, token: 'marker-token' })
t.teardown(() => manager.stop())

const [, ...rights] = await readManifests('../credentials.example.yaml')
for (const right of rights) await applyManifest(cluster, right)

const caFile = join(stage.dir, 'both.pem')
const certificates = [vcsim.certificateFile, manager.caFile].map((file) => readFile(file, 'utf8'))
await writeFile(caFile, (await Promise.all(certificates)).join('\n'))
const config = vsphereConf({ ...vcsim, certificateFile: caFile }, { labels: LABELS })
  .replace(/^ *(user|password): .*\n/gm, '')
  .concat(`global: {secretName: ${NAME}, secretNamespace: kube-system}\n`)

const clones = async () => (await vcsim.calls()).operations.CloneSession ?? 0

await write('marker-token')
const controller = await stage.controller({ config })

await t.test('a Node gets its labels, zone and region too, through a clone alone', async (t) => {
  await initialized('first')
  t.equal(await clones(), 1)
  t.equal((await vcsim.logins()).length, 1, 'that of the session manager')
  t.match(await vcsim.sessions(), { soap: 2, rest: 0 })
  t.equal(await metric(controller, 'rollcall_vcenter_credential_usable{vcenter="main"}'), 1)
})

await t.test('the session ends: a ticket more, and a new clone', async (t) => {
  await vcsim.endSessions()
  await initialized('second')
  t.equal(await clones(), 2)
  t.equal(manager.tickets.length, 2)
})

await t.test('a refused token: said, not sent again, and a changed one is used', async (t) => {
  const before = manager.authorizations.length
  manager.token = 'marker-next'
  await vcsim.endSessions()
  await stage.reported('waits')
  await reports.until('its report says so', () => {
    const said = condition(reports.last('waits'), 'VMFound')
    return (
      said?.reason === 'InvalidLogin' &&
      /^the session manager of the Secret kube-system\/vsphere-cloud-secret under "\S+\.vc-session-manager-url" refuses the configured token; will be retried at \d\d:\d\d UTC .*check the token, and the session manager's log$/.test(
        said.message,
      )
    )
  })
  await stage.told('waits', 'InvalidLogin')
  t.match(await controller.readyz(), /^vCenter main: InvalidLogin/)
  t.equal(manager.authorizations.length, before + 1)
  await write('marker-next')
  await controller.says(/"changed":\["token"\].*credential loaded/)
  await becomes(controller, UP, 1)
  await nodes.until('it is initialized', () => isInitialized(nodes.last('waits')))
  t.equal(manager.authorizations.length, before + 2)
})

await t.test('a session manager that fails has a name, and passes by itself', async () => {
  manager.misbehave = (_, response) => response.writeHead(503).end('marker-answer')
  await vcsim.endSessions()
  await stage.reported('held-up')
  await reports.until('its report says so', () => {
    const said = condition(reports.last('held-up'), 'VMFound')
    return (
      said?.reason === 'SessionManagerFailed' &&
      /HTTP status 503; see its log; will be retried at/.test(said.message)
    )
  })
  manager.misbehave = undefined
  await nodes.until('it is initialized', () => isInitialized(nodes.last('held-up')))
})

const said: string[] = []

await t.test(
  'its own session is logged out at the end, and that of the session manager lives on',
  async (t) => {
    said.push(await controller.metrics(), await controller.readyz())
    await controller.stop()
    said.push(controller.output())
    t.match(await vcsim.sessions(), { soap: 1, rest: 0 })
  },
)

await t.test(
  'vCenter does not take the clone at its REST interface: no zone, and the Node says why',
  async (t) => {
    await vcsim.fault({
      operation: 'REST POST /rest/com/vmware/cis/tagging/tag-association',
      kind: 'status',
      status: 401,
    })
    const older = await stage.controller({ config, identity: 'controller-1' })
    await stage.reported('untagged')
    await nodes.until('it is initialized', () => isInitialized(nodes.last('untagged')))
    await reports.until('its report says why', () => {
      const resolved = condition(reports.last('untagged'), 'TopologyResolved')
      return (
        resolved?.reason === 'TagsUnreadable' &&
        /does not take the session of the session manager .* vSphere 8\.0 U3 or later/.test(resolved.message)
      )
    })
    t.equal(nodes.last('untagged')?.metadata.labels['topology.kubernetes.io/zone'], undefined)
    said.push(older.output())
  },
)

await t.test('neither password, token nor ticket is ever said', async (t) => {
  const all = [...said, JSON.stringify([events.versions, reports.versions, nodes.versions])].join('\n')
  t.ok(manager.tickets.length > 2)
  for (const secret of ['marker-', ...manager.tickets]) t.notOk(all.includes(secret))
})

async function write(token: string): Promise<void> {
  const encoded = (text: string) => Buffer.from(`${text}\n`).toString('base64')
  const data = {
    [`${vcsim.host}.vc-session-manager-url`]: encoded(manager.url),
    [`${vcsim.host}.vc-session-manager-token`]: encoded(token),
  }
  const metadata = { name: NAME, namespace: 'kube-system' }
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, data }
  await applyManifest(cluster, secret)
}

async function initialized(name: string): Promise<void> {
  await stage.initialized(name)
  await nodes.until(`${name} has its zone`, () => {
    const found = nodes.last(name)?.metadata.labels ?? {}
    return /^zone-[ab]$/.test(found['topology.kubernetes.io/zone'] ?? '')
  })
  t.equal(nodes.last(name)?.metadata.labels['topology.kubernetes.io/region'], 'region-1')
}
