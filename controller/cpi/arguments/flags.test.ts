import t from 'tap'
import { allOf, lastOf, parseFlags, readCSV } from './flags.ts'
import { FLAGS } from './table.ts'

function parse(...args: string[]) {
  const { given, problems } = parseFlags(args, FLAGS)
  if (problems.length > 0) throw new Error(problems.join('; '))
  return given
}

t.test('all forms of pflag', async (t) => {
  for (const args of [
    ['--cloud-config=/c'],
    ['--cloud-config', '/c'],
    ['--cloud_config=/c'],
    ['--cloud_config', '/c'],
  ])
    t.equal(lastOf(parse(...args), FLAGS['cloud-config']), '/c', args.join(' '))
  for (const args of [['-v=2'], ['-v', '2'], ['-v2'], ['--v=2'], ['--v', '2'], ['--v=9', '-v', '2']])
    t.equal(lastOf(parse(...args), FLAGS.v), 2, args.join(' '))
  for (const [text, value] of [
    ['--leader-elect', true],
    ['--leader-elect=T', true],
    ['--leader-elect=0', false],
  ] as const)
    t.equal(lastOf(parse(text), FLAGS['leader-elect']), value, text)
  for (const [text, value] of [
    ['--secure-port=0x2712', 10002],
    ['--secure-port=0b11', 3],
    ['--secure-port=010', 8],
    ['--secure-port=0o17', 15],
    ['--secure-port=-0x1', -1],
    ['--secure-port=0', 0],
  ] as const)
    t.equal(lastOf(parse(text), FLAGS['secure-port']), value, text)
  t.equal(lastOf(parse('--v=010'), FLAGS.v), 10, 'klog reads base 10')
  t.equal(lastOf(parse('--cluster-name=a=b'), FLAGS['cluster-name']), 'a=b')
  t.equal(lastOf(parse('--cluster-name='), FLAGS['cluster-name']), '')
  t.equal(
    lastOf(parse('--cluster-name', '--v'), FLAGS['cluster-name']),
    '--v',
    'whatever comes next is the value',
  )
  t.same(allOf(parse('--controllers=a,b', '--controllers', 'c'), FLAGS.controllers), [['a', 'b'], ['c']])
  t.equal(lastOf(parse('--v=1', '--', ''), FLAGS.v), 1)
  t.equal(lastOf(parse('', '--v=1'), FLAGS.v), 1, 'empty words come from templates')
  t.equal(lastOf(parse(), FLAGS.v), undefined)
})

t.test('pairs', async (t) => {
  const labels = (...args: string[]) => allOf(parse(...args), FLAGS['node-labels']).map((map) => [...map])
  t.same(labels('--node-labels=a=b,c='), [
    [
      ['a', 'b'],
      ['c', ''],
    ],
  ])
  t.same(labels('--node-labels=a=b,c'), [[['a', 'b,c']]], 'one = alone takes all that follows')
  t.same(labels('--node-labels="a=b,c"'), [[['a', 'b,c']]])
  t.same(labels('--node-labels="a=b,c",d=e'), [
    [
      ['a', 'b,c'],
      ['d', 'e'],
    ],
  ])
  t.same(labels('--node-labels=a=b', '--node-labels=a=c'), [[['a', 'b']], [['a', 'c']]])
})

t.test('what pflag refuses', async (t) => {
  const cases: readonly [string[], string][] = [
    [['--cloud-confg=/c'], 'unknown flag --cloud-confg: did you mean --cloud-config?'],
    [['--node_label=a=b'], 'unknown flag --node-label: did you mean --node-labels?'],
    [['--secret'], 'unknown flag --secret: see --help'],
    [['--toString'], 'unknown flag --toString: see --help'],
    [['-cloud-config=/c'], 'unknown flag -cloud-config: did you mean --cloud-config?'],
    [['-x'], 'unknown flag -x: see --help'],
    [['--cloud-config'], '--cloud-config: its value is missing'],
    [['-v'], '-v: its value is missing'],
    [['--v=x'], '--v: expected a whole number'],
    [['--v=0x1'], '--v: expected a whole number'],
    [['--secure-port=0e5'], '--secure-port: expected a whole number'],
    [['--secure-port=08'], '--secure-port: expected a whole number'],
    [['--secure-port=0xffffffff'], '--secure-port: expected a whole number'],
    [['--leader-elect=yes'], '--leader-elect: expected true or false'],
    [
      ['--leader-elect', 'false'],
      'unexpected argument "false": flags begin with --, and a value follows its flag',
    ],
    [
      ['--leader-elect-lease-duration=15'],
      '--leader-elect-lease-duration: expected a duration such as 90s, 5m or 1h30m',
    ],
    [['--kube-api-qps=fast'], '--kube-api-qps: expected a number'],
    [['--bind-address=all'], '--bind-address: expected an IP address'],
    [['--controllers="a'], '--controllers: expected values separated by commas'],
    [['--node-labels=a'], '--node-labels: expected KEY=VALUE'],
    [['--node-labels='], '--node-labels: expected KEY=VALUE'],
    [['--tls-curve-preferences=x'], '--tls-curve-preferences: expected whole numbers'],
    [['run'], 'unexpected argument "run"'],
    [['--v=1', '--', 'run'], 'unexpected argument after "--"'],
  ]
  for (const [args, message] of cases) {
    const { problems } = parseFlags(args, FLAGS)
    t.same([problems.length, problems[0]?.slice(0, message.length)], [1, message], args.join(' '))
  }
  t.same(parseFlags(['--cloud-confg', '/c', '--v=x', '-v', '2', 'run'], FLAGS).problems, [
    'unknown flag --cloud-confg: did you mean --cloud-config?',
    '--v: expected a whole number',
    'unexpected argument "run": flags begin with --, and a value follows its flag',
  ])
  t.same(parseFlags(['--passwrd', '-S3cret', '--v=x'], FLAGS).problems, [
    'unknown flag --passwrd: see --help',
    '--v: expected a whole number',
  ])
})

t.test('lines of CSV', async (t) => {
  const cases: readonly [string, readonly string[] | undefined][] = [
    ['', []],
    ['a', ['a']],
    ['a,,b,', ['a', '', 'b', '']],
    ['"a,b",c', ['a,b', 'c']],
    ['"a""b"', ['a"b']],
    ['"a"b', undefined],
    ['a"b', undefined],
    ['"a', undefined],
  ]
  for (const [line, fields] of cases) {
    const read = readCSV(line)
    t.same(read.ok ? read.value : undefined, fields, line)
  }
})
