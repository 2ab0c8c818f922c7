import { isIPv4 } from 'node:net'
import { type AddressTable, readAddressTable } from './facts/addresses.ts'
import { readDMI } from './facts/dmi.ts'
import { readInterfaces } from './facts/interfaces.ts'
import { readDefaultRoutes } from './facts/kernel.ts'
import { failed, ok, type Result } from './shared/result.ts'

/**
 * The kubelet's arguments that a machine knows of itself before it has a Node: its provider ID, and its node IP, which is that of
 * the NIC by which it reaches others. Both or neither, because a kubelet registers once, with what it has.
 *
 * @param system `os.networkInterfaces`
 */
export function kubeletArgs(root: string, system: () => AddressTable): Result<string> {
  const { serialUUID } = readDMI(root)
  if (!serialUUID.ok) return serialUUID
  const table = readAddressTable(root, system)
  if (!table.ok) return table
  const routes = readDefaultRoutes(root)
  if (!routes.read.ok) return routes.read
  const { interfaces } = readInterfaces(root, table.value, routes.interfaces)
  if (!interfaces.ok) return interfaces
  // In the kernel's order: IPv4 before IPv6, and of each the default route that it prefers.
  const addresses = [...routes.interfaces].flatMap(
    (name) => interfaces.value.find((each) => each.name === name)?.addresses ?? [],
  )
  const ipv4 = addresses.filter(({ address }) => isIPv4(address))
  // A host prefix belongs to a virtual IP, or to a network that gives no other; the first address of a subnet comes first.
  const nodeIP = ipv4.find(({ prefixLength }) => prefixLength < 32) ?? ipv4[0] ?? addresses[0]
  if (nodeIP === undefined)
    return failed(
      "no NIC with a default route has an address: run it once the network is up, as after systemd's network-online.target",
    )
  return ok(`--provider-id=vsphere://${serialUUID.value} --node-ip=${nodeIP.address}`)
}
