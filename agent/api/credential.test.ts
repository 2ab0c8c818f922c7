import { execFileSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeRoot, plant } from '../testing/root.ts'
import { CredentialError, inClusterCredential, kubeconfigCredential } from './credential.ts'

function config(cluster: object, user: object): string {
  return JSON.stringify({
    'current-context': 'c',
    contexts: [{ name: 'other' }, { name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: 'https://10.0.0.1:6443', ...cluster } }],
    users: [{ name: 'u', user }],
  })
}

const base64 = (text: string) => Buffer.from(text).toString('base64')
const SECRET = 'c2VjcmV0'

t.test('as a kubelet has it', async (t) => {
  const root = makeRoot(t, {
    'kubelet.conf': `
apiVersion: v1
kind: Config
current-context: system:node:n1@k
contexts: [{name: "system:node:n1@k", context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "https://api.example:6443/prefix", certificate-authority-data: ${base64('CA')}, tls-server-name: name}}]
users: [{name: u, user: {client-certificate: pki/current.pem, client-key: pki/current.pem}}]
`,
    'pki/current.pem': 'ONE',
  })
  const source = kubeconfigCredential([join(root, 'kubelet.conf')])
  const expected = {
    server: new URL('https://api.example:6443/prefix'),
    ca: 'CA',
    serverName: 'name',
    clientCertificate: { cert: 'ONE', key: 'ONE' },
    token: undefined,
  }
  t.same(await source(), expected)
  plant(root, { 'pki/current.pem': 'TWO' })
  t.same(
    (await source()).clientCertificate,
    { cert: 'TWO', key: 'TWO' },
    'a rotated certificate counts at once',
  )
  plant(root, { 'kubelet.conf': config({}, { token: 'x' }) })
  t.match(await source(), { token: 'x', clientCertificate: undefined }, 'so does a rewritten kubeconfig')
})

t.test('of several files the first that is there counts', async (t) => {
  const root = makeRoot(t)
  const paths = ['kubelet.conf', 'k3s', 'rke2'].map((name) => join(root, name))
  const source = kubeconfigCredential(paths)
  await t.rejects(source(), {
    message: `no kubelet has joined a cluster yet, none of these is there: ${paths.join(', ')}`,
  })
  plant(root, { rke2: config({}, { token: 'rke2' }) })
  t.match(await source(), { token: 'rke2' })
  plant(root, { k3s: config({}, { token: 'k3s' }) })
  t.match(await source(), { token: 'k3s' })
})

t.test('users', async (t) => {
  const root = makeRoot(t, { token: 'from file\n' })
  const path = join(root, 'k')
  for (const [name, user, expected] of [
    ['a token', { token: 'x' }, { token: 'x' }],
    ['a token file before a token', { token: 'x', tokenFile: 'token' }, { token: 'from file' }],
    [
      'data before files',
      { 'client-certificate-data': base64('C'), 'client-key-data': base64('K'), 'client-key': '/nowhere' },
      { clientCertificate: { cert: 'C', key: 'K' } },
    ],
  ] as const) {
    plant(root, { k: config({}, user) })
    t.match(await kubeconfigCredential([path])(), expected, name)
  }
})

t.test('what is wrong is said without quoting', async (t) => {
  const root = makeRoot(t)
  const path = join(root, 'k')
  for (const [name, text, message] of [
    ['missing', undefined, /kubeconfig .* is not there$/],
    ['empty', '', /has no current-context/],
    ['not YAML', `a: [${SECRET}`, /is not YAML$/],
    ['no cluster', '{"current-context": "c"}', /has no server address$/],
    ['a server that is no address', config({ server: SECRET }, {}), /has no server address$/],
    ['http', config({ server: 'http://10.0.0.1' }, { token: SECRET }), /server is not an https address$/],
    [
      'no check of the server',
      config({ 'insecure-skip-tls-verify': true }, { token: SECRET }),
      /name the CA/,
    ],
    [
      'a proxy',
      config({ 'proxy-url': `http://u:${SECRET}@proxy` }, { token: SECRET }),
      /proxy-url is not supported: name the API server directly$/,
    ],
    [
      'a program',
      config({}, { exec: { command: SECRET } }),
      /exec is not supported: use a client certificate/,
    ],
    ['a plugin', config({}, { 'auth-provider': { name: SECRET } }), /auth-provider is not supported/],
    ['nobody', config({}, {}), /neither a client certificate nor a token$/],
    ['half a certificate', config({}, { 'client-certificate-data': SECRET }), /not both$/],
    [
      'a certificate that is not there',
      config({}, { 'client-certificate': 'x' }),
      /client-certificate .*x is not there$/,
    ],
    [
      'a CA that is not there',
      config({ 'certificate-authority': 'ca' }, { token: SECRET }),
      /authority .*ca is not there$/,
    ],
  ] as const) {
    rmSync(path, { force: true })
    if (text !== undefined) plant(root, { k: text })
    const error: unknown = await kubeconfigCredential([path])().catch((cause: unknown) => cause)
    t.ok(error instanceof CredentialError, name)
    t.match(error, { message })
    t.notMatch(error, { message: new RegExp(SECRET) })
  }
})

t.test('what is no regular file is not waited for', { timeout: 10_000 }, async (t) => {
  const root = makeRoot(t)
  const fifo = join(root, 'fifo')
  execFileSync('mkfifo', [fifo])
  const refused = { name: 'CredentialError', message: /fifo cannot be read: not a regular file$/ }
  await t.rejects(kubeconfigCredential([fifo])(), refused)
  for (const [cluster, user] of [
    [{}, { tokenFile: fifo }],
    [{ 'certificate-authority': fifo }, { token: 'x' }],
    [{}, { 'client-certificate': fifo, 'client-key': fifo }],
  ] as const) {
    plant(root, { k: config(cluster, user) })
    await t.rejects(kubeconfigCredential([join(root, 'k')])(), refused)
  }
  plant(root, { long: ' '.repeat((1 << 20) + 1) })
  await t.rejects(kubeconfigCredential([join(root, 'long')])(), { message: /longer than/ })
})

t.test('in a pod', async (t) => {
  const folder = makeRoot(t, { token: 'one\n', 'ca.crt': 'CA' })
  const source = inClusterCredential({ host: 'fd00::1', port: '443', folder })
  t.match(await source(), { server: new URL('https://[fd00::1]:443'), ca: 'CA', token: 'one' })
  plant(folder, { token: 'two' })
  t.match(await source(), { token: 'two' }, 'a renewed token counts at once')
  plant(folder, { token: '' })
  await t.rejects(source(), { name: 'CredentialError', message: /token is empty$/ })
  rmSync(join(folder, 'token'))
  await t.rejects(source(), { name: 'CredentialError', message: /token is not there$/ })
  await t.rejects(inClusterCredential({ host: undefined, port: undefined, folder })(), {
    message: /--kubeconfig/,
  })
  await t.rejects(inClusterCredential({ host: 'x y', port: '443', folder })(), { name: 'CredentialError' })
})
