import { networkInterfaces } from 'node:os'
import t from 'tap'
import { makeRoot, VM_TREE } from '../testing/root.ts'
import { readAddressTable } from './addresses.ts'

t.test('the addresses of another root come from its file', (t) => {
  const path = 'run/rollcall/network-interfaces.json'
  const never = () => t.fail('asked the system') && {}
  const table = readAddressTable(makeRoot(t, VM_TREE), never)
  t.match(table, { ok: true, value: { eth0: [{ cidr: '10.0.0.5/24' }, {}] } })
  for (const [content, expected] of [
    ['{', 'Malformed'],
    ['[]', 'Malformed'],
    ['x'.repeat(300_000), 'TooLong'],
  ] as const) {
    t.match(readAddressTable(makeRoot(t, { [path]: content }), never), { ok: false, reason: expected })
  }
  t.match(readAddressTable(makeRoot(t), never), { ok: false, reason: 'NotFound' })
  t.same(readAddressTable(makeRoot(t, { [path]: '{"a":1,"b":[null,{"address":1,"cidr":2}]}' }), never), {
    ok: true,
    value: { a: [], b: [] },
  })
  t.end()
})

t.test('the addresses of this machine come from the system', (t) => {
  t.same(readAddressTable('/', networkInterfaces), { ok: true, value: networkInterfaces() })
  const failing = () => {
    throw new Error('uv_interface_addresses')
  }
  t.match(readAddressTable('/', failing), { ok: false, reason: 'Unreadable' })
  t.end()
})
