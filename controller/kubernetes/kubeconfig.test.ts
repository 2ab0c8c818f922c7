import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { inspect } from 'node:util'
import { pino } from 'pino'
import t from 'tap'
import { systemClock } from '../../agent/shared/clock.ts'
import { createKubeClient } from './client.ts'
import { Credentials } from './credentials.ts'
import { readKubeconfig } from './kubeconfig.ts'

const MARKER = 'MARKERSECRET'

const config = (user: string, cluster = '{server: "https://127.0.0.1:1"}') => `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: ${cluster}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
users:
- name: u
  user:
${user}
`

/** The error of reading this text as a kubeconfig, and its path. */
function refusal(dir: string, text: string | Uint8Array): { path: string; error: Error } {
  const path = `${dir}/kubeconfig`
  writeFileSync(path, text)
  try {
    Credentials.load({ kind: 'kubeconfig', path }, systemClock)
  } catch (error) {
    if (error instanceof Error) return { path, error }
  }
  throw new Error(`not refused: ${text.slice(0, 300)}`)
}

/** All that a log or a person might be shown of an error. */
function shown(error: Error): string {
  const lines: string[] = []
  pino({}, { write: (line: string) => lines.push(line) }).error({ err: error }, 'failed')
  return [error.message, error.stack, inspect(error, { depth: 20, showHidden: true }), ...lines].join('\n')
}

t.test('no error holds a word of the file', (t) => {
  const dir = t.testdir()
  const broken: Record<string, [string, RegExp]> = {
    'a tab': [config(`    token: ${MARKER}\n\tfoo: bar`), /is not YAML \(\w+ in line (9|10)\): correct it$/],
    'a key twice': [
      config(`    token: ${MARKER}\n    token: ${MARKER}2`),
      /is not YAML \(DUPLICATE_KEY in line 10\)/,
    ],
    'an open quote': [config(`    token: "${MARKER}\n    client-key-data: abc`), /is not YAML/],
    'a percent sign': [config(`    token: %${MARKER}`), /is not YAML/],
    'an at sign': [config(`    token: @${MARKER}`), /is not YAML/],
    'a backtick': [config(`    token: \`${MARKER}`), /is not YAML/],
    'a wrong escape': [config(`    token: "\\q${MARKER}"`), /is not YAML/],
    'an asterisk': [config(`    token: *${MARKER}`), /has an alias \(\*\) that names no anchor/],
    'a list': [config(`    token: [${MARKER}]`), /has a wrong type of value at user\.token: correct it$/],
    'a key instead of a value': [
      config(`    token: {${MARKER}: 1}`),
      /has a wrong type of value at user\.token/,
    ],
    'no user but text': [
      config('').replace(/user:\n\s*$/, `user: ${MARKER}\n`),
      /has a wrong type of value at user/,
    ],
    'a list as key': [config(`    ? [${MARKER}]\n    : x`), /no credential/],
    'two documents': [`${config('    {}')}---\ntoken: ${MARKER}`, /is not YAML/],
    'the token alone': [MARKER, /is not a kubeconfig: check the path$/],
    'broken JSON': [`{"users": [{"name": "u", "user": {"token": "${MARKER}"`, /is not YAML/],
    'a server with a password': [
      config('    token: x', `{server: "ftp://${MARKER}@x"}`),
      /has a server that is not an https address/,
    ],
  }
  for (const [name, [text, message]] of Object.entries(broken)) {
    const { path, error } = refusal(dir, text)
    t.ok(error.message.startsWith(`the kubeconfig ${path} `), name)
    t.match(error.message, message, name)
    t.notMatch(shown(error), new RegExp(MARKER), name)
    t.equal(error.cause, undefined, name)
  }
  t.end()
})

t.test('a server that would not be checked is refused', (t) => {
  const dir = t.testdir()
  const cases: readonly [string, RegExp][] = [
    [
      '{server: "https://a", insecure-skip-tls-verify: true}',
      /has insecure-skip-tls-verify, which is not supported/,
    ],
    ['{server: "http://a"}', /has a server that is not an https address/],
    ['{server: "a:6443"}', /has a server that is not an https address/],
    ['{}', /has a server that is not an https address/],
    ['{server: "https://a", proxy-url: "https://b"}', /has a proxy-url, which is not supported/],
  ]
  for (const [cluster, message] of cases) {
    t.match(refusal(dir, config('    token: x', cluster)).error.message, message, cluster)
  }
  t.end()
})

t.test('what is no file, or too large for a kubeconfig', (t) => {
  const dir = t.testdir()
  const pipe = `${dir}/pipe`
  execFileSync('mkfifo', [pipe])
  for (const path of [pipe, dir, '/dev/zero', `${dir}/none`]) {
    t.throws(() => readKubeconfig(path), {
      message: `cannot read the kubeconfig ${path}: check that the file is there and is a kubeconfig`,
    })
  }
  const { error } = refusal(dir, `${config('    token: x')}#${'x'.repeat(1024 * 1024)}`)
  t.match(error, { message: /^cannot read the kubeconfig/, cause: { code: 'EFBIG' } })
  t.end()
})

t.test('what is taken of a right one', (t) => {
  const path = `${t.testdir()}/kubeconfig`
  writeFileSync(
    path,
    config(
      '    client-certificate: a.crt\n    client-key: /b.key\n    tokenFile: t',
      '{server: "https://h:1", certificate-authority: ca.crt, insecure-skip-tls-verify: false}',
    ),
  )
  t.match(readKubeconfig(path), {
    cluster: { name: 'c', server: 'https://h:1', caFile: `${t.testdirName}/ca.crt`, skipTLSVerify: false },
    user: {
      name: 'u',
      certFile: `${t.testdirName}/a.crt`,
      keyFile: '/b.key',
      authProvider: { name: 'tokenFile', config: { tokenFile: `${t.testdirName}/t` } },
    },
  })
  t.end()
})

t.test('what a credential plugin prints instead of JSON is not quoted', async (t) => {
  const path = `${t.testdir()}/kubeconfig`
  writeFileSync(
    path,
    config(`    exec: {apiVersion: client.authentication.k8s.io/v1, command: echo, args: [${MARKER}]}`),
  )
  const client = createKubeClient({
    credentials: { kind: 'kubeconfig', path },
    clock: systemClock,
    userAgent: 'test',
  })
  t.teardown(() => client.close())
  const error = await client
    .request({ method: 'GET', path: '/', signal: new AbortController().signal })
    .catch((reason: unknown) => reason)
  t.match(error, { message: /^GET \/ failed: the credential plugin of the kubeconfig \S+ printed something/ })
  t.ok(error instanceof Error && !shown(error).includes(MARKER))
})

t.test('another context than the current one', async (t) => {
  const path = `${t.testdir()}/kubeconfig`
  const other = 'contexts: [{name: y, context: {cluster: c, user: v}}, '
  writeFileSync(
    path,
    `${config('    token: a').replace('contexts: [', other)}- name: v\n  user: {token: b}\n`,
  )
  t.equal(readKubeconfig(path).user.token, 'a')
  t.equal(readKubeconfig(path, 'y').user.token, 'b')
  t.throws(() => readKubeconfig(path, 'z'), {
    message: /no such context with a cluster: see kubectl config get-c/,
  })
})
