import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeRoot } from '../testing/root.ts'
import { readBootID, readDefaultRoutes, readHostname } from './kernel.ts'

const BOOT_ID = 'proc/sys/kernel/random/boot_id'
const HOSTNAME = 'proc/sys/kernel/hostname'

t.test('boot ID', (t) => {
  for (const [content, expected] of [
    ['7D0BB4A4-5a3f-4f0e-9f3a-0d3f6f1f2a11\n', '7d0bb4a4-5a3f-4f0e-9f3a-0d3f6f1f2a11'],
    ['', 'Empty'],
    ['7d0bb4a4', 'Malformed'],
    ['x'.repeat(65_536), 'TooLong'],
  ] as const) {
    const fact = readBootID(makeRoot(t, { [BOOT_ID]: content }))
    t.equal(fact.ok ? fact.value : fact.reason, expected)
  }
  t.match(readBootID(makeRoot(t)), { ok: false, reason: 'NotFound' })
  t.end()
})

t.test('host name', (t) => {
  for (const [content, expected] of [
    ['Node-1.example.com\n', 'Node-1.example.com'],
    ['(none)\n', 'Empty'],
    ['two\nlines', 'Malformed'],
    ['é', 'Malformed'],
  ] as const) {
    const fact = readHostname(makeRoot(t, { [HOSTNAME]: content }))
    t.equal(fact.ok ? fact.value : fact.reason, expected)
  }
  t.end()
})

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
