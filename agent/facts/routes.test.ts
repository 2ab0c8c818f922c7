import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeRoot } from '../testing/root.ts'
import { readDefaultRoutes } from './kernel.ts'

const IPV4 = 'proc/net/route'
const IPV6 = 'proc/net/ipv6_route'

const line = (name: string, destination: string, mask: string) =>
  `${name}\t${destination}\t0100000A\t0003\t0\t0\t100\t${mask}\t0\t0\t0`.padEnd(127)

t.test('the tables of a machine with BGP', (t) => {
  const others = Array.from({ length: 9000 }, () => line('eth0', '0A0B0C0D', '00FFFFFF'))
  const table = [line('eth1', '00000000', '00000000'), ...others, line('eth2', '00000000', '00000000'), '']
  const { interfaces, read } = readDefaultRoutes(makeRoot(t, { [IPV4]: table.join('\n') }))
  t.same([...interfaces], ['eth1', 'eth2'])
  t.same(read, { ok: true, value: undefined })
  t.end()
})

t.test('a table that is not there has no route; one that cannot be read is said', (t) => {
  t.match(readDefaultRoutes(makeRoot(t)), { read: { ok: true } })
  const root = makeRoot(t, { [IPV4]: `${line('eth0', '00000000', '00000000')}\n` })
  mkdirSync(join(root, IPV6))
  const { interfaces, read } = readDefaultRoutes(root)
  t.same([...interfaces], ['eth0'], 'what the other one says stands')
  t.match(read, { ok: false, reason: 'Unreadable', message: /ipv6_route/ })
  t.match(readDefaultRoutes(makeRoot(t, { [IPV4]: 'x'.repeat(5000) })), { read: { reason: 'Malformed' } })
  t.end()
})
