/** `rollcall-controller bundle`: everything for a bug report is in one file, and no credential is. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import type { VCenterRecording } from '../../controller/inspect/recording/record-vcenter.ts'
import { vsphereConf } from '../world/controller.ts'
import { lease } from '../world/leadership.ts'
import { builtProgram, startProgram } from '../world/program.ts'
import { LABELS, openStage } from '../world/stage.ts'

const PASSWORD = 'correct-horse-7f3a"\\x'
const USER_IN_SECRET = 'planted-user-31c9'
const PASSWORD_IN_SECRET = 'planted-password-88f1'
const TOKEN = 'planted-token-5d20'
const stage = await openStage(t, { vms: 2, password: PASSWORD })
const { cluster, vcsim } = stage
const config = vsphereConf(vcsim, { labels: LABELS, datacenters: ['DC0'] })
const controller = await stage.controller({ config })
await stage.initialized('worker-1')
const { file, kubeconfig } = await plant()
const env = {
  VSPHERE_SPARE_PASSWORD: 'planted-environment-77aa',
  HTTPS_PROXY: 'http://planted-proxy:planted-proxy-12ef@proxy.example.com:3128',
  NO_PROXY: '127.0.0.1',
}
const PLANTED = [PASSWORD, USER_IN_SECRET, PASSWORD_IN_SECRET, 'planted-', TOKEN]

t.test('one file has all that a report needs, and no secret', async (t) => {
  const path = join(stage.dir, 'bundle.txt')
  const { code, said, output } = await bundle(`--file=${path}`, '--yes')
  t.equal(code, 0, output)
  t.match(said, `${path} is written`)
  const text = await readFile(path, 'utf8')
  t.equal((await stat(path)).mode & 0o777, 0o600)
  for (const title of [
    'versions',
    'configuration',
    'doctor',
    'status',
    'reports',
    'metrics of the leader',
    'log of the leader',
  ])
    t.match(text, `===== ${title} =====`)
  t.match(text, /^API server: v\d/m)
  t.match(text, /^agents of version .*: 1$/m)
  t.match(text, '"password": "[redacted]"')
  t.match(text, /^ok +vCenter main: login/m)
  t.match(text, /^main +DC0_C0 .* worker-1 /m)
  t.match(text, /^\{"metadata":\{"name":"worker-1".*"conditions"/m)
  // The API server has the leader's Pod, which no kubelet runs: its log is empty, and it has no address.
  t.match(
    text,
    /===== metrics of the leader =====\n\ncould not be read: GET .*\/proxy\/metrics .* address not allowed/,
  )
  t.match(text, /===== log of the leader =====\n\n\n/)
  for (const secret of PLANTED) t.notOk(holds(text + output, secret), secret)
})

t.test('a file is never written over, and nobody is asked who is not there', async (t) => {
  const path = join(stage.dir, 'bundle.txt')
  await writeFile(path, 'mine')
  const again = await bundle(`--file=${path}`, '--yes')
  t.equal(again.code, 1)
  t.match(again.said, /bundle\.txt is there already: remove it, or name another file with --file/)
  t.equal(await readFile(path, 'utf8'), 'mine')
  const unasked = await bundle(`--file=${path}.other`)
  t.equal(unasked.code, 1)
  t.match(unasked.said, /nobody can be asked whether to write the file: give --yes, or --file=-/)
})

t.test('without a cluster and with a mistake in the file, it says so in the sections', async (t) => {
  const wrong = join(stage.dir, 'wrong.conf')
  await writeFile(
    wrong,
    config.replace('port:', 'prot:').replace(/server: .*/, 'server: https://u:planted-in-server@vc/sdk'),
  )
  const all = ['bundle', `--config=${wrong}`, '--kubeconfig=/nowhere', '--file=-']
  await using program = startProgram({ command: await builtProgram('rollcall-controller'), args: all, env })
  t.equal((await program.ended).code, 0)
  t.match(program.output(), /prot: .*did you mean/)
  t.match(program.output(), /===== status =====\s+could not be read: cannot read the kubeconfig/)
  for (const secret of PLANTED) t.notOk(holds(program.output(), secret), secret)
})

t.test('of a vCenter it has what that answers, without a name of the site', async (t) => {
  const { code, text, output } = await bundle('--vcenter=main', '--file=-')
  t.equal(code, 0, output)
  // As printRecording writes it.
  const recording = JSON.parse(text) as VCenterRecording
  t.equal(recording.vms.length, 1)
  t.ok(recording.exchanges.length > 30)
  for (const secret of [
    ...PLANTED,
    vcsim.username,
    'worker-',
    'DC0',
    ...stage.vms.flatMap((vm) => [vm.uuid, vm.instanceUuid, vm.host]),
  ])
    t.notOk(holds(text, secret), secret)
  const unknown = await bundle('--vcenter=mian', '--file=-')
  t.equal(unknown.code, 1)
  t.match(unknown.said, '--vcenter: the configuration has edge, shared, main')
})

