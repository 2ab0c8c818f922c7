import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import { createCertificateAuthority } from '../servers/pki.ts'
import { freePort } from '../servers/ports.ts'
import { type Controller, vsphereConf } from '../world/controller.ts'
import { condition, eventsOf, isInitialized } from '../world/objects.ts'
import { openStage } from '../world/stage.ts'

// A configuration that is well-formed, and a vCenter that will not have it.
const PASSWORD = 'correct-horse-7f3a'
const stage = await openStage(t, { vms: 2, password: PASSWORD })
const { nodes, reports, events, vcsim } = stage
const member = await stage.reported('waits')
const good = vsphereConf(vcsim)
const ca = await createCertificateAuthority(stage.dir)

const REFS = ['propertyCollector', 'viewManager', 'sessionManager', 'searchIndex']
  .map((name) => `<${name} type="${name[0]?.toUpperCase()}${name.slice(1)}">ha-${name}</${name}>`)
  .join('')
/** How an ESXi host introduces itself. */
const SERVICE_CONTENT =
  '<?xml version="1.0" encoding="UTF-8"?><soapenv:Envelope xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/">' +
  '<soapenv:Body><RetrieveServiceContentResponse xmlns="urn:vim25"><returnval>' +
  '<rootFolder type="Folder">ha-folder-root</rootFolder>' +
  '<about><name>VMware ESXi</name><fullName>VMware ESXi 8.0.3</fullName><apiType>HostAgent</apiType><apiVersion>8.0.3.0</apiVersion></about>' +
  `${REFS}</returnval></RetrieveServiceContentResponse></soapenv:Body></soapenv:Envelope>`

t.test('wrong password: one login, and no more', async (t) => {
  const config = good.replace(PASSWORD, 'wrong-horse-9c1d')
  await vcsim.resetCalls()
  const controller = await isTold(t, config, 'InvalidLogin', /will be retried at \d\d:\d\d UTC .*password/)
  for (const file of ['cmdline', 'environ']) {
    t.notMatch(await readFile(`/proc/${controller.pid}/${file}`, 'utf8'), /horse/, file)
  }
  const failures = () => controller.stderr.filter((line) => line.includes('vCenter failed')).length
  const before = failures()
  await writeFile(controller.configFile, `${config}labels:\n  zone: k8s-zone\n`)
  await until('vCenter is begun anew, and fails', () => failures() > before)
  await controller.stop()
  t.equal((await vcsim.calls()).operations.Login, 1)
  t.equal(eventsOf(events, member.name).find(({ reason }) => reason === 'InvalidLogin')?.count, 1)
  t.notMatch(controller.output(), /horse/)
  t.notMatch(JSON.stringify([events.versions, reports.versions]), /horse/)
})

t.test('an ESXi host is no vCenter', async (t) => {
  const { certificateFile, keyFile } = await ca.serving('esx')
  const server = createServer(
    { cert: await readFile(certificateFile), key: await readFile(keyFile) },
    (_, response) => response.setHeader('content-type', 'text/xml').end(SERVICE_CONTENT),
  )
  const port = await freePort()
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  const config = good.replace(/port: \d+/, `port: ${port}`).replace(/caFile: .*/, `caFile: ${ca.caFile}`)
  await isTold(t, config, 'NotVCenter', /ESX|HostAgent/)
})

t.test('its own password: and all is well', async (t) => {
  const controller = await stage.controller({ config: good }, t)
  await nodes.until('it is initialized', () => isInitialized(nodes.last(member.name)))
  await until('it is ready', () => controller.isReady())
  t.equal(nodes.of(member.name).length, 3)
})

/** Runs a controller with this configuration and expects the waiting Node's condition to have this reason. */
async function isTold(t: Test, config: string, reason: string, message: RegExp): Promise<Controller> {
  const controller = await stage.controller({ config, until: 'answering' }, t)
  const fits = (said: { reason: string; message: string } | undefined) =>
    said?.reason === reason && message.test(said.message)
  await reports.until(`the report says ${reason}`, () =>
    fits(condition(reports.last(member.name), 'VMFound')),
  )
  t.match(condition(reports.last(member.name), 'VMFound'), { status: 'Unknown', reason, message })
  t.match(condition(reports.last(member.name), 'Initialized'), { status: 'False', reason, message })
  await events.until('an Event says so', () => eventsOf(events, member.name).some(fits))
  t.match(eventsOf(events, member.name).filter(fits), [{ type: 'Warning', count: 1 }])
  const readyz = await fetch(`${controller.url}/readyz`)
  t.equal(readyz.status, 503)
  t.match(await readyz.text(), new RegExp(`^vCenter main: ${reason}`))
  t.equal((await fetch(`${controller.url}/healthz`)).status, 200, 'a new start would change nothing')
  t.ok(
    (await controller.metrics()).includes(
      `rollcall_nodes_held_up{condition="VMFound",reason="${reason}"} 1\n`,
    ),
  )
  t.equal(nodes.of(member.name).length, 1, 'the Node is untouched')
  return controller
}
