import t from 'tap'
import { DEFAULT_TIMING } from '../../kubernetes/leader-election.ts'
import type { RunFlags } from '../commands/run.ts'
import { COMMANDS } from '../commands/table.ts'
import { HELP, helpOn } from './help.ts'
import { OPTIONS } from './options.ts'
import { parseCommandLine } from './parse-command-line.ts'

const DEFAULT: RunFlags = {
  config: '/c',
  kubeconfig: undefined,
  listen: { host: '', port: 10270 },
  leaseNamespace: 'kube-system',
  leaseName: 'rollcall-controller',
  identity: undefined,
  logLevel: 'info',
  namespace: undefined,
}

const right: readonly [string, Partial<RunFlags>][] = [
  ['run --config /c', {}],
  ['run --config=/c', {}],
  ['run --kubeconfig /k --config /c', { kubeconfig: '/k' }],
  ['run --config /c --listen 127.0.0.1:8080', { listen: { host: '127.0.0.1', port: 8080 } }],
  ['run --config /c --listen [::1]:0', { listen: { host: '::1', port: 0 } }],
  ['run --config /c --listen localhost:1', { listen: { host: 'localhost', port: 1 } }],
  ['run --config /c --listen :1', { listen: { host: '', port: 1 } }],
  ['run --config /c --listen off', { listen: undefined }],
  ['run --config /c --lease-namespace ns-1 --lease-name a.b', { leaseNamespace: 'ns-1', leaseName: 'a.b' }],
  ['run --config /c --identity pod-1_a --log-level debug', { identity: 'pod-1_a', logLevel: 'debug' }],
  ['run --config /c --namespace vsphere', { namespace: 'vsphere' }],
  ['run --config -', { config: '-' }],
]
for (const [line, options] of right) {
  t.same(parseCommandLine(line.split(' ')), { kind: 'run', options: { ...DEFAULT, ...options } }, line)
}

t.same(parseCommandLine(['plan', '--config', '/c', '--output=json']), {
  kind: 'plan',
  options: {
    config: '/c',
    kubeconfig: undefined,
    context: undefined,
    leaseNamespace: 'kube-system',
    leaseName: 'rollcall-controller',
    output: 'json',
    logLevel: 'error',
    fromCPI: false,
  },
})
t.match(parseCommandLine(['plan', '--from-cpi', '--config', '/c']), { options: { fromCPI: true } })

const explained = parseCommandLine(['explain', '--output', 'json', 'node/worker-1.example', '--config=/c'])
t.match(explained, { kind: 'explain', options: { node: 'worker-1.example', config: '/c', output: 'json' } })
t.same(parseCommandLine(['completion', 'zsh']), { kind: 'completion', options: { shell: 'zsh' } })
t.same(parseCommandLine(['__complete', 'plan', '--help']), { kind: 'complete', words: ['plan', '--help'] })
t.same(parseCommandLine(['status', '--watch', '--context=c', '--lease-name', 'l']), {
  kind: 'status',
  options: {
    kubeconfig: undefined,
    context: 'c',
    leaseNamespace: 'kube-system',
    leaseName: 'l',
    output: 'table',
    config: undefined,
    configSecret: { namespace: undefined, name: 'rollcall-config' },
    filter: { names: [], vCenter: undefined, zone: undefined, notReady: false },
    wide: false,
    html: false,
    watch: true,
  },
})
t.same(parseCommandLine(['doctor', '--config', '/c', '--lease-name', 'n', '--output=json']), {
  kind: 'doctor',
  options: {
    config: '/c',
    configSecret: { namespace: undefined, name: 'rollcall-config' },
    kubeconfig: undefined,
    context: undefined,
    leaseNamespace: 'kube-system',
    leaseName: 'n',
    output: 'json',
  },
})
t.match(parseCommandLine(['doctor', '--namespace=ns', '--config-secret', 'mine']), {
  kind: 'doctor',
  options: { config: undefined, configSecret: { namespace: 'ns', name: 'mine' } },
})
t.match(parseCommandLine(['bundle', '--vcenter=main', '--yes']), {
  kind: 'bundle',
  options: { vCenter: 'main', file: 'rollcall-recording.json', yes: true },
})
t.match(parseCommandLine(['bundle', '--file', '-']), {
  kind: 'bundle',
  options: { vCenter: undefined, file: '-', yes: false },
})

