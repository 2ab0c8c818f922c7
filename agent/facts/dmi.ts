import { join } from 'node:path'
import { ok, type Result } from '../shared/result.ts'
import { readLine, type Unreadable, unreadable } from './files.ts'

/** What the firmware says. */
export interface DMIFacts {
  readonly vendor: Result<string, Unreadable>
  readonly product: Result<string, Unreadable>
  /** BIOS UUID from `product_serial`, in vCenter's byte order, lower case. */
  readonly serialUUID: Result<string, Unreadable>
  /** UUID from `product_uuid`, in the kernel's byte order, lower case. */
  readonly productUUID: Result<string, Unreadable>
}

/** Longest text of a DMI field in a report. */
const MAX_TEXT = 128
const DIGITS = 32
/** Characters of a serial number with `SMBIOS.use12CharSerialNumber`, which some guests need: it does not contain the UUID. */
const SHORT_SERIAL = 12

/**
 * Reads `sys/class/dmi/id`. The serial and the UUID are of mode 0400, so this needs root. The vendor only affects error
 * messages: with `SMBIOS.reflectHost` a VM shows its host's vendor, and a serial of VMware's form is proof enough.
 */
export function readDMI(root: string): DMIFacts {
  const folder = join(root, 'sys/class/dmi/id')
  const vendor = readLine(join(folder, 'sys_vendor'), MAX_TEXT)
  const path = join(folder, 'product_serial')
  const serial = readLine(path, MAX_TEXT)
  const product = readLine(join(folder, 'product_uuid'), MAX_TEXT)
  return {
    vendor,
    product: readLine(join(folder, 'product_name'), MAX_TEXT),
    serialUUID: serial.ok ? parseSerial(serial.value, path, vendor) : serial,
    productUUID: product.ok ? parseUUID(product.value, join(folder, 'product_uuid')) : product,
  }
}

/** `VMware-42 0e 3f 74 ea 84 f9 a2-77 36 61 06 bb 5d bf 6b`: sixteen bytes in vCenter's order. */
function parseSerial(
  text: string,
  path: string,
  vendor: Result<string, Unreadable>,
): Result<string, Unreadable> {
  const bytes = /^vmware-(.*)$/i.exec(text)?.[1]
  if (bytes !== undefined) return parseBytes(bytes, path)
  if (vendor.ok && !/^vmware\b/i.test(vendor.value)) {
    const short = text.length === SHORT_SERIAL ? ', SMBIOS.use12CharSerialNumber' : ''
    return unreadable(
      'NotVMware',
      `vendor and ${path} are not VMware's: this machine is not a vSphere VM, or shows its host's (SMBIOS.reflectHost, serialNumber.reflectHost${short})`,
    )
  }
  if (isPlaceholder(text)) return notSet(path, 'a placeholder')
  if (vendor.ok && text.length === SHORT_SERIAL)
    return unreadable(
      'NotVMware',
      `the vendor is VMware, but ${path} has ${SHORT_SERIAL} characters: take SMBIOS.use12CharSerialNumber out of the VM's settings, and serialNumber where it is set`,
    )
  return unreadable(
    'NotVMware',
    vendor.ok
      ? `the vendor is VMware, but ${path} is not a VMware serial number: take serialNumber and serialNumber.reflectHost out of the VM's settings`
      : `${path} is not a VMware serial number: is this machine a vSphere VM?`,
  )
}

function parseUUID(text: string, path: string): Result<string, Unreadable> {
  return isPlaceholder(text) ? notSet(path, 'a placeholder') : parseBytes(text, path)
}

/** Hexadecimal digits in any grouping: spaces, hyphens and braces are ignored. */
function parseBytes(text: string, path: string): Result<string, Unreadable> {
  const digits = text.replace(/[ {}-]/g, '').toLowerCase()
  if (!/^[0-9a-f]*$/.test(digits)) {
    return malformed(`${path} contains characters other than hexadecimal digits`)
  }
  if (digits.length !== DIGITS) {
    return malformed(`${path} has ${digits.length} hexadecimal digits instead of ${DIGITS}`)
  }
  if (/^0+$/.test(digits)) return notSet(path, 'all zeros')
  if (/^f+$/.test(digits)) return notSet(path, 'all ones')
  return ok(digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'))
}

function malformed(shape: string): Result<never, Unreadable> {
  return unreadable('Malformed', `${shape}: see uuid.bios in the VM's settings`)
}

function notSet(path: string, shape: string): Result<never, Unreadable> {
  return unreadable('NotSet', `${path} is ${shape}: the firmware was given none, set uuid.bios of the VM`)
}

/** Placeholders that firmware and kernel use for unset values. */
function isPlaceholder(text: string): boolean {
  return /^(none|n\/a|null|0|unknown|empty|(system )?serial number|to be filled by o\.?e\.?m\.?|default string|not (specified|set|settable|present|available|applicable))$/i.test(
    text,
  )
}
