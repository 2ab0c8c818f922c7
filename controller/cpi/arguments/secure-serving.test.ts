import t from 'tap'
import { failed } from '../../../agent/shared/result.ts'
import { parseFlags } from './flags.ts'
import { secureServing } from './secure-serving.ts'
import { FLAGS } from './table.ts'

function read(...args: string[]) {
  const { given, problems } = parseFlags(args, FLAGS)
  return problems.length === 0 ? secureServing(given) : failed(problems.join('; '))
}
const value = (...args: string[]) => {
  const serving = read(...args)
  if (!serving.ok) throw new Error(serving.message)
  return serving.value
}
const message = (...args: string[]) => {
  const serving = read(...args)
  return serving.ok ? 'taken' : serving.message
}

t.test('the HTTPS port is open unless it is turned off', async (t) => {
  t.strictSame(value(), {
    port: 10258,
    certificate: { kind: 'memory' },
    tls: { minVersion: 'TLSv1.2' },
    clientCA: { kind: 'cluster' },
    authenticationKubeconfig: undefined,
    authorizationKubeconfig: undefined,
    alwaysAllow: ['/healthz', '/readyz', '/livez'],
    ttl: { token: 10_000, allowed: 10_000, denied: 10_000 },
  })
  t.equal(value('--secure-port=0', '--tls-cert-file=/c'), undefined)
  t.match(
    value(
      '--secure-port=1',
      '--authorization-always-allow-paths=metrics,/health*',
      '--authentication-kubeconfig=/k',
    ),
    { port: 1, alwaysAllow: ['/metrics', '/health*'], authenticationKubeconfig: '/k' },
  )
  t.match(message('--secure-port=70000'), /^--secure-port: expected a port/)
})

t.test('where the certificate comes from', async (t) => {
  const files = { kind: 'files', certFile: '/c', keyFile: '/k' }
  t.same(value('--cert-dir=/d', '--tls-cert-file=/c', '--tls-private-key-file=/k')?.certificate, files)
  t.same(value('--cert-dir=/d')?.certificate, { kind: 'folder', folder: '/d' })
  t.match(message('--tls-cert-file=/c'), /belong together: give both or neither$/)
  t.match(message('--tls-private-key-file=/k'), /belong together/)
})

t.test('whose client certificates are believed', async (t) => {
  const clientCA = (...args: string[]) => value(...args)?.clientCA
  t.same(clientCA('--client-ca-file='), { kind: 'cluster' })
  t.same(clientCA('--authentication-skip-lookup'), { kind: 'none' })
  t.same(clientCA('--authentication-skip-lookup', '--client-ca-file=/ca'), { kind: 'file', path: '/ca' })
})

t.test('versions, cipher suites and curves', async (t) => {
  const tls = (...args: string[]) => value(...args)?.tls
  t.same(tls('--tls-min-version=VersionTLS13'), { minVersion: 'TLSv1.3' })
  t.match(message('--tls-min-version=VersionTLS10'), /^--tls-min-version: TLS before 1\.2 is not supported/)
  t.match(message('--tls-min-version=1.2'), /^--tls-min-version: expected VersionTLS12 or VersionTLS13$/)
  const names = [
    ['TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256', 'ECDHE-RSA-AES128-GCM-SHA256'],
    ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384', 'ECDHE-ECDSA-AES256-GCM-SHA384'],
    ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305', 'ECDHE-RSA-CHACHA20-POLY1305'],
    ['TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'],
    ['TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA', 'ECDHE-RSA-AES128-SHA'],
    ['TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256', 'ECDHE-ECDSA-AES128-SHA256'],
    ['TLS_RSA_WITH_AES_256_GCM_SHA384', 'AES256-GCM-SHA384'],
  ]
  const of13 = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256'
  for (const [theirs, ours] of names)
    t.equal(tls(`--tls-cipher-suites=${theirs}`)?.ciphers, `${of13}:${ours}`)
  t.equal(tls('--tls-cipher-suites=TLS_AES_128_GCM_SHA256')?.ciphers, of13)
  for (const suite of [
    'TLS_RSA_WITH_RC4_128_SHA',
    'TLS_RSA_WITH_3DES_EDE_CBC_SHA',
    'ECDHE-RSA-AES128-SHA',
    'x',
  ])
    t.match(
      message(`--tls-cipher-suites=${suite}`),
      /^--tls-cipher-suites: one of them is not supported/,
      suite,
    )
  t.equal(tls('--tls-curve-preferences=29,23')?.ecdhCurve, 'X25519:P-256')
  t.match(message('--tls-curve-preferences=1'), /^--tls-curve-preferences: expected numbers from 23, /)
})
