import t from 'tap'
import { parseCIDRs } from './subnets.ts'

t.test('subnets, as net.ParseCIDR of Go 1.26 takes them', async (t) => {
  const cases: readonly [string, string[]][] = [
    ['10.0.0.0/8', ['10.0.0.0/8']],
    ['10.1.2.3/8', ['10.1.2.3/8']],
    ['192.0.2.0/24,2001:db8::/32', ['192.0.2.0/24', '2001:db8::/32']],
    [' 192.0.2.0/24 , fe80::1/128 ,', ['192.0.2.0/24', 'fe80::1/128']],
    ['0.0.0.0/0', ['0.0.0.0/0']],
    ['::/0', ['::/0']],
    ['2001:DB8::/32', ['2001:db8::/32']],
    ['::ffff:10.0.0.0/104', ['::ffff:10.0.0.0/104']],
    ['10.0.0.0/08', ['10.0.0.0/08']],
    ['', []],
    [' , ', []],
  ]
  for (const [text, value] of cases) t.same(parseCIDRs(text), { ok: true, value }, text)
})

t.test('what is no subnet is refused, and which one it is', async (t) => {
  const wrong = [
    '10.0.0.0',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0/8',
    '10.0.0.0.0/8',
    '010.0.0.0/8',
    '10.0.0.256/8',
    '10.0.0.0/',
    '/8',
    '2001:db8::/129',
    '2001:db8::1::/64',
    'fe80::1%eth0/64',
    'dc-1',
    '10.0.0.0/8/8',
    '10.0.0.0 /8',
    '0x0a.0.0.0/8',
    '10.0.0.0/8;192.0.2.0/24',
  ]
  for (const text of wrong)
    t.match(parseCIDRs(text), { ok: false, message: /^expected a subnet such as/ }, text)
  t.match(parseCIDRs('10.0.0.0/8,x'), {
    message:
      'number 2 of 2 is wrong: expected a subnet such as 10.0.0.0/8 or fd00::/64, got text of 1 character',
  })
})
