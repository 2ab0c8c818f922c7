import t from 'tap'
import { renderSummary, type Summary } from './summary.ts'

const summary = {
  nodes: 3,
  right: 2,
  forger: 'not tried' as const,
  setUp: 4321,
  times: [2500, 420],
  ending: undefined,
  calls: {
    total: 9,
    operations: { Login: 1, RetrievePropertiesEx: 5, 'REST GET /rest/com/vmware/cis/tagging/tag/*': 3 },
  },
  sessions: { soap: 1, rest: 1 },
  total: 65_000,
}

t.test('times from first to last, calls by operation, the most frequent first', (t) => {
  const text = renderSummary(summary, 120).join('\n')
  t.match(text, '2 of 3 proven, and initialized as vCenter says; the forger did not come')
  t.match(text, 'the first 0.42 s after its registration, the last 2.5 s')
  t.match(text, '5 RetrievePropertiesEx, 3 REST GET tagging/tag/*, 1 Login')
  t.match(text, '1 min 05 s in all, 4.3 s of it')
  t.end()
})

t.test('whether all are there and the forger is not', (t) => {
  const words = (change: Partial<Summary>) => renderSummary({ ...summary, ...change }, 120)[0]
  t.match(words({ right: 3, forger: 'refused' }), /all 3 proven, .*; 1 forger refused/)
  t.match(words({ forger: 'wrong' }), 'a forger was not refused')
  t.end()
})

t.test('what became of Nodes whose VMs went, as far as it was shown', (t) => {
  const words = (ending: Summary['ending']) => renderSummary({ ...summary, ending }, 120).join('\n')
  t.match(
    words({ deletedAfter: 4_321, taintedAfter: 70 }),
    '1 Node deleted 4.3 s after its VM, 1 tainted 0.07 s after power-off',
  )
  t.match(words({ deletedAfter: 4_321 }), /lifecycle +not shown to the end/)
  t.match(words(undefined), /lifecycle +not shown to the end/)
  t.end()
})

t.test('a narrow terminal gets more lines, none of them too long', (t) => {
  const lines = renderSummary(summary, 40).filter((line) => /^ *\d /.test(line))
  t.equal(lines.length, 3)
  t.ok(lines.every((line) => line.length <= 45))
  t.match(renderSummary({ ...summary, times: [] }, 80).join('\n'), /initialized +none/)
  t.end()
})
