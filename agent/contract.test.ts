import t from 'tap'
import { spec as goodSpec } from '../test/fixtures/facts.ts'
import { names, shown, withField, wrongSpec } from '../test/fixtures/wrong-spec.ts'
import { parseSpec } from './contract.ts'

const honest = goodSpec({
  bootID: '11111111-2222-3333-4444-555555555555',
  interfaces: [
    {
      name: 'ens192',
      mac: '00:50:56:8e:00:01',
      defaultRoute: true,
      addresses: [{ address: '10.0.0.5', prefixLength: 24 }],
    },
  ],
  cloudInit: { instanceID: 'i-1', localHostname: 'worker', addresses: ['10.0.0.5/24'] },
  unreadable: [{ fact: 'x', reason: 'NotFound', message: 'not there' }],
})

t.test('an honest spec', async (t) => {
  t.match(parseSpec(honest), { ok: true, spec: honest })
})

for (const [path, values] of Object.entries(wrongSpec)) {
  t.test(`${path} with what is wrong for it`, async (t) => {
    for (const value of values) {
      // An empty list passes for an empty map, and both say nothing.
      if (Array.isArray(value) && value.length === 0) continue
      const parsed = parseSpec(withField(honest, path, value))
      t.notOk(parsed.ok, shown(value))
      if (parsed.ok) continue
      const [problem = '', ...more] = parsed.problems
      t.same(more, [], 'nothing else is wrong')
      t.ok(names(problem, `spec.${path}`), problem)
      t.notMatch(problem, 'xxxx', 'it does not repeat what the stranger wrote')
    }
  })
}
