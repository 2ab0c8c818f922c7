import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createHandClock } from '../../test/fixtures/hand-clock.ts'
import { createExecPlugin, type ExecPluginOptions } from './exec-plugin.ts'
import { readKubeconfig } from './kubeconfig.ts'

const VERSION = 'client.authentication.k8s.io/v1'
const MARKER = 'MARKERSECRET'

/** What a plugin prints, as a shell command. */
function prints(status: object, apiVersion = VERSION): string {
  return `echo '${JSON.stringify({ apiVersion, kind: 'ExecCredential', status })}'`
}

/** A plugin that is this shell script, which notes each of its runs in the file `runs`. */
function scripted(
  t: Test,
  script: string,
  changes: Partial<ExecPluginOptions> = {},
): { readonly options: ExecPluginOptions; readonly dir: string; runs(): number } {
  const dir = t.testdir({ 'plugin.sh': `echo run >>runs\n${script}\n` })
  const options: ExecPluginOptions = {
    kubeconfig: '/kube/config',
    apiVersion: VERSION,
    command: 'sh',
    args: ['-c', `cd ${dir} && . ./plugin.sh`],
    env: {},
    cluster: undefined,
    ...changes,
  }
  const runs = () =>
    existsSync(`${dir}/runs`) ? readFileSync(`${dir}/runs`, 'utf8').split('\n').length - 1 : 0
  return { options, dir, runs }
}

t.test('what a plugin is told', async (t) => {
  const says = `printf %s "$KUBERNETES_EXEC_INFO" >info; printf %s "$HOME:$REGION" >env; cat >stdin; ${prints({ token: 'a' })}`
  const { options, dir } = scripted(t, says, { env: { REGION: 'eu' } })
  const told = async (changes: Partial<ExecPluginOptions>) => {
    await createExecPlugin({ ...options, ...changes }, createHandClock()).credential()
    return JSON.parse(readFileSync(`${dir}/info`, 'utf8'))
  }
  const bare = { apiVersion: VERSION, kind: 'ExecCredential', spec: { interactive: false } }
  t.strictSame(await told({}), bare)
  t.equal(readFileSync(`${dir}/env`, 'utf8'), `${process.env.HOME}:eu`)
  t.equal(readFileSync(`${dir}/stdin`, 'utf8'), '')

  writeFileSync(`${dir}/ca.crt`, 'PEM')
  const cluster = {
    server: 'https://192.0.2.1:6443',
    caFile: `${dir}/ca.crt`,
    tlsServerName: 'api',
    config: { audience: 'x' },
  }
  const info = {
    server: cluster.server,
    'tls-server-name': 'api',
    'certificate-authority-data': Buffer.from('PEM').toString('base64'),
    config: cluster.config,
  }
  t.strictSame(await told({ cluster }), { ...bare, spec: { interactive: false, cluster: info } })
  const { caFile: _, ...inline } = cluster
  t.match(await told({ cluster: { ...inline, caData: 'UEVN' } }), {
    spec: { cluster: { 'certificate-authority-data': 'UEVN' } },
  })
})

t.test('one run serves all who wait, and those after them until it expires', async (t) => {
  const clock = createHandClock()
  const expirationTimestamp = new Date(clock.now() + 60_000).toISOString()
  const { options, dir, runs } = scripted(
    t,
    `until [ -e go ]; do sleep 0.02; done; ${prints({ token: 'a', expirationTimestamp })}`,
  )
  const plugin = createExecPlugin(options, clock)
  const waiting = [plugin.credential(), plugin.credential(), plugin.credential()]
  writeFileSync(`${dir}/go`, '')
  const [first, ...others] = await Promise.all(waiting)
  t.same(first, { token: 'a', certificate: undefined })
  for (const other of others) t.equal(other, first)
  await clock.turn(60_000)
  t.equal(await plugin.credential(), first)
  t.equal(runs(), 1)
  await clock.turn(1)
  t.not(await plugin.credential(), first)
  t.equal(runs(), 2)
})

t.test('a credential that does not expire is replaced when it is refused', async (t) => {
  const { options, runs } = scripted(t, prints({ clientCertificateData: 'C', clientKeyData: 'K' }))
  const plugin = createExecPlugin(options, createHandClock())
  const first = await plugin.credential()
  t.same(first.certificate, { cert: 'C', key: 'K' })
  t.equal(await plugin.credential(), first)
  plugin.refuse(first)
  const second = await plugin.credential()
  t.equal(runs(), 2)
  plugin.refuse(first)
  t.equal(await plugin.credential(), second, 'the refusal of an earlier one does not touch it')
})

