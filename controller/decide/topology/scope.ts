import { type DatacenterPath, matchesDatacenter } from '../../datacenter-pattern.ts'
import type { Ancestry, VirtualMachine } from '../../types/virtual-machine.ts'
import { type ConditionValue, no } from '../condition.ts'
import { describeVM } from '../describe-vm.ts'

/**
 * The condition for a VM whose datacenter is not configured. Undefined where the VM is in scope; an empty list means every
 * datacenter.
 */
export function outOfScope(
  vm: VirtualMachine,
  ancestry: Ancestry,
  datacenters: readonly string[],
): ConditionValue | undefined {
  if (datacenters.length === 0) return undefined
  const datacenter = datacenterOf(ancestry)
  if (datacenter === undefined) {
    return no(
      'DatacenterUnreadable',
      `the datacenter of ${describeVM(vm)} cannot be read, and the configuration lists datacenters; give the vCenter account System.Read on the datacenter and the folders above it`,
    )
  }
  if (datacenters.some((wanted) => matchesDatacenter(wanted, datacenter))) return undefined
  return no(
    'DatacenterOutOfScope',
    `${describeVM(vm)} is in datacenter /${datacenter.path.join('/')}, which the configuration does not list; add it under datacenters, or move the VM back`,
  )
}

/** Undefined where it cannot be read. */
function datacenterOf({ folder, compute }: Ancestry): DatacenterPath | undefined {
  for (const way of [folder, compute]) {
    const index = way.findIndex(({ type }) => type === 'Datacenter')
    const datacenter = way[index]
    if (datacenter === undefined) continue
    // The last one is the root folder, which no path names.
    const above = way.slice(index, Math.max(index + 1, way.length - 1))
    return { moref: datacenter.moref, path: above.map(({ name }) => name).reverse() }
  }
  return undefined
}
