import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { systemClock } from '../../../agent/shared/clock.ts'
import { createCertificateAuthority } from '../../../test/servers/pki.ts'
import { gatherBundle } from './bundle.ts'
import { withoutSecrets } from './redact.ts'

const TOKEN = 'planted-token-0d11'
const PASSWORD = 'planted-password-44b0'

const ANSWERS: Readonly<Record<string, string>> = {
  '/version': JSON.stringify({ gitVersion: 'v1.36.2', platform: 'linux/amd64' }),
  '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/rollcall-controller': JSON.stringify({
    metadata: { resourceVersion: '1', name: 'rollcall-controller' },
    spec: {
      holderIdentity: 'rollcall-controller-abc_1f',
      leaseDurationSeconds: 15,
      renewTime: '2026-01-01T00:00:00.000000Z',
    },
  }),
  '/api/v1/pods': JSON.stringify({
    metadata: { resourceVersion: '1' },
    items: [
      {
        metadata: { name: 'rollcall-controller-abc', namespace: 'vsphere' },
        spec: {
          containers: [
            { name: 'sidecar' },
            { name: 'controller', ports: [{ name: 'http', containerPort: 10271 }] },
          ],
        },
      },
    ],
  }),
  '/api/v1/namespaces/vsphere/pods/rollcall-controller-abc/log': [
    '{"level":"info","msg":"following"}',
    `{"level":"warn","error":"https://user:${PASSWORD}-x@proxy.example.com said Bearer abcdefgh12345678"}`,
    `{"level":"warn","error":"${Buffer.from(PASSWORD).toString('base64')}"}`,
  ].join('\n'),
  '/api/v1/namespaces/vsphere/pods/rollcall-controller-abc:10271/proxy/metrics': 'rollcall_leader 1\n',
}

/** The bundle of a cluster that gives these answers, and what it was asked for. */
async function gather(
  t: Test,
  answers: Readonly<Record<string, string>>,
  login = `user: u, password: ${PASSWORD}`,
) {
  const asked: string[] = []
  const dir = t.testdir()
  const ca = await createCertificateAuthority(dir)
  const { certificateFile, keyFile } = await ca.serving('api')
  const [cert, key] = await Promise.all([readFile(certificateFile), readFile(keyFile)])
  const server = createServer({ cert, key }, (request, response) => {
    const url = new URL(request.url ?? '', 'http://x')
    asked.push(`${url.pathname}${url.search}`)
    const answer = url.searchParams.has('previous') ? undefined : answers[url.pathname]
    response.writeHead(answer === undefined ? 404 : 200).end(answer ?? 'nothing')
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => server.closeAllConnections())
  t.teardown(() => server.close())
  // A TCP server's address is not text.
  const { port } = server.address() as AddressInfo
  const kubeconfig = join(dir, 'kubeconfig')
  await writeFile(
    kubeconfig,
    `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "https://127.0.0.1:${port}", certificate-authority: ${ca.caFile}}}],` +
      ` users: [{name: a, user: {token: ${TOKEN}}}], contexts: [{name: a, context: {cluster: a, user: a}}]}`,
  )
  const conf = `vcenter: {main: {server: 127.0.0.1, port: 1, ${login}, insecureFlag: true}}`
  const text = await gatherBundle(
    {
      clock: systemClock,
      random: Math.random,
      logger: pino({ level: 'silent' }),
      config: {
        path: '/etc/vsphere.conf',
        readFile: async () => Buffer.from(conf),
        readFolder: async () => [],
        environment: {},
      },
      configSecret: { namespace: 'kube-system', name: 'rollcall-config' },
      credentials: { ok: true, value: { kind: 'kubeconfig', path: kubeconfig } },
      lease: { namespace: 'kube-system', name: 'rollcall-controller' },
      version: '1.2.3',
      status: async () => 'the table\n',
    },
    new AbortController().signal,
  )
  return { asked, text }
}

t.test('the leader is asked for its log and its metrics, and what is a secret in them is cut', async (t) => {
  const { asked, text } = await gather(t, ANSWERS)
  t.match(text, 'this program: 1.2.3\n')
  t.match(text, 'rollcall_leader 1')
  t.match(text, '"msg":"following"')
  t.match(text, 'https://[redacted]@proxy.example.com said Bearer [redacted]')
  t.match(text, '{"level":"warn","error":"[redacted]"}')
  t.match(
    text,
    /log of the leader, before its last restart =====\n\ncould not be read: GET .* was answered with 404/,
  )
  t.match(text, '===== status =====\n\nthe table\n')
  t.ok(asked.some((path) => path.endsWith('/log?container=controller&tailLines=5000')))
  for (const secret of [TOKEN, PASSWORD]) t.notMatch(text, secret)
})

t.test('of a password that cannot be read it says that it did not look for it', async (t) => {
  const { text } = await gather(t, ANSWERS, 'secretName: s, secretNamespace: n')
  t.match(
    text,
    /^the password for vCenter main could not be read, so nobody has looked for it in this text\n\n=====/,
  )
})

t.test('whoever writes the Lease cannot choose what is read in the name of a Pod', async (t) => {
  const lease = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/rollcall-controller'
  const holder = 'rollcall-controller-abc,spec.nodeName!=/../../secrets?_1f'
  const { asked, text } = await gather(t, {
    ...ANSWERS,
    [lease]: ANSWERS[lease]?.replace('rollcall-controller-abc_1f', holder) ?? '',
    '/api/v1/namespaces/vsphere/secrets': 'all Secrets',
  })
  t.notMatch(text, 'all Secrets')
  t.same(
    asked.filter((path) => path.includes('secrets?')),
    [],
  )
})

t.test('a secret is cut in each form that it may have', async (t) => {
  const secret = 'p"w\\d é/1'
  const text = [
    secret,
    JSON.stringify({ secret }),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64'),
  ].join('\n')
  t.equal(withoutSecrets(text, [secret]), '[redacted]\n{"secret":"[redacted]"}\n[redacted]\n[redacted]')
  t.equal(withoutSecrets('as it is', ['']), 'as it is')
  const other = 'p<w>&\'"1\\é'
  for (const form of [
    JSON.stringify({ a: JSON.stringify({ other }) }),
    'p\\u003cw\\u003e\\u0026\'\\"1\\\\é',
    'p&lt;w&gt;&amp;&apos;&quot;1\\é',
    ...['', 'u', 'us', 'user:'].map((before) => Buffer.from(`${before}${other}\n`).toString('base64')),
    Buffer.from(`u${other}`).toString('base64url'),
  ])
    t.match(withoutSecrets(`say ${form} so`, [other]), /^say [^ ]*\[redacted\][^ ]{0,9} so$/, form)
  t.equal(withoutSecrets('https://u:p@ss@proxy/', []), 'https://[redacted]@proxy/')
  const token = `eyJhbGciOiJSUzI1NiJ9.${'a'.repeat(40)}.${'b'.repeat(40)}`
  t.equal(withoutSecrets(`x ${token} y`, []), 'x [redacted] y')
  const key = '-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----'
  t.equal(withoutSecrets(`x ${key} y`, []), 'x [redacted] y')
})