t.test('a plugin that gives nothing: what is said, and that none of its words are', async (t) => {
  const printed: readonly [string, RegExp][] = [
    [`echo ${MARKER}; echo ${MARKER} >&2; exit 3`, /failed \(exit code 3\): see what it says: kubectl --kub/],
    ['kill -KILL $$', /failed \(SIGKILL\)/],
    [`echo ${MARKER}`, /printed something that is not an ExecCredential of client\S+\/v1: correct /],
    [prints({ token: MARKER }, 'client.authentication.k8s.io/v1beta1'), /printed something that is not/],
    [prints({ token: MARKER, expirationTimestamp: 'soon' }), /printed something that is not/],
    [prints({ clientKeyData: MARKER }), /gave only one of certificate and key/],
    [prints({}), /gave neither a token nor a certificate/],
    ['head -c 300000 /dev/zero', /printed more than 256 KiB/],
  ]
  for (const [script, message] of printed) {
    const { options } = scripted(t, script)
    const error = await createExecPlugin(options, createHandClock())
      .credential()
      .catch((reason: unknown) => reason)
    t.match(error, { message }, script)
    t.match(error, { message: /^the credential plugin of the kubeconfig \/kube\/config / })
    t.notMatch(String(error), MARKER)
  }
  const { options } = scripted(t, '', { command: 'no-such-plugin' })
  await t.rejects(createExecPlugin(options, createHandClock()).credential(), {
    message: /cannot be started \(ENOENT\): install it, or correct users\[\]\.user\.exec\.command$/,
  })
})

t.test('a plugin that hangs is ended, and run again for the next who asks', async (t) => {
  const { options, dir, runs } = scripted(t, `[ -e go ] || sleep 600; ${prints({ token: 'a' })}`)
  const plugin = createExecPlugin(options, createHandClock(), 3000)
  await t.rejects(Promise.all([plugin.credential(), plugin.credential()]), {
    message: /gave no credential within 3 s; it must ask nobody anything/,
  })
  writeFileSync(`${dir}/go`, '')
  t.match(await plugin.credential(), { token: 'a' })
  t.ok(runs() <= 2)
})

t.test('a run ends with its client', async (t) => {
  const { options, dir } = scripted(t, 'echo $$ >pid; sleep 600')
  const plugin = createExecPlugin(options, createHandClock())
  const asked = t.rejects(plugin.credential())
  while (!existsSync(`${dir}/pid`) || readFileSync(`${dir}/pid`, 'utf8') === '') await sleep(10)
  plugin.close()
  await asked
})

t.test('what is taken of a kubeconfig', async (t) => {
  const dir = t.testdir()
  const path = `${dir}/kubeconfig`
  const extensions = [{ name: 'client.authentication.k8s.io/exec', extension: { audience: 'x' } }]
  const pluginOf = (exec: object, others: object = {}) => {
    const config = {
      clusters: [{ name: 'c', cluster: { server: 'https://a', extensions } }],
      users: [{ name: 'u', user: { exec: { apiVersion: VERSION, command: 'a', ...exec }, ...others } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }
    writeFileSync(path, JSON.stringify(config))
    return readKubeconfig(path).plugin
  }
  const plain = { kubeconfig: path, apiVersion: VERSION, command: 'a', args: [], env: {}, cluster: undefined }
  t.strictSame(pluginOf({}), plain)
  t.equal(pluginOf({ command: './bin/a' })?.command, `${dir}/bin/a`)
  t.match(
    pluginOf({
      args: ['b'],
      env: [{ name: 'C', value: 'd' }],
      provideClusterInfo: true,
      interactiveMode: 'Never',
    }),
    { args: ['b'], env: { C: 'd' }, cluster: { server: 'https://a', config: { audience: 'x' } } },
  )
  for (const other of [{ token: 'x' }, { username: 'x' }, { 'client-certificate': 'x' }, { tokenFile: 'x' }])
    t.equal(pluginOf({}, other), undefined, 'another credential is preferred, as by client-go')
  for (const [exec, message] of [
    [{ apiVersion: 'client.authentication.k8s.io/v1alpha1' }, /has an exec plugin of another API version: /],
    [{ command: '' }, /has an exec plugin without a command/],
    [{ interactiveMode: 'Always' }, /has an exec plugin that asks a person/],
    [{ args: [1] }, /has a wrong type of value at user\.exec\.args\.0/],
  ] as const) {
    t.throws(() => pluginOf(exec), { message })
  }
  for (const provider of ['gcp', 'azure', 'exec'])
    t.throws(() => pluginOf({}, { 'auth-provider': { name: provider } }), { message: /other than oidc/ })
})