t.match(
  parseCommandLine(['status', '-wo', 'wide', 'node/a', '--vcenter', 'main', 'b', '--zone=z', '--not-ready']),
  {
    options: {
      output: 'table',
      filter: { names: ['a', 'b'], vCenter: 'main', zone: 'z', notReady: true },
      wide: true,
      watch: true,
    },
  },
)
for (const json of [['-o', 'json'], ['-ojson'], ['-o=json'], ['--output', 'json']])
  t.match(parseCommandLine(['status', ...json]), { options: { output: 'json', wide: false } }, json.join(' '))
t.match(parseCommandLine(['plan', '--config=c', '-o', 'wide']), {
  message: '--output: expected one of table, json',
})
t.match(parseCommandLine(['status', '-o', 'yaml']), {
  message: '--output: expected one of table, wide, json, html',
})
t.match(parseCommandLine(['status', '-o', 'html', '--config=c']), { options: { html: true, config: 'c' } })
t.match(parseCommandLine(['status', '-o', 'html', '-w']), { message: /^--watch: a page is made once/ })
t.match(parseCommandLine(['status', '-x']), { message: /^unknown option -x/ })
t.match(parseCommandLine(['explain', 'a', 'b']), { message: /expected one NODE/ })

const plain = { timing: DEFAULT_TIMING, apiLimit: undefined, secure: undefined, notices: [] }
const given = { initializes: true, endsNodes: true, nodeLabels: {} }
const cpiForm: readonly [string, Partial<RunFlags>][] = [
  ['--secure-port=0 --cloud-config=/c', {}],
  ['--secure-port=0 --v=4 --cloud-config /c --kubeconfig /k', { kubeconfig: '/k', logLevel: 'debug' }],
  ['--secure-port=0 --cloud-config=/c --bind-address ::1 --listen=off', { listen: undefined }],
  ['--secure-port=0 --cloud-config=/c --listen :1 --bind-address ::1', { listen: { host: '::1', port: 1 } }],
  [
    '--secure-port=0 --cloud-config=/c --listen=127.0.0.1:1 --bind-address=::',
    { listen: { host: '127.0.0.1', port: 1 } },
  ],
  [
    '--secure-port=0 --cloud-config=/c --leader-elect-resource-name=n --leader-elect-resource-namespace=ns',
    { leaseName: 'n', leaseNamespace: 'ns' },
  ],
]
for (const [line, options] of cpiForm) {
  const expected = { kind: 'run', options: { ...DEFAULT, cpi: { ...plain, given }, ...options } }
  t.same(parseCommandLine(line.split(' ')), expected, line)
}

const served = parseCommandLine(['--cloud-config=/c', '--bind-address=127.0.0.1'])
t.match(served, { kind: 'run', options: { cpi: { secure: { host: '127.0.0.1', port: 10258 } } } })

t.same(parseCommandLine(['--help']), { kind: 'help' })
t.same(parseCommandLine(['--cloud-config', '--help']), { kind: 'help on flags' })
t.same(parseCommandLine(['--cloud-config=/c', '--version']), { kind: 'version' })
t.same(
  parseCommandLine(['run', '--confg', 'x', '--help']),
  { kind: 'help on command', command: 'run' },
  'whoever asks for help gets it',
)
t.same(parseCommandLine(['--version']), { kind: 'version' })
t.match(HELP, /^ +rollcall-controller explain NODE \[options\]$/m)
t.match(HELP, /^ +rollcall-controller completion bash\|zsh\|fish\|kubectl$/m)
for (const command of ['run', 'plan', 'explain', 'status', 'doctor', 'completion'] as const) {
  const help = helpOn(command)
  t.match(help, new RegExp(`^usage: rollcall-controller ${command}\\b`))
  t.match(help.replaceAll('\n', ' '), COMMANDS[command].does)
  const told = [...help.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, name]) => name)
  const { required, optional } = COMMANDS[command]
  t.same(told, [...required, ...optional, 'help'], `${command}: its options, and no others`)
}
t.match(helpOn('status'), /^usage: rollcall-controller status \[NODE\.\.\.\] \[options\]$/m)
t.match(helpOn('status'), /--output FORM \(-o\) .*: table, wide, json, html \(default table\)$/m)

