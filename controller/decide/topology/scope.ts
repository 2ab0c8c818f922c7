import type { Ancestry, VirtualMachine } from '../../types/virtual-machine.ts'
import { type ConditionValue, no } from '../condition.ts'
import { describeVM } from '../describe-vm.ts'

/**
 * The condition for a VM whose datacenter is not configured. Datacenters are names (`dc-1`) or inventory paths
 * (`/europe/dc-1`). Undefined where the VM is in scope; an empty list means every datacenter.
 */
export function outOfScope(
  vm: VirtualMachine,
  ancestry: Ancestry,
  datacenters: readonly string[],
): ConditionValue | undefined {
  if (datacenters.length === 0) return undefined
  const path = datacenterPath(ancestry)
  const name = path.at(-1)
  if (name === undefined) {
    return no(
      'DatacenterUnreadable',
      `the datacenter of ${describeVM(vm)} cannot be read, and the configuration lists datacenters; give the vCenter account System.Read on the datacenter and the folders above it`,
    )
  }
  if (datacenters.some((wanted) => matches(wanted, path))) return undefined
  return no(
    'DatacenterOutOfScope',
    `${describeVM(vm)} is in datacenter /${path.join('/')}, which the configuration does not list; add it under datacenters, or move the VM back`,
  )
}

function matches(wanted: string, path: readonly string[]): boolean {
  return wanted.includes('/') ? wanted.replace(/^\//, '') === path.join('/') : wanted === path.at(-1)
}

/** From below the root folder down to the datacenter; empty where it cannot be read. */
function datacenterPath({ folder, compute }: Ancestry): string[] {
  for (const way of [folder, compute]) {
    const index = way.findIndex(({ type }) => type === 'Datacenter')
    if (index < 0) continue
    // The last one is the root folder, which no path names.
    return way
      .slice(index, Math.max(index + 1, way.length - 1))
      .map(({ name }) => name)
      .reverse()
  }
  return []
}
