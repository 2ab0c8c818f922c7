import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { Result } from '../shared/result.ts'
import { type FileTree, makeRoot } from '../testing/root.ts'
import { readDMI } from './dmi.ts'
import type { Unreadable } from './files.ts'

const ID = 'sys/class/dmi/id'
const UUID = '420e3f74-ea84-f9a2-7736-6106bb5dbf6b'
const BYTES = '42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b'

/** Machines with these files of the firmware. */
function machine(files: Readonly<Record<string, string | Buffer>>) {
  const tree: FileTree = Object.fromEntries(
    Object.entries(files).map(([name, content]) => [`${ID}/${name}`, content]),
  )
  return readDMI(makeRoot(t, tree))
}

/** The value, or the reason with its message. */
const outcome = (fact: Result<string, Unreadable>) =>
  fact.ok ? fact.value : `${fact.reason}: ${fact.message}`

t.test('a VMware machine', (t) => {
  const vm = machine({
    sys_vendor: 'VMware, Inc.\n',
    product_name: 'VMware20,1\n',
    product_serial: `VMware-${BYTES}\n`,
    product_uuid: '743F0E42-84EA-A2F9-7736-6106BB5DBF6B\n',
  })
  t.same(vm, {
    vendor: { ok: true, value: 'VMware, Inc.' },
    product: { ok: true, value: 'VMware20,1' },
    serialUUID: { ok: true, value: UUID },
    productUUID: { ok: true, value: '743f0e42-84ea-a2f9-7736-6106bb5dbf6b' },
  })
  t.end()
})

t.test('a machine without DMI', (t) => {
  for (const fact of Object.values(machine({}))) t.match(fact, { ok: false, reason: 'NotFound' })
  t.end()
})

const GARBAGE = Buffer.alloc(65_536, 0xa7)
/** What the value of a wrong serial must not turn up in. */
const SECRET = 'PF2ABCDE'

const SERIALS: readonly [name: string, content: string | Buffer, expected: string | RegExp][] = [
  ['as VMware writes it', `VMware-${BYTES}`, UUID],
  ['in upper case', `VMWARE-${BYTES.toUpperCase()}`, UUID],
  ['in lower case', `vmware-${BYTES}`, UUID],
  ['with space around it', `  VMware-${BYTES} \n\n`, UUID],
  ['with more spaces within', `VMware- ${BYTES.replaceAll(' ', '  ')}`, UUID],
  ['with hyphens', `VMware-${UUID}`, UUID],
  ['with braces', `VMware-{${UUID.toUpperCase()}}`, UUID],
  ['without any separator', `VMware-${UUID.replaceAll('-', '')}`, UUID],
  ['empty', '', /^Empty: .*product_serial is empty/],
  ['a newline', '\n', /^Empty/],
  ['the prefix alone', 'VMware-', /^Malformed: .* has 0 hexadecimal digits instead of 32/],
  ['one byte short', `VMware-${BYTES.slice(0, -3)}`, /^Malformed: .* has 30 .*uuid\.bios/],
  ['one digit short', `VMware-${BYTES.slice(0, -1)}`, /^Malformed: .* has 31 /],
  ['one byte long', `VMware-${BYTES} 00`, /^Malformed: .* has 34 .*uuid\.bios/],
  ['two in one', `VMware-${BYTES}${BYTES}`, /^Malformed: .* has 64 /],
  ['64 kB of garbage', GARBAGE, /^TooLong: .* longer than 129 bytes/],
  ['no hexadecimal digits', `VMware-zz ${BYTES.slice(3)}`, /^Malformed: .*characters other.*uuid\.bios/],
  ['control characters', 'VMware-42\u0000\u001b[2J', /^Malformed: .*printable/],
  ['all zeros', `VMware-${BYTES.replace(/[0-9a-f]/g, '0')}`, /^NotSet: .* is all zeros: .*uuid\.bios/],
  ['all ones', `VMware-${BYTES.replace(/[0-9a-f]/g, 'F')}`, /^NotSet: .* is all ones: .*uuid\.bios/],
  ['None', 'None', /^NotSet: .* is a placeholder: .*uuid\.bios/],
  ['of an OEM that never filled it', 'To be filled by O.E.M.', /^NotSet: .* is a placeholder/],
  ['not specified', 'Not Specified', /^NotSet: .* is a placeholder/],
  ['zero', '0', /^NotSet: .* is a placeholder/],
  ['of another maker', SECRET, /^NotVMware: .*is this machine a vSphere VM/],
  ['that only mentions VMware', `x VMware-${BYTES}`, /^NotVMware/],
  ['without the prefix', BYTES, /^NotVMware/],
  ['with the prefix misspelled', `VMware ${BYTES}`, /^NotVMware/],
]

