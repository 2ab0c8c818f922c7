/** VMs that vCenter refused the last time. They are read after all others: finding the refused among many takes calls. */

import type { VMProperties } from '../properties/resync-properties.ts'
import type { VCenterError } from '../wire/errors.ts'
import { keyOf, vmReference } from '../wire/managed-object-reference.ts'
import { readMachines, type UnreadObjects } from './read-machines.ts'
import type { PropertyReader } from './retrieve-properties.ts'

export interface Suspects {
  /** Reads these VMs as `readMachines` does; those that are left may be among the refused ones. */
  read(
    vms: readonly string[],
    known: (vm: string) => VMProperties | undefined,
    signal: AbortSignal,
  ): Promise<UnreadObjects & { readonly machines: ReadonlyMap<string, VMProperties> }>
  /** How vCenter refused a VM the last time it was read. */
  refusalOf(vm: string): VCenterError | undefined
}

export function createSuspects(reader: PropertyReader): Suspects {
  /** Those that were refused longest ago come first. */
  const refusals = new Map<string, VCenterError>()

  return {
    async read(vms, known, signal) {
      const wanted = new Set(vms)
      const others = vms.filter((vm) => !refusals.has(vm))
      const suspects = [...refusals.keys()].filter((vm) => wanted.has(vm))
      const machines = new Map<string, VMProperties>()
      const gone = new Set<string>()
      const denied = new Map<string, VCenterError>()
      const left = new Set<string>()
      for (const some of [others, suspects]) {
        if (some.length === 0) continue
        const read = await readMachines(reader, some, known, signal)
        for (const [vm, machine] of read.machines) machines.set(vm, machine)
        for (const key of read.gone) gone.add(key)
        for (const [key, refusal] of read.denied) denied.set(key, refusal)
        for (const key of read.left) left.add(key)
      }
      for (const vm of vms) {
        const key = keyOf(vmReference(vm))
        if (left.has(key)) continue
        refusals.delete(vm)
        const refusal = denied.get(key)
        if (refusal !== undefined) refusals.set(vm, refusal)
      }
      return { machines, gone, denied, left }
    },
    refusalOf: (vm) => refusals.get(vm),
  }
}
