import t from 'tap'
import { matchesDatacenter, pathOf } from './datacenter-pattern.ts'

t.test('names, paths, references and wildcards', async (t) => {
  const nested = { moref: 'datacenter-3', path: ['europe', 'dc-1'] }
  for (const [pattern, expected] of [
    ['dc-1', true],
    ['dc-2', false],
    ['/europe/dc-1', true],
    ['europe/dc-1', true],
    ['./europe/dc-1', true],
    ['/europe/dc-1/', true],
    ['/europe//dc-1', true],
    ['/dc-1', false],
    ['dc-1/', false],
    ['/asia/dc-1', false],
    ['Datacenter:datacenter-3', true],
    ['Datacenter:datacenter-31', false],
    ['dc-*', true],
    ['*', true],
    ['dc-?', true],
    ['dc-??', false],
    ['dc-[0-9]', true],
    ['dc-[^0-9]', false],
    [String.raw`dc\-1`, true],
    ['DC-*', false],
    ['/*/dc-1', true],
    ['/europe/*', true],
    ['/*', false],
    ['/*/*/dc-1', false],
  ] as const) {
    t.equal(matchesDatacenter(pattern, nested), expected, pattern)
  }
})

t.test('a name with the characters of wildcards is itself as well', async (t) => {
  for (const name of ['a*b', 'a[b', 'a[z-a]', String.raw`a\b`, 'Datacenter:x', 'a.b', 'ü😀', 'a+(b)']) {
    t.ok(matchesDatacenter(name, { moref: 'datacenter-1', path: [name] }), name)
  }
  t.notOk(matchesDatacenter('a.*', { moref: 'datacenter-1', path: ['abc'] }), 'a dot is a dot')
  t.ok(
    matchesDatacenter('[ü😀]?', { moref: 'datacenter-1', path: ['😀😀'] }),
    'a character is one, however long',
  )
  t.notOk(matchesDatacenter('[z-a]', { moref: 'datacenter-1', path: ['b'] }))
  t.ok(matchesDatacenter('[a^]', { moref: 'datacenter-1', path: ['^'] }))
})

t.test('a name with a slash, backslash or percent sign, as vCenter, govc and the CPI show it', async (t) => {
  const path = ['eu/west', String.raw`DC\East 100%`]
  const shown = '/eu%2fwest/DC%5cEast 100%25'
  const one = { moref: 'datacenter-1', path }
  t.equal(pathOf(one), shown, 'what messages show can be written')
  for (const [pattern, expected] of [
    [shown, true],
    ['DC%5cEast 100%25', true],
    ['DC%5CEast 100%25', true],
    [String.raw`DC\East 100%`, true],
    ['DC%5c*', true],
    ['/*%2F*/DC%5c*', true],
    ['/eu%2fwest/*', true],
    [String.raw`/eu%2fwest/DC\East 100%`, true],
    ['/eu%2feast/*', false],
    ['/eu???west/*', true],
    ['/eu?west/*', false],
    ['/eu/west/*', false],
    ['DC%2fEast 100%25', false],
    ['DC%5cEast 100%2525', false],
  ] as const)
    t.equal(matchesDatacenter(pattern, one), expected, pattern)
  t.ok(matchesDatacenter('%252f', { moref: 'datacenter-1', path: ['%2f'] }), 'a name that looks escaped')
})

t.test('several stars, and a dozen of them on a name that nearly fits', async (t) => {
  for (const [pattern, name, expected] of [
    ['a*b*c', 'a-b-b-c-c', true],
    ['a*b*c', 'acb', false],
    ['*-b', 'a-b-b', true],
    ['*a?*', 'ba', false],
    ['a**c', 'ac', true],
    ['[ab]*[^b]*?', 'bbac', true],
    [`${'*a'.repeat(30)}*b`, 'a'.repeat(80), false],
  ] as const)
    t.equal(matchesDatacenter(pattern, { moref: 'datacenter-1', path: [name] }), expected, pattern)
})
