import {
  type DatacenterPath,
  isPath,
  matchesDatacenter,
  pathOf,
} from '../../../../config/datacenter-pattern.ts'
import { type ConditionValue, no } from '../../../../types/condition-value.ts'
import type { Ancestry, VirtualMachine } from '../../../../types/virtual-machine.ts'
import { describeVM } from '../bound-vm.ts'

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
  if (ancestry.unreadableAbove !== undefined && datacenters.some(isPath)) {
    return no(
      'DatacenterUnreadable',
      `what is above datacenter "${pathOf(datacenter).slice(1)}" of ${describeVM(vm)} cannot be read, and the configuration lists datacenters by their paths; give the vCenter account System.Read on the folders above it, or write names`,
    )
  }
  return no(
    'DatacenterOutOfScope',
    `${describeVM(vm)} is in datacenter ${pathOf(datacenter)}, which the configuration does not list; add it under datacenters, or move the VM into one that it lists`,
  )
}

/** Undefined where it cannot be read. */
function datacenterOf({ folder, compute, unreadableAbove }: Ancestry): DatacenterPath | undefined {
  for (const way of [folder, compute]) {
    const index = way.findIndex(({ type }) => type === 'Datacenter')
    const datacenter = way[index]
    if (datacenter === undefined) continue
    // The last one is the root folder, which no path names, unless the account cannot see that far.
    const end = unreadableAbove === undefined ? Math.max(index + 1, way.length - 1) : way.length
    const above = way.slice(index, end)
    return { moref: datacenter.moref, path: above.map(({ name }) => name).reverse() }
  }
  return undefined
}
