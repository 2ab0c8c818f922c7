import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { mock } from 'node:test'
import { connect as connectTLS } from 'node:tls'
import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { resolveToBothFamilies } from '../../test/fixtures/dual-stack.ts'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { openSlowLink } from '../../test/fixtures/slow-link.ts'
import { until } from '../../test/fixtures/until.ts'
import { borrowCluster } from '../../test/servers/pool/borrow.ts'
import { createKubeClient, type KubeClient } from './client.ts'
import { Credentials } from './credentials.ts'

const cluster = await borrowCluster()
t.teardown(() => cluster.stop())
const signal = new AbortController().signal

async function whoAmI(client: KubeClient): Promise<string> {
  const review = await client.request({
    method: 'POST',
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
    signal,
  })
  return (review as { status: { userInfo: { username: string } } }).status.userInfo.username
}

t.test('a client certificate that is renewed', async (t) => {
  const dir = t.testdir()
  const use = async (user: string) => {
    const files = await cluster.clientCertificate({ user, groups: [] })
    await copyFile(files.certificateFile, `${dir}/client.crt`)
    await copyFile(files.keyFile, `${dir}/client.key`)
  }
  const kubeconfig = kubeconfigWith(dir, { 'client-certificate': 'client.crt', 'client-key': 'client.key' })
  await use('before')
  const clock = createHandClock()
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path: kubeconfig },
    clock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  t.equal(await whoAmI(client), 'before')

  const stop = new AbortController()
  const watch = { method: 'GET', path: '/version', signal: stop.signal } as const
  const stream = await client.stream(watch, 60_000)
  await use('after')
  t.equal(await whoAmI(client), 'before', 'the files are not read for each request')
  await clock.turn(1_000)
  t.equal(await whoAmI(client), 'after')
  t.equal(await whoAmI(client), 'after')
  let length = 0
  for await (const piece of stream) length += piece.length
  t.ok(length > 0, 'what was under way on the old connections ends there')
})

t.test('a service account whose token is renewed', async (t) => {
  const dir = t.testdir({ 'ca.crt': await readFile(cluster.caFile) })
  const use = async (name: string) => {
    const path = '/api/v1/namespaces/default/serviceaccounts'
    await cluster.request('POST', path, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } })
    const { body } = await cluster.request<{ status: { token: string } }>('POST', `${path}/${name}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    })
    await writeFile(`${dir}/token`, body.status.token)
  }
  await use('before')
  const { hostname: host, port } = new URL(cluster.url)
  const clock = createHandClock()
  const client = createKubeClient({
    credentials: { kind: 'in-cluster', host, port, folder: dir },
    clock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  t.equal(await whoAmI(client), 'system:serviceaccount:default:before')
  await use('after')
  await clock.turn(1_000)
  mock.timers.enable({ apis: ['Date'], now: Date.now() + 61_000 })
  t.teardown(() => mock.timers.reset())
  t.equal(await whoAmI(client), 'system:serviceaccount:default:after')
})

t.test('a slow server with addresses of both families, whose own certificate is trusted', async (t) => {
  const { port, hostname: host } = new URL(cluster.url)
  const shown = connectTLS({ host, port: Number(port), rejectUnauthorized: false })
  await once(shown, 'secureConnect')
  const { raw } = shown.getPeerCertificate()
  shown.destroy()
  const link = await openSlowLink(Number(port))
  t.teardown(() => link.close())
  const files = await cluster.clientCertificate({ user: 'far', groups: [] })
  const dir = t.testdir({ 'api.crt': new X509Certificate(raw).toString() })
  const user = { 'client-certificate': files.certificateFile, 'client-key': files.keyFile }
  const path = kubeconfigWith(dir, user, {
    server: `https://api.example:${link.port}`,
    'certificate-authority': 'api.crt',
    'tls-server-name': 'localhost',
  })
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path },
    clock: systemClock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  t.teardown(resolveToBothFamilies())
  await link.fill()
  t.equal(await whoAmI(client), 'far')
})

function kubeconfigWith(
  dir: string,
  user: object,
  to: object = { server: cluster.url, 'certificate-authority': cluster.caFile },
): string {
  const path = `${dir}/kubeconfig`
  writeFileSync(
    path,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: to }],
      users: [{ name: 'u', user }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  )
  return path
}

