import t from 'tap'
import { spec as goodSpec } from '../../test/fixtures/facts.ts'
import { parseSpec } from './node-report.ts'

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

const CONTROL = 'a\u0007b'
const LONG = 'x'.repeat(100_000)
/** Each field of the report by its path, with values that are wrong for it. */
const wrongSpec: Readonly<Record<string, readonly unknown[]>> = {
  nodeUID: [42, 'not a UUID', LONG, undefined],
  bootID: [42, 'not a UUID', '', LONG],
  agentVersion: [42, CONTROL, LONG, undefined],
  machine: ['a string', []],
  'machine.vendor': [42, CONTROL, LONG],
  'machine.product': [{}, CONTROL, LONG],
  'machine.serialUUID': [42, 'VMware-42 0e', '420E3F74-EA84-F9A2-7736-6106BB5DBF6B', LONG],
  'machine.productUUID': [[], 'xyz', LONG],
  hostname: [42, CONTROL, LONG],
  interfaces: [
    'none',
    {},
    Array.from({ length: 17 }, (_, i) => ({
      name: `e${i}`,
      mac: '00:50:56:8e:00:01',
      defaultRoute: false,
      addresses: [],
    })),
  ],
  'interfaces.0': ['eth0', 7],
  'interfaces.0.name': [42, CONTROL, 'x'.repeat(16), undefined],
  'interfaces.0.mac': [42, '00-50-56-8e-00-01', '00:50:56:8E:00:01', LONG, undefined],
  'interfaces.0.defaultRoute': ['yes', 1, undefined],
  'interfaces.0.addresses': [
    '10.0.0.5',
    undefined,
    Array.from({ length: 17 }, () => ({ address: '10.0.0.5', prefixLength: 24 })),
  ],
  'interfaces.0.addresses.0.address': [42, '10.0.0.256', 'fe80::1%eth0', '10.0.0.5/24', LONG, undefined],
  'interfaces.0.addresses.0.prefixLength': ['24', -1, 129, 1.5, undefined],
  'interfaces.0.addresses.0.temporary': ['no', 0],
  'interfaces.0.addresses.0.deprecated': ['no', 0],
  'interfaces.0.addresses.0.secondary': ['no', 0],
  tools: [true, undefined],
  'tools.version': [12, CONTROL, LONG],
  'tools.guestinfoReadable': ['yes', undefined],
  'tools.guestinfoWritable': ['yes', undefined],
  cloudInit: ['none', []],
  'cloudInit.instanceID': [42, CONTROL, LONG],
  'cloudInit.localHostname': [42, CONTROL, LONG],
  'cloudInit.addresses': ['10.0.0.5', [42], [LONG], Array.from({ length: 17 }, () => '10.0.0.5')],
  claim: ['yes', undefined],
  'claim.written': ['yes', undefined],
  'claim.reason': [42, 'not CamelCase', '', LONG, undefined],
  'claim.message': [42, CONTROL, LONG, undefined],
  'claim.digest': [42, 'AB'.repeat(32), 'ab'.repeat(31), 'ab'.repeat(33)],
  unreadable: ['all', Array.from({ length: 17 }, () => ({ fact: 'x', reason: 'X', message: '' }))],
  'unreadable.0.fact': [42, CONTROL, LONG, undefined],
  'unreadable.0.reason': [42, 'no', LONG, undefined],
  'unreadable.0.message': [42, CONTROL, LONG, undefined],
}

/** A copy of the spec with one field replaced; undefined takes it away. */
function withField(spec: object, path: string, value: unknown): object {
  const changed: unknown = structuredClone(spec)
  const keys = path.split('.')
  let place = changed
  for (const key of keys.slice(0, -1)) place = Reflect.get(Object(place), key)
  const last = keys.at(-1) ?? ''
  if (value === undefined) Reflect.deleteProperty(Object(place), last)
  else Reflect.set(Object(place), last, value)
  return Object(changed)
}

/** For the name of an assertion. */
function shown(value: unknown): string {
  return value === undefined ? 'nothing' : (JSON.stringify(value) ?? '').slice(0, 30)
}

t.test('an honest spec', async (t) => {
  t.match(parseSpec(honest), { ok: true, value: honest })
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
      t.match(
        problem.replace(/^(.*?): expected .*$/s, '$1'),
        new RegExp(`^spec\\.${path}(\\.\\d+)?$`),
        problem,
      )
      t.notMatch(problem, 'xxxx', 'it does not repeat what the stranger wrote')
    }
  })
}
