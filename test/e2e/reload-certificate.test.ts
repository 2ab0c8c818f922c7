import { readFile } from 'node:fs/promises'
import t, { type Test } from 'tap'
import { until } from '../fixtures/until.ts'
import { type Controller, vsphereConf } from '../world/controller.ts'
import { becomes, metric, UP } from '../world/meters.ts'
import { openStage } from '../world/stage.ts'

// vCenter's certificate is renewed under a controller that runs.
const EXPIRY = 'rollcall_vcenter_certificate_expiry_timestamp_seconds{vcenter="main"}'
const DAY = 24 * 3600
const stage = await openStage(t, { vms: 8 })
const { vcsim } = stage
const trusting = (trust: string) => vsphereConf(vcsim).replace(/caFile: .*/, trust)

t.test('the new CA comes before the certificate: nobody notices', async (t) => {
  const former = await readFile(vcsim.certificateFile, 'utf8')
  const conf = trusting('caFile: ca.pem')
  const { write, controller } = await stage.mounted(t, conf, { 'ca.pem': former })
  await stage.initialized('ca-before')
  await expiresIn(t, controller, 7 * DAY)
  await vcsim.makeCertificate({ validSeconds: 30 * DAY })
  const renewed = await readFile(vcsim.certificateFile, 'utf8')
  await write(conf, { 'ca.pem': former + renewed })
  await controller.says(/"changed":\["vcenter\.main\.trust"\]/)
  await becomes(controller, UP, 1)
  await expiresIn(t, controller, 7 * DAY)
  await renewedQuietly(controller, 30 * DAY)
  await stage.initialized('ca-after')
})

t.test('the new CA comes late: said, and well as soon as it is there', async (t) => {
  const conf = trusting('caFile: ca.pem')
  const former = await readFile(vcsim.certificateFile, 'utf8')
  const { write, controller } = await stage.mounted(t, conf, { 'ca.pem': former })
  await vcsim.makeCertificate({ validSeconds: 20 * DAY })
  await vcsim.showCertificate()
  // The failure is shown when it has lasted for 10 s.
  await until('vCenter fails', async () =>
    (await controller.readyz()).startsWith('vCenter main: CertificateNotTrusted'),
  )
  await expiresIn(t, controller, 20 * DAY)
  await write(conf, { 'ca.pem': await readFile(vcsim.certificateFile, 'utf8') })
  await becomes(controller, UP, 1)
  await stage.initialized('ca-late')
})

t.test('a CA file that is no certificate: the one before stays in force', async (t) => {
  const conf = trusting('caFile: ca.pem')
  const former = await readFile(vcsim.certificateFile, 'utf8')
  const { write, controller } = await stage.mounted(t, conf, { 'ca.pem': former })
  await write(conf, { 'ca.pem': former.slice(0, 200) })
  await controller.says(/configuration refused/)
  await stage.initialized('ca-broken')
  t.equal(await metric(controller, 'rollcall_config_valid'), 0)
})

t.test('two thumbprints: the certificate changes from one to the other without a word', async (t) => {
  const { fingerprint256: first } = await vcsim.makeCertificate({ validSeconds: 5 * DAY })
  await vcsim.showCertificate()
  const { write, controller } = await stage.mounted(t, trusting(`thumbprint: "${first}"`))
  await stage.initialized('one-thumbprint')
  await expiresIn(t, controller, 5 * DAY)
  const { fingerprint256: second } = await vcsim.makeCertificate({ validSeconds: 60 * DAY })
  await write(trusting(`thumbprint: ["${first}", "${second}"]`))
  await controller.says(/"changed":\["vcenter\.main\.trust"\]/)
  await becomes(controller, UP, 1)
  await renewedQuietly(controller, 60 * DAY)
  await stage.initialized('two-thumbprints')
})

t.test('without any check, it is known when the certificate expires', async (t) => {
  const { controller } = await stage.mounted(t, trusting('insecureFlag: true'))
  await stage.initialized('insecure')
  await expiresIn(t, controller, 60 * DAY)
})

/** Whether the metric says when a certificate with so many seconds to live expires. */
async function expiresIn(t: Test, controller: Controller, seconds: number): Promise<void> {
  const left = ((await metric(controller, EXPIRY)) ?? 0) - Date.now() / 1000
  t.ok(Math.abs(left - seconds) < 90, `${left.toFixed()} of ${seconds} s are left`)
}

/** Shows the certificate that was made, waits until it is seen, and expects that nothing was said of it. */
async function renewedQuietly(controller: Controller, seconds: number): Promise<void> {
  const { Login } = (await vcsim.calls()).operations
  await vcsim.showCertificate()
  await until('the new one is seen', async () => {
    const left = ((await metric(controller, EXPIRY)) ?? 0) - Date.now() / 1000
    return Math.abs(left - seconds) < 90
  })
  await becomes(controller, UP, 1)
  if ((await vcsim.calls()).operations.Login !== Login) throw new Error('a new session was made')
  if (/NotTrusted|WrongThumbprint/.test(controller.output())) throw new Error(controller.output())
}
