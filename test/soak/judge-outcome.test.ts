import t from 'tap'
import { judgeOutcome } from './judge-outcome.ts'

type Outcome = Parameters<typeof judgeOutcome>[0]

const WELL: Outcome = {
  wrong: [],
  held: [],
  memory: { early: { anonymous: 100 }, late: { anonymous: 105 } },
  sessions: { soap: ['a (1)'], rest: ['a (1)'] },
  kills: 0,
  failures: [],
  minutes: 60,
}
const told = (changes: Partial<Outcome>) => judgeOutcome({ ...WELL, ...changes })

t.test('all is well', (t) => {
  t.same(told({}), [])
  t.same(told({ sessions: { soap: ['a (1)', 'a (2)'], rest: ['a (1)'] }, kills: 1 }), [], 'one was killed')
  t.same(told({ memory: { early: undefined, late: undefined }, minutes: 10 }), [], 'too short to tell')
  t.end()
})

t.test('each thing that is not so is said', (t) => {
  const cases: readonly [Partial<Outcome>, object][] = [
    [{ wrong: [{ node: 'n', uid: 'u', why: 'it runs' }] }, { what: /Node n \(u\).* it runs/, node: 'n' }],
    [{ held: [{ node: 'n', problem: 'is there' }] }, { what: /n: is there/, node: 'n' }],
    [{ memory: { early: { anonymous: 100 }, late: { anonymous: 111 } } }, { what: /grew to 1\.11 times/ }],
    [{ memory: { early: undefined, late: { anonymous: 1 } } }, { what: /grew to NaN/ }],
    [{ sessions: { soap: ['a (1)', 'a (1)'], rest: [] }, kills: 9 }, { what: /2 sessions of soap/ }],
    [{ sessions: { soap: [], rest: ['a (1)', 'a (1)', 'a (1)'] } }, { what: /3 sessions of rest/ }],
    [
      { sessions: { soap: ['a (1)', 'a (2)'], rest: [] } },
      { what: /2 clients have sessions of soap.* 1 may/ },
    ],
    [{ failures: ['no port'] }, { what: /the soak itself failed: no port/ }],
  ]
  for (const [changes, expected] of cases) {
    const found = told(changes)
    t.equal(found.length, 1, JSON.stringify(changes))
    t.match(found[0], expected)
  }
  t.end()
})