t.test('it is shown, and written when a person says so', async (t) => {
  const path = join(stage.dir, 'asked.json')
  const command = [
    await builtProgram('rollcall-controller'),
    'bundle',
    `--config=${file}`,
    '--vcenter=main',
    `--file=${path}`,
  ]
  const answer = async (line: string) => {
    // A terminal.
    const { stdout, code } = await new Promise<{ stdout: string; code: number | null }>((resolve) => {
      const child = execFile(
        'script',
        ['-qec', command.join(' '), '/dev/null'],
        {
          env: { ...env, KUBECONFIG: kubeconfig, PATH: process.env.PATH ?? '', SHELL: '/bin/sh' },
          maxBuffer: 64 << 20,
        },
        (_, stdout) => resolve({ stdout, code: child.exitCode }),
      )
      let said = ''
      child.stdout?.on('data', (text: string) => {
        if (!said.includes('[y/N]') && (said + text).includes('[y/N]')) child.stdin?.end(line)
        said = (said + text).slice(-1000)
      })
    })
    return { stdout, code }
  }
  const no = await answer('n\n')
  t.equal(no.code, 1)
  t.match(no.stdout, '"recording": 1')
  t.match(no.stdout, /Read the above\. Write it to .*asked\.json\? \[y\/N\]/)
  t.match(no.stdout, 'nothing was written')
  t.notOk(existsSync(path))
  const yes = await answer('y\n')
  t.equal(yes.code, 0, yes.stdout.slice(-500))
  const [shown] = yes.stdout.replaceAll('\r\n', '\n').split('Read the above.')
  t.equal(await readFile(path, 'utf8'), shown, 'what is written is what was shown')
})

t.teardown(() => controller.kill('SIGTERM'))

/** Plants what must not be seen: in Secrets, in the kubeconfig, in an annotation. Returns the paths of the files that name them. */
async function plant() {
  // A second vCenter, of which a Secret has what must not be seen.
  const SECRETS = '/api/v1/namespaces/kube-system/secrets'
  await cluster.request('POST', SECRETS, {
    metadata: { name: 'edge' },
    stringData: { '127.0.0.1.username': USER_IN_SECRET, '127.0.0.1.password': PASSWORD_IN_SECRET },
  })
  await cluster.request('POST', SECRETS, {
    metadata: { name: 'shared' },
    stringData: {
      '127.0.0.2.vc-session-manager-url': 'https://planted-url-user:planted-url-pw@127.0.0.2:1/planted-path',
      '127.0.0.2.vc-session-manager-token': 'planted-manager-token',
    },
  })
  const file = join(stage.dir, 'with-secret.conf')
  await writeFile(
    file,
    config.replace(
      /^vcenter:\n/,
      'vcenter:\n  edge:\n    server: 127.0.0.1\n    port: 1\n    insecureFlag: true\n    secretName: edge\n    secretNamespace: kube-system\n' +
        '  shared:\n    server: 127.0.0.2\n    port: 1\n    insecureFlag: true\n    secretName: shared\n    secretNamespace: kube-system\n',
    ),
  )
  // The kubeconfig has a token that nothing needs.
  const kubeconfig = join(stage.dir, 'with-token.kubeconfig')
  await writeFile(
    kubeconfig,
    `${await readFile(cluster.adminKubeconfig, 'utf8')}\n# ${TOKEN}\n`.replace(
      'users:',
      `users:\n  - name: other\n    user: {token: ${TOKEN}}`,
    ),
  )
  await stage.patch('worker-1', { metadata: { annotations: { planted: TOKEN } } })
  const { holderIdentity } = await lease(cluster)
  await cluster.request('POST', '/api/v1/namespaces/kube-system/pods', {
    metadata: { name: holderIdentity.replace(/_[^_]*$/, '') },
    spec: { automountServiceAccountToken: false, containers: [{ name: 'controller', image: 'x' }] },
  })
  return { file, kubeconfig }
}

async function bundle(...args: readonly string[]) {
  const all = ['bundle', `--config=${file}`, `--kubeconfig=${kubeconfig}`, ...args]
  await using program = startProgram({ command: await builtProgram('rollcall-controller'), args: all, env })
  const { code } = await program.ended
  return { code, text: program.stdout.join('\n'), said: program.stderr.join('\n'), output: program.output() }
}

/** As text and as each form that it could be written in. */
function holds(text: string, secret: string): boolean {
  return [secret, JSON.stringify(secret).slice(1, -1), Buffer.from(secret).toString('base64')].some((form) =>
    text.includes(form),
  )
}
