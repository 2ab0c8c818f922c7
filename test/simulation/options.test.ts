import t from 'tap'
import { parseOptions } from './options.ts'

t.test('reads the command line', async (t) => {
  const rows: [args: string[], expected: object][] = [
    [[], { kind: 'options', options: { steps: 1_000_000, seed: 1, single: false, mutations: false } }],
    [['--seed', '7'], { options: { seed: 7, single: true } }],
    [['--seed', '7', '--faults', '0.1,3.0'], { options: { single: true, faults: new Set(['0.1', '3.0']) } }],
    [['--steps', '7', '--faults', '0.1'], { kind: 'wrong', message: /--faults: expected with --seed/ }],
    [['--seed', '7', '--steps', '10'], { options: { seed: 7, steps: 10, single: false } }],
    [
      ['--mutations', '--seed', '3'],
      { options: { seed: 3, steps: 10_000_000, single: false, mutations: true } },
    ],
    [['--mutations', '--only', 'brake'], { options: { mutations: true, only: 'brake' } }],
    [['--about', 'failed-over'], { options: { about: new Set(['failed-over']) } }],
    [
      ['--about', 'nothing'],
      { kind: 'wrong', message: /--about: no scene is about nothing; expected some of/ },
    ],
    [['--help'], { kind: 'help' }],
    [['--seed', '0'], { kind: 'wrong', message: /--seed: expected a whole number/ }],
    [['--steps', 'many'], { kind: 'wrong', message: /--steps: expected a whole number/ }],
    [['--what'], { kind: 'wrong', message: /--help lists the options/ }],
  ]
  for (const [args, expected] of rows) t.match(parseOptions(args), expected, args.join(' '))
})
