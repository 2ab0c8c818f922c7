import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { NetworkInterface } from '../shared/node-report.ts'
import { ok, type Result } from '../shared/result.ts'
import { type AddressTable, type RawAddress, readIPv6Flags, selectAddresses } from './addresses.ts'
import { readLine, type Unreadable, unreadable } from './files.ts'

/**
 * The machine's NICs (interfaces with a device) and interfaces on top of them with the same MAC address: bonds, VLANs,
 * bridges. Container interfaces have MAC addresses of their own and are left out. Interfaces with a default route come
 * first, then those with addresses.
 *
 * @param defaultRoutes names of the interfaces by which a default route leaves
 */
export function readInterfaces(
  root: string,
  addresses: AddressTable,
  defaultRoutes: ReadonlySet<string>,
): Result<NetworkInterface[], Unreadable> {
  const folder = join(root, 'sys/class/net')
  let names: string[]
  try {
    names = readdirSync(folder)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'an unknown error'
    return unreadable('Unreadable', `${folder} cannot be listed: ${code}`)
  }
  const nics = names.flatMap((name) => readNic(folder, name))
  const macs = new Set(nics.filter((nic) => nic.physical).map((nic) => nic.mac))
  const flags = readIPv6Flags(root)
  const interfaces = nics
    .filter((nic) => macs.has(nic.mac))
    .map((nic) => ({
      nic,
      report: {
        name: nic.name,
        mac: nic.mac,
        defaultRoute: defaultRoutes.has(nic.name),
        addresses: selectAddresses(nic.name, own(addresses, nic.name), flags),
      },
    }))
    .filter(({ nic, report }) => nic.physical || report.addresses.length > 0)
    .map(({ report }) => report)
  return ok(interfaces.sort(byImportance))
}

/** An interface may be called `constructor`, which is a property of every object. */
function own(addresses: AddressTable, name: string): readonly RawAddress[] {
  return (Object.hasOwn(addresses, name) ? addresses[name] : undefined) ?? []
}

function readNic(folder: string, name: string) {
  // The kernel's limit on names, IFNAMSIZ; anything else in that folder is not an interface.
  if (!/^[\x21-\x7e]{1,15}$/.test(name)) return []
  const path = join(folder, name)
  const physical = existsSync(join(path, 'device'))
  // All members of a bond show the bond's address; the NIC's own, which vCenter knows, is in another file.
  const own = physical ? readLine(join(path, 'bonding_slave/perm_hwaddr'), 64) : undefined
  const mac = own?.ok ? own : readLine(join(path, 'address'), 64)
  if (!mac.ok || !/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/i.test(mac.value) || /^[0:]+$/.test(mac.value)) return []
  return [{ name, mac: mac.value.toLowerCase(), physical }]
}

function byImportance(a: NetworkInterface, b: NetworkInterface): number {
  return (
    Number(b.defaultRoute) - Number(a.defaultRoute) ||
    Number(b.addresses.length > 0) - Number(a.addresses.length > 0) ||
    a.name.length - b.name.length ||
    (a.name < b.name ? -1 : 1)
  )
}
