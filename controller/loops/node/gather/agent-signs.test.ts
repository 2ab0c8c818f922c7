import t from 'tap'
import { report } from '../../../../test/fixtures/facts.ts'
import { createAgentSigns } from './agent-signs.ts'

const at = (reportedAt: string | undefined, uid = 'a') => report({ reportedAt, uid })

t.test('silence is counted from what this process has seen', async (t) => {
  const { of, forget } = createAgentSigns()
  t.same(of(at('old'), 1_000), { silentFor: 0, isHeard: false })
  t.same(of(at('old'), 5_000), { silentFor: 4_000, isHeard: false })
  t.same(of(at('new'), 6_000), { silentFor: 0, isHeard: true })
  t.same(of(at('new'), 7_000), { silentFor: 1_000, isHeard: true })
  t.same(of(at('new', 'b'), 8_000), { silentFor: 0, isHeard: true }, 'another report of that name')
  t.equal(of(at(undefined), 9_000), undefined)
  t.equal(of(undefined, 9_000), undefined)
  forget('worker-1')
  t.same(of(at('new'), 9_000), { silentFor: 0, isHeard: false })
})
