import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { createSelfSigned, type KeyPair, loadServingCertificate } from './serving-certificate.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-certificate-'))
t.teardown(() => rmSync(folder, { recursive: true }))
const options = () => ({ clock: createHandClock(), random: () => 0.5, logger: pino({ level: 'silent' }) })

t.test('a pair of a folder: made once, then read', async (t) => {
  const source = { kind: 'folder', folder: join(folder, 'new') } as const
  const first = await loadServingCertificate(source, options())
  t.same((await loadServingCertificate(source, options())).pair, first.pair)
  t.equal(statSync(join(source.folder, 'cloud-controller-manager.key')).mode & 0o777, 0o600)
  rmSync(join(source.folder, 'cloud-controller-manager.crt'))
  writeFileSync(join(source.folder, 'cloud-controller-manager.crt.new'), 'half')
  const again = await loadServingCertificate(source, options())
  t.equal(again.pair.key, first.pair.key, 'what a process left that died in between is taken over')
  t.same(readdirSync(source.folder).toSorted(), [
    'cloud-controller-manager.crt',
    'cloud-controller-manager.key',
  ])
  rmSync(join(source.folder, 'cloud-controller-manager.crt'))
  writeFileSync(join(source.folder, 'cloud-controller-manager.key'), 'no key')
  await t.rejects(loadServingCertificate(source, options()), { message: /^--cert-dir .*an RSA key alone/ })
  const blocked = join(folder, 'file')
  writeFileSync(blocked, '')
  await t.rejects(loadServingCertificate({ kind: 'folder', folder: blocked }, options()), {
    message: /^--cert-dir .*: cannot write .* there: name a folder/,
  })
})

t.test('files that change are loaded, unless they are wrong', async (t) => {
  const [certFile, keyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  const write = ({ cert, key }: KeyPair) => {
    writeFileSync(certFile, cert)
    writeFileSync(keyFile, key)
  }
  const source = { kind: 'files', certFile, keyFile } as const
  await t.rejects(loadServingCertificate(source, options()), { message: /^cannot read .*tls\.crt: check/ })
  const [one, two] = [await createSelfSigned(0), await createSelfSigned(0)]
  write({ cert: one.cert, key: two.key })
  await t.rejects(loadServingCertificate(source, options()), { message: /check that they belong together$/ })
  write(one)
  const { clock, ...rest } = options()
  const { pair, watch } = await loadServingCertificate(source, { clock, ...rest })
  t.same(pair, one)
  const shown: KeyPair[] = []
  const ending = new AbortController()
  const watching = watch((changed) => shown.push(changed))(ending.signal)
  await clock.turn(60_000)
  t.same(shown, [])
  writeFileSync(certFile, two.cert)
  await clock.turn(60_000)
  t.same(shown, [], 'half of a change')
  writeFileSync(keyFile, two.key)
  await clock.turn(60_000)
  t.same(shown, [two])
  await clock.turn(60_000)
  t.equal(shown.length, 1)
  t.equal(readFileSync(certFile, 'utf8'), two.cert)
  ending.abort()
  await watching
})
