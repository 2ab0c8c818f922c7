import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { ApiError } from '../../agent/shared/api-error.ts'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { createCertificateAuthority } from '../../test/servers/pki.ts'
import type { KubeClient, KubeRequest } from '../kubernetes/client.ts'
import { loadClientCA } from './client-ca.ts'

const folder = mkdtempSync(join(tmpdir(), 'rollcall-client-ca-'))
t.teardown(() => rmSync(folder, { recursive: true }))
/** A CA's certificate, and one that it signed, which stands for an intermediate's here. */
async function authority() {
  const { caFile, client } = await createCertificateAuthority(folder)
  const root = readFileSync(caFile, 'utf8')
  const { certificateFile } = await client({ user: 'intermediate' })
  return { root, below: readFileSync(certificateFile, 'utf8') }
}
const [{ root: one, below }, { root: two }] = [await authority(), await authority()]

/** A cluster whose ConfigMap has this data; an error is thrown instead. */
function world() {
  const clock = createHandClock()
  const warnings: string[] = []
  const cluster: { data: Record<string, string> | undefined | Error; asked: string[] } = {
    data: {},
    asked: [],
  }
  const client: KubeClient = {
    async request({ method, path }: KubeRequest) {
      cluster.asked.push(`${method} ${path}`)
      if (cluster.data instanceof Error) throw cluster.data
      return { kind: 'ConfigMap', data: cluster.data }
    },
    stream: () => Promise.reject(new Error('not asked for')),
    close: () => Promise.resolve(),
  }
  const logger = pino(
    { level: 'warn' },
    { write: (line) => void warnings.push(String(JSON.parse(line).cause)) },
  )
  return { clock, warnings, cluster, options: { client, clock, random: () => 0.5, logger } }
}

t.test('a file must be there, and is followed', async (t) => {
  const { clock, warnings, options, cluster } = world()
  const path = join(folder, 'client.crt')
  const load = () => loadClientCA({ kind: 'file', path }, options)
  t.throws(load, { message: /^--client-ca-file .*client\.crt: cannot be read: check/ })
  writeFileSync(path, '-----BEGIN PRIVATE KEY-----')
  t.throws(load, {
    message: /client\.crt contains a private key instead of a PEM certificate: expected "[^"]*"$/,
  })
  writeFileSync(path, `a comment\n${one}${two}`)
  const { certificates, watch } = load()
  t.same(certificates, [one.trim(), two.trim()])
  const told: (readonly string[])[] = []
  const ending = new AbortController()
  const watching = watch((found) => told.push(found))(ending.signal)
  await clock.turn(60_000)
  writeFileSync(path, 'half')
  await clock.turn(60_000)
  await clock.turn(60_000)
  t.same(told, [])
  t.equal(warnings.length, 1)
  writeFileSync(path, two)
  await clock.turn(60_000)
  t.same(told, [[two.trim()]])
  ending.abort()
  await watching
  t.same(cluster.asked, [])
})

t.test('the cluster says it, once it can and may be asked', async (t) => {
  const { clock, warnings, options, cluster } = world()
  const { certificates, watch } = loadClientCA({ kind: 'cluster' }, options)
  t.same(certificates, [])
  t.same(cluster.asked, [])
  const told: (readonly string[])[] = []
  const ending = new AbortController()
  cluster.data = new ApiError('no', { status: 403, reason: 'Forbidden' })
  const watching = watch((found) => told.push(found))(ending.signal)
  for (const data of [
    cluster.data,
    new Error('away'),
    {},
    { 'client-ca-file': one },
    { 'client-ca-file': one, 'requestheader-client-ca-file': two },
    new Error('away'),
    { 'client-ca-file': `${one}\n${two}` },
    undefined,
  ]) {
    cluster.data = data
    await clock.turn(60_000)
  }
  t.same(told, [[one.trim()], [one.trim(), two.trim()], []], 'an answer that does not come changes nothing')
  t.match(warnings, [
    /extension-apiserver-authentication-reader.*--authentication-skip-lookup/,
    /^away$/,
    /^away$/,
  ])
  t.equal(
    cluster.asked[0],
    'GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication',
  )
  ending.abort()
  await watching
})

t.test('a CA whose root is not there is told, for nobody would believe it', async (t) => {
  const alone =
    /^certificate 1 of \d is not self-signed, .*: client certificates of it are refused; .*--client-ca-file$/
  const bundles: [string, string, RegExp[]][] = [
    ['alone', below, [alone]],
    ['with the root of another', `${below}${two}`, [alone]],
    ['with its root', `${below}${one}`, []],
    ['only roots', `${one}${two}`, []],
  ]
  for (const [what, bundle, expected] of bundles) {
    const file = world()
    const path = join(folder, 'bundle.crt')
    writeFileSync(path, bundle)
    loadClientCA({ kind: 'file', path }, file.options)
    t.equal(file.warnings.length, expected.length, what)
    t.match(file.warnings, expected, what)
    const { clock, warnings, options, cluster } = world()
    cluster.data = { 'client-ca-file': bundle }
    const ending = new AbortController()
    const watching = loadClientCA({ kind: 'cluster' }, options).watch(() => {})(ending.signal)
    await clock.turn(60_000)
    await clock.turn(60_000)
    t.same(warnings, file.warnings, `${what}, in the cluster, once`)
    ending.abort()
    await watching
  }
})

t.test('where none is wanted nobody is asked', async (t) => {
  const { clock, options, cluster } = world()
  const { certificates, watch } = loadClientCA({ kind: 'none' }, options)
  t.equal(certificates, undefined)
  const ending = new AbortController()
  const watching = watch(() => t.fail('nothing changes'))(ending.signal)
  await clock.turn(60_000)
  t.same(cluster.asked, [])
  ending.abort()
  await watching
})
