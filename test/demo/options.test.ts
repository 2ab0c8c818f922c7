import t from 'tap'
import { parseOptions } from './options.ts'

t.test('twelve Nodes by default, and it ends by itself', (t) => {
  t.match(parseOptions([]), { kind: 'options', options: { nodes: 12, keep: false } })
  t.match(parseOptions(['--nodes=5', '--keep', '--picture=p.svg']), {
    kind: 'options',
    options: { nodes: 5, keep: true, picture: 'p.svg' },
  })
  t.match(parseOptions(['--help', '--nodes=1']), { kind: 'help' })
  t.end()
})

t.test('what is wrong is named', (t) => {
  for (const [args, named] of [
    [['--nodes=3'], '--nodes'],
    [['--nodes=51'], '--nodes'],
    [['--nodes=many'], '--nodes'],
    [['--nodes=2.5'], '--nodes'],
    [['--nodse=3'], '--nodse'],
    [['more'], 'more'],
  ] as const) {
    const line = parseOptions(args)
    t.equal(line.kind, 'wrong', args.join(' '))
    t.ok(line.kind === 'wrong' && line.message.includes(named), `names ${named}`)
    t.notOk(line.kind === 'wrong' && line.message.includes('\n'), 'in one line')
  }
  t.end()
})
