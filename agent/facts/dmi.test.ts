import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { makeRoot } from '../testing/root.ts'
import { readMachine } from './dmi.ts'

const ID = 'sys/class/dmi/id'

t.test('a VMware machine', (t) => {
  const root = makeRoot(t, {
    [`${ID}/sys_vendor`]: 'VMware, Inc.\n',
    [`${ID}/product_name`]: 'VMware20,1\n',
    [`${ID}/product_serial`]: 'VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b\n',
    [`${ID}/product_uuid`]: '743F0E42-84EA-A2F9-7736-6106BB5DBF6B\n',
  })
  t.same(readMachine(root), {
    vendor: { ok: true, value: 'VMware, Inc.' },
    product: { ok: true, value: 'VMware20,1' },
    serialUUID: { ok: true, value: '420e3f74-ea84-f9a2-7736-6106bb5dbf6b' },
    productUUID: { ok: true, value: '743f0e42-84ea-a2f9-7736-6106bb5dbf6b' },
  })
  t.end()
})

t.test('a machine without DMI', (t) => {
  for (const fact of Object.values(readMachine(makeRoot(t)))) t.match(fact, { ok: false, reason: 'NotFound' })
  t.end()
})

const GARBAGE = Buffer.alloc(65_536, 0xa7)

t.test('serials', (t) => {
  for (const [name, content, expected] of [
    [
      'upper case',
      'VMWARE-42 0E 3F 74 EA 84 F9 A2-77 36 61 06 BB 5D BF 6B',
      '420e3f74-ea84-f9a2-7736-6106bb5dbf6b',
    ],
    ['empty', '', 'Empty'],
    ['a newline', '\n', 'Empty'],
    ['of another maker', 'Not Specified', 'NotVMware'],
    ['that only mentions it', 'x VMware-42 0e', 'NotVMware'],
    ['one byte short', 'VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf', 'Malformed'],
    ['one byte long', 'VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b 00', 'Malformed'],
    ['not hexadecimal', 'VMware-zz 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b', 'Malformed'],
    ['all zeros', 'VMware-00 00 00 00 00 00 00 00-00 00 00 00 00 00 00 00', 'NotSet'],
    ['all ones', 'VMware-ff ff ff ff ff ff ff ff-ff ff ff ff ff ff ff ff', 'NotSet'],
    ['control characters', 'VMware-42\u0000\u001b[2J', 'Malformed'],
    ['64 kB of garbage', GARBAGE, 'TooLong'],
  ] as const) {
    const root = makeRoot(t, { [`${ID}/product_serial`]: content })
    const { serialUUID } = readMachine(root)
    t.equal(serialUUID.ok ? serialUUID.value : serialUUID.reason, expected, name)
    if (!serialUUID.ok) t.match(serialUUID.message, /product_serial/, 'names the file')
  }
  t.end()
})

t.test('UUIDs', (t) => {
  for (const [name, content, expected] of [
    ['lower case', '743f0e42-84ea-a2f9-7736-6106bb5dbf6b\n', '743f0e42-84ea-a2f9-7736-6106bb5dbf6b'],
    ['empty', '', 'Empty'],
    ['no hyphens', '743f0e4284eaa2f977366106bb5dbf6b', 'Malformed'],
    ['all zeros', '00000000-0000-0000-0000-000000000000', 'NotSet'],
    ['all ones', 'FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF', 'NotSet'],
    ['64 kB of garbage', GARBAGE, 'TooLong'],
  ] as const) {
    const root = makeRoot(t, { [`${ID}/product_uuid`]: content })
    const { productUUID } = readMachine(root)
    t.equal(productUUID.ok ? productUUID.value : productUUID.reason, expected, name)
  }
  t.end()
})

t.test('mode 0400 and another user', { skip: process.getuid?.() !== 0 && 'needs root' }, (t) => {
  const root = makeRoot(t, { [`${ID}/product_serial`]: 'VMware-' })
  chmodSync(root, 0o755)
  chmodSync(join(root, ID, 'product_serial'), 0o400)
  process.seteuid?.(65_534)
  const { serialUUID } = readMachine(root)
  process.seteuid?.(0)
  t.match(serialUUID, { ok: false, reason: 'PermissionDenied', message: /run the agent as root$/ })
  t.end()
})
