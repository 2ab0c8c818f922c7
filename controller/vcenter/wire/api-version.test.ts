import t from 'tap'
import { chooseVersion } from './api-version.ts'

t.test('the oldest that is not older than ours, else the newest', async (t) => {
  const cases: readonly [readonly string[], string | undefined][] = [
    [['8.0.3.0', '8.0.2.0', '7.0', '6.7', '6.5'], '6.7'],
    [['8.0.3.0', '8.0.10.0', '6.7.1'], '6.7.1'],
    [['9.0.0.0', '8.0.10.0', '8.0.9.0'], '8.0.9.0'],
    [['5.5', '6.5', '6.0'], '6.5'],
    [[], undefined],
  ]
  for (const [served, chosen] of cases) t.equal(chooseVersion(served), chosen, served.join(' '))
})
