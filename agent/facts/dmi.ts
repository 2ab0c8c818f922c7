import { join } from 'node:path'
import { type Fact, known, unreadable } from './fact.ts'
import { readLine } from './files.ts'

/** What the firmware says. */
export interface Machine {
  readonly vendor: Fact<string>
  readonly product: Fact<string>
  /** BIOS UUID from `product_serial`, in vCenter's byte order, lower case. */
  readonly serialUUID: Fact<string>
  /** UUID from `product_uuid`, in the kernel's byte order, lower case. */
  readonly productUUID: Fact<string>
}

/** Longest text that a report takes of a DMI field. */
const MAX_TEXT = 128

/** Reads `sys/class/dmi/id`. The serial and the UUID are of mode 0400, so this needs root. */
export function readMachine(root: string): Machine {
  const folder = join(root, 'sys/class/dmi/id')
  return {
    vendor: readLine(join(folder, 'sys_vendor'), MAX_TEXT),
    product: readLine(join(folder, 'product_name'), MAX_TEXT),
    serialUUID: parse(join(folder, 'product_serial'), parseSerial),
    productUUID: parse(join(folder, 'product_uuid'), parseUUID),
  }
}

function parse(path: string, parser: (text: string, path: string) => Fact<string>): Fact<string> {
  const line = readLine(path, MAX_TEXT)
  return line.ok ? parser(line.value, path) : line
}

/** `VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b`: sixteen bytes in vCenter's order. */
function parseSerial(text: string, path: string): Fact<string> {
  if (!/^vmware-/i.test(text)) {
    return unreadable(
      'NotVMware',
      `${path} is no VMware serial number: this machine is no vSphere VM, or hides it`,
    )
  }
  const digits = text.slice('vmware-'.length).replace(/[ -]/g, '')
  return canonical(digits, path, 'sixteen bytes in hexadecimal after "VMware-"')
}

function parseUUID(text: string, path: string): Fact<string> {
  const shaped = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(text)
  return canonical(shaped ? text.replaceAll('-', '') : '', path, 'a UUID')
}

function canonical(digits: string, path: string, expected: string): Fact<string> {
  if (!/^[0-9a-f]{32}$/i.test(digits)) return unreadable('Malformed', `${path} does not have ${expected}`)
  if (/^(0+|f+)$/i.test(digits)) {
    return unreadable('NotSet', `${path} is all zeros or all ones: the firmware was given no UUID`)
  }
  return known(digits.toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'))
}
