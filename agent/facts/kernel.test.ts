import t from 'tap'
import { makeRoot } from '../testing/root.ts'
import { readBootID, readHostname } from './kernel.ts'

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