t.test('a kubeconfig that names a token file, from its own folder', async (t) => {
  const dir = t.testdir()
  const path = '/api/v1/namespaces/default/serviceaccounts'
  await cluster.request('POST', path, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'filed' },
  })
  const { body } = await cluster.request<{ status: { token: string } }>('POST', `${path}/filed/token`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: {},
  })
  writeFileSync(`${dir}/token`, `${body.status.token}\n`)
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path: kubeconfigWith(dir, { tokenFile: 'token' }) },
    clock: systemClock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  t.equal(await whoAmI(client), 'system:serviceaccount:default:filed')
})

t.test('an exec plugin whose token is renewed once the API server refuses it', async (t) => {
  const dir = t.testdir({ output: '' })
  const path = '/api/v1/namespaces/default/serviceaccounts'
  const use = async (name: string) => {
    await cluster.request('POST', path, { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name } })
    const { body } = await cluster.request<{ status: { token: string } }>('POST', `${path}/${name}/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {},
    })
    const status = { token: body.status.token }
    await writeFile(`${dir}/output`, JSON.stringify({ ...exec, kind: 'ExecCredential', status }))
  }
  const exec = { apiVersion: 'client.authentication.k8s.io/v1' }
  const client = createKubeClient({
    credentials: {
      kind: 'kubeconfig',
      path: kubeconfigWith(dir, { exec: { ...exec, command: 'cat', args: [`${dir}/output`] } }),
    },
    clock: systemClock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  await use('plugin-before')
  t.equal(await whoAmI(client), 'system:serviceaccount:default:plugin-before')
  await use('plugin-after')
  t.equal(await whoAmI(client), 'system:serviceaccount:default:plugin-before')
  await cluster.request('DELETE', `${path}/plugin-before`)
  const after = async () => (await whoAmI(client).catch(String)).endsWith(':plugin-after')
  t.ok(await until('the token is refused, and the plugin run again', after))
})

t.test('an exec plugin that gives a client certificate', async (t) => {
  const files = await cluster.clientCertificate({ user: 'plugged', groups: [] })
  const status = {
    clientCertificateData: await readFile(files.certificateFile, 'utf8'),
    clientKeyData: await readFile(files.keyFile, 'utf8'),
  }
  const exec = { apiVersion: 'client.authentication.k8s.io/v1beta1' }
  const dir = t.testdir({ output: JSON.stringify({ ...exec, kind: 'ExecCredential', status }) })
  const path = kubeconfigWith(dir, { exec: { ...exec, command: 'cat', args: [`${dir}/output`] } })
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path },
    clock: systemClock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  t.equal(await whoAmI(client), 'plugged')
})

t.test('a request that ends while the plugin still runs', async (t) => {
  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'sleep', args: ['600'] }
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path: kubeconfigWith(t.testdir(), { exec }) },
    clock: systemClock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  await t.rejects(client.request({ method: 'GET', path: '/version', timeout: 100, signal }), {
    message: 'GET /version failed: the credential plugin of the kubeconfig has given no credential yet',
  })
})

t.test('a kubeconfig without any credential is refused, not used as nobody', async (t) => {
  const path = kubeconfigWith(t.testdir(), {})
  t.throws(() => Credentials.load({ kind: 'kubeconfig', path }, systemClock), { message: /no credential/ })
})

t.test('an IPv6 address in the environment', async (t) => {
  const credentials = Credentials.load(
    { kind: 'in-cluster', host: 'fd00::1', port: '443', folder: '/x' },
    systemClock,
  )
  t.equal(credentials.server, 'https://[fd00::1]:443')
})

t.test('a CA that has not signed the server', async (t) => {
  const dir = t.testdir({ token: 'x', 'ca.crt': await foreignCa() })
  const { hostname: host, port } = new URL(cluster.url)
  const client = createKubeClient({
    credentials: { kind: 'in-cluster', host, port, folder: dir },
    clock: systemClock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  await t.rejects(whoAmI(client), { message: /selfsubjectreviews failed: .*certificate/ })
})

/** A certificate that is an authority for nothing here. */
async function foreignCa(): Promise<Buffer> {
  const { certificateFile } = await cluster.clientCertificate({ user: 'x', groups: [] })
  return readFile(certificateFile)
}