for (const name of Object.keys(OPTIONS)) {
  t.match(HELP, new RegExp(`^ {2}--${name} `, 'm'))
  const takers = Object.keys(COMMANDS).filter((command) => {
    const parsed = parseCommandLine([command, `--${name}=`])
    return parsed.kind !== 'wrong' || !parsed.message.startsWith('unknown option')
  })
  t.not(takers.length, 0, `some command takes --${name}`)
}

const wrong: readonly [string, string][] = [
  [
    '',
    'a command is missing: expected run, plan, explain, status, doctor, bundle, completion, or the arguments of the CPI',
  ],
  ['rnu --config /c', 'unknown command "rnu": did you mean run?'],
  ['toString', 'unknown command "toString": see --help'],
  ['--cloud-config=/c --listen 8080', '--listen: expected ADDRESS:PORT'],
  [
    '--cloud-config=/c --leader-elect-resource-name=A',
    '--leader-elect-resource-name: expected an object name',
  ],
  ['--cloud-confg=/c', 'unknown flag --cloud-confg: did you mean --cloud-config?'],
  ['doctor --namespace ../x', '--namespace: expected the name of a namespace'],
  ['doctor --config-secret a/b', '--config-secret: expected an object name'],
  ['--config /c run', 'the command comes first: expected "run" before --config'],
  ['plan', '--config is missing: expected the path of the vSphere configuration'],
  ['plan --config /c --output yaml', '--output: expected one of table, json'],
  ['plan --config /c --from-cpi=x', '--from-cpi: takes no value'],
  ['plan --config /c --listen :1', 'unknown option --listen: see --help'],
  ['explain', 'NODE is missing: expected "explain NODE"'],
  ['completion', 'SHELL is missing: expected bash, zsh, fish, kubectl'],
  ['completion tcsh', 'SHELL: expected one of bash, zsh, fish, kubectl'],
  ['explain a b', 'unexpected argument "b": expected one NODE'],
  ['doctor a', 'unexpected argument "a": every option begins with --'],
  ['run', '--config is missing: expected the path of the vSphere configuration'],
  ['run --cloud-config /c', 'unknown option --cloud-config: did you mean --config?'],
  ['plan --cloud-config=/c', 'unknown option --cloud-config: did you mean --config?'],
  ['run --confg /c', 'unknown option --confg: did you mean --config?'],
  ['run --lease-namspace=x', 'unknown option --lease-namspace: did you mean --lease-namespace?'],
  ['run --cloud-provider vsphere', 'unknown option --cloud-provider: see --help'],
  ['run -v --config /c', 'unknown option -v: see --help'],
  ['run --config', '--config: its value is missing'],
  ['run --config --listen :1', '--config: its value is missing'],
  ['run --config=', '--config: its value is missing'],
  ['run --config /c --config /d', '--config: given twice, expected once'],
  ['run /c', 'unexpected argument "/c": every option begins with --'],
  ['run --config /c -- x', 'unexpected argument "--": there is nothing that could follow it'],
  ['run --config /c --log-level trace', '--log-level: expected one of debug, info, warn, error'],
  ['run --config /c --lease-namespace Kube', '--lease-namespace: expected the name of a namespace'],
  ['run --config /c --lease-name a_b', '--lease-name: expected an object name'],
  ...['8080', 'OFF:1', 'host:1', ':70000', '[1.2.3.4]:1', '::1:1', '[::1]', '1.2.3.4:x'].map(
    (listen): [string, string] => [`run --config /c --listen ${listen}`, '--listen: expected ADDRESS:PORT'],
  ),
]
for (const [line, message] of wrong) {
  const parsed = parseCommandLine(line === '' ? [] : line.split(' '))
  t.equal(parsed.kind, 'wrong', line)
  if (parsed.kind === 'wrong') t.equal(parsed.message.slice(0, message.length), message, line)
}
