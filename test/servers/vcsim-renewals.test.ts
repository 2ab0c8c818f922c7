import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:tls'
import t from 'tap'
import { until } from '../fixtures/until.ts'
import { openSoap } from './soap.ts'
import { startVcsim, type Vcsim } from './vcsim.ts'

/** SHA-256 thumbprint of the certificate that a client is shown. */
function shown({ host, port }: Vcsim): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, rejectUnauthorized: false }, () => {
      resolve(socket.getPeerCertificate().fingerprint256)
      socket.destroy()
    }).on('error', reject)
  })
}

t.test('a password is changed: the former is refused from then on', async (t) => {
  const vcsim = await startVcsim({ vms: 1, password: 'old' })
  t.teardown(() => vcsim.stop())
  t.match(await vcsim.govc('ls'), /DC0/)
  await vcsim.setPassword('new')
  await t.rejects(vcsim.govc('ls'), /incorrect user name or password|Login failure/i)
  const user = vcsim.username
  t.same(await vcsim.logins(), [
    { user, password: 'old', accepted: true },
    { user, password: 'old', accepted: false },
  ])
})

t.test('failures lock an account, for a while, and for the right password too', async (t) => {
  const vcsim = await startVcsim({ vms: 1, password: 'right' })
  t.teardown(() => vcsim.stop())
  const login = async (password: string) => {
    await using client = await openSoap({ ...vcsim, password })
    await client.login()
  }
  for (let i = 0; i < 3; i++) await t.rejects(login('wrong'))
  await login('right')
  await vcsim.setLockout({ failures: 3, withinSeconds: 60, unlockSeconds: 2 })
  for (let i = 0; i < 2; i++) await t.rejects(login('wrong'))
  await login('right')
  for (let i = 0; i < 2; i++) await t.rejects(login('wrong'))
  t.notOk(await vcsim.isLocked(), 'a success has ended the count')
  await t.rejects(login('wrong'))
  t.ok(await vcsim.isLocked())
  await t.rejects(login('right'), /InvalidLogin/)
  await until('it is unlocked', async () => !(await vcsim.isLocked()))
  await login('right')
})

t.test('a certificate is renewed: whoever connects is shown the new one', async (t) => {
  const vcsim = await startVcsim({ vms: 1 })
  t.teardown(() => vcsim.stop())
  t.equal(await shown(vcsim), vcsim.thumbprint256)
  // A certificate has whole seconds.
  const before = Math.floor(Date.now() / 1000) * 1000
  const renewed = await vcsim.makeCertificate({ validSeconds: 3600 })
  const madeAt = renewed.validToDate.getTime() - 3_600_000
  t.ok(madeAt >= before && madeAt <= Date.now(), 'valid for an hour from then on')
  t.not(renewed.fingerprint256, vcsim.thumbprint256)
  t.equal(await shown(vcsim), vcsim.thumbprint256, 'not yet')
  await vcsim.showCertificate()
  t.equal(await shown(vcsim), renewed.fingerprint256)
  t.equal(new X509Certificate(await readFile(vcsim.certificateFile)).fingerprint256, renewed.fingerprint256)
  t.match(await vcsim.govc('ls'), /DC0/)
})
