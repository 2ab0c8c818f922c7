import t from 'tap'
import { parseDuration, parseOptions } from './options.ts'

t.test('defaults', (t) => {
  t.same(parseOptions([]), {
    kind: 'options',
    options: {
      kubeconfigs: [],
      root: '/',
      rpctool: undefined,
      refresh: 180_000,
      look: 30_000,
      mode: 'run',
      output: 'table',
      logLevel: 'info',
    },
  })
  t.end()
})

t.test('all of them', (t) => {
  const args = ['--kubeconfig', '/k', '--kubeconfig=/l', '--root=/host', '--rpctool', '/t', '--refresh', '1h']
  t.same(parseOptions([...args, '--look', '5s', '--once', '--log-level', 'debug']), {
    kind: 'options',
    options: {
      kubeconfigs: ['/k', '/l'],
      root: '/host',
      rpctool: '/t',
      refresh: 3_600_000,
      look: 5000,
      mode: 'once',
      output: 'table',
      logLevel: 'debug',
    },
  })
  t.same(parseOptions(['--help']), { kind: 'help' })
  t.same(parseOptions(['--version']), { kind: 'version' })
  t.end()
})

t.test('doctor', (t) => {
  t.match(parseOptions(['doctor', '--root=/r', '--output=json']), {
    kind: 'options',
    options: { mode: 'doctor', output: 'json', root: '/r' },
  })
  for (const args of [
    ['doctor', '--once'],
    ['doctor', '--print', '--kubelet-args'],
    ['--output=json'],
    ['doctor', '--output=xml'],
    ['--root=/r', 'doctor'],
  ])
    t.equal(parseOptions(args).kind, 'wrong', args.join(' '))
  t.end()
})

t.test('wrong options are named in one sentence', (t) => {
  for (const [args, message] of [
    [['--rfresh', '10m'], '--rfresh: unknown option, did you mean --refresh?'],
    [['--nonsense'], '--nonsense: unknown option, see --help'],
    [['--refresh', '59s'], '--refresh: expected at least 1m, got 59s'],
    [['--refresh', 'soon'], '--refresh: expected a duration such as 90s or 15m, got "soon"'],
    [['--refresh', '600h'], '--refresh: expected at most 24h, got 600h'],
    [['--look', '10ms'], '--look: expected at least 1s, got 10ms'],
    [['--log-level', 'loud'], '--log-level: expected one of debug, info, warn, error'],
    [['--root='], '--root: expected a path, got an empty string'],
    [['--kubeconfig=/k', '--kubeconfig='], '--kubeconfig: expected a path, got an empty string'],
    [['--once', '--print'], '--once and --print: give one of the two'],
    [['--kubelet-args'], '--kubelet-args: valid only with --print'],
  ] as const) {
    t.same(parseOptions(args), { kind: 'wrong', message })
  }
  for (const args of [['--kubeconfig'], ['--once=yes'], ['stray']]) {
    const result = parseOptions(args)
    t.equal(result.kind, 'wrong')
    t.match(result, { message: /^[^\n]+[^.]$/ })
    t.match(result, { message: new RegExp(args[0]?.replace(/=.*/, '') ?? '') })
  }
  t.end()
})

t.test('durations', (t) => {
  for (const [text, ms] of [
    ['90s', 90_000],
    ['1h30m', 5_400_000],
    ['250ms', 250],
    ['', undefined],
    ['10', undefined],
    ['-1s', undefined],
    ['1.5h', undefined],
    ['9'.repeat(40).concat('h'), undefined],
  ] as const) {
    t.equal(parseDuration(text), ms, text)
  }
  t.end()
})