t.test('serials', (t) => {
  for (const [name, content, expected] of SERIALS) {
    const said = outcome(machine({ product_serial: content }).serialUUID)
    t.match(said, expected, name)
    if (expected === UUID) t.equal(said, UUID)
    else t.match(said, /product_serial/, 'names the file')
    t.notMatch(said, SECRET, 'never the value')
  }
  t.end()
})

t.test('vendor and serial', (t) => {
  for (const [vendor, serial, expected] of [
    ['VMware, Inc.', `VMware-${BYTES}`, UUID],
    ['VMware, Inc.', SECRET, /^NotVMware: the vendor is VMware, but .*serialNumber\.reflectHost/],
    [
      'VMware, Inc.',
      'VMVJK4SQ9NV1',
      /^NotVMware: .* has 12 characters: .*SMBIOS\.use12CharSerialNumber out of the VM's settings/,
    ],
    // SMBIOS.reflectHost shows the maker of the host, and the serial still proves the VM.
    ['Dell Inc.', `VMware-${BYTES}`, UUID],
    [
      'Dell Inc.',
      SECRET,
      /^NotVMware: vendor and .*not a vSphere VM, or shows its host's \(SMBIOS\.reflectHost/,
    ],
    ['QEMU', SECRET, /^NotVMware: vendor and/],
    ['QEMU', 'Not Specified', /^NotVMware: vendor and/],
    ['VMware, Inc.', 'None', /^NotSet: .* is a placeholder/],
    ['Microsoft Corporation', '0000-0012-2345-4433-1122-9988-77', /^NotVMware: vendor and/],
    ['Amazon EC2', 'ec2a1b2c-1111-2222-3333-444455556666', /^NotVMware: vendor and/],
    ['', SECRET, /^NotVMware: .*is this machine/],
  ] as const) {
    const said = outcome(machine({ sys_vendor: `${vendor}\n`, product_serial: `${serial}\n` }).serialUUID)
    t.match(said, expected, `${vendor}, ${serial}`)
    t.notMatch(said, SECRET, 'never the value')
  }
  t.end()
})

t.test('UUIDs', (t) => {
  for (const [name, content, expected] of [
    ['lower case', `${UUID}\n`, UUID],
    ['upper case', UUID.toUpperCase(), UUID],
    ['braces', `{${UUID}}`, UUID],
    ['no hyphens', UUID.replaceAll('-', ''), UUID],
    ['bytes', BYTES, UUID],
    ['space around it', ` ${UUID} \n`, UUID],
    ['empty', '', /^Empty/],
    ['one digit short', UUID.slice(1), /^Malformed: .* has 31 /],
    ['one digit long', `${UUID}0`, /^Malformed: .* has 33 /],
    ['no hexadecimal digits', UUID.replace('a', 'g'), /^Malformed/],
    ['all zeros', UUID.replace(/\w/g, '0'), /^NotSet: .* is all zeros/],
    ['all ones', UUID.replace(/\w/g, 'F'), /^NotSet: .* is all ones/],
    ['Not Settable', 'Not Settable', /^NotSet: .* is a placeholder/],
    ['64 kB of garbage', GARBAGE, /^TooLong/],
  ] as const) {
    const said = outcome(machine({ product_uuid: content }).productUUID)
    t.match(said, expected, name)
    if (expected === UUID) t.equal(said, UUID)
    else t.match(said, /product_uuid/, 'names the file')
  }
  t.end()
})

t.test('mode 0400 and another user', { skip: process.getuid?.() !== 0 && 'needs root' }, (t) => {
  const root = makeRoot(t, { [`${ID}/product_serial`]: 'VMware-' })
  chmodSync(root, 0o755)
  chmodSync(join(root, ID, 'product_serial'), 0o400)
  process.seteuid?.(65_534)
  const { serialUUID } = readDMI(root)
  process.seteuid?.(0)
  t.match(serialUUID, { ok: false, reason: 'PermissionDenied', message: /run the agent as root$/ })
  t.end()
})
