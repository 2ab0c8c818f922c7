import t from 'tap'
import { contains } from './subnet.ts'

t.test('what a subnet contains, as with net.IPNet of Go', async (t) => {
  const cases: readonly [string, string, boolean][] = [
    ['10.0.0.0/8', '10.255.0.1', true],
    ['10.1.2.3/8', '10.255.0.1', true],
    ['10.0.0.0/8', '11.0.0.1', false],
    ['10.0.0.0/08', '10.0.0.1', true],
    ['0.0.0.0/0', '192.0.2.1', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['::/0', '2001:db8::1', true],
    ['::/0', '10.0.0.1', false],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '11.1.2.3', false],
    ['::ffff:10.0.0.0/80', '10.1.2.3', false],
  ]
  for (const [subnet, address, expected] of cases)
    t.equal(contains(subnet, address), expected, `${subnet} ${address}`)
})
