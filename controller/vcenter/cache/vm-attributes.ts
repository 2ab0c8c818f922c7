import type { Result } from '../../../agent/shared/result.ts'
import type { AttributeValues, VirtualMachine } from '../../types/virtual-machine.ts'
import { CUSTOM_VALUES_PATH } from '../properties/property-values.ts'
import type { VMProperties } from '../properties/resync-properties.ts'

/** Joins the custom attributes of VMs, which vCenter pushes by key, with their names. */
export interface VMAttributes {
  /** Takes the names by key as they were read, or why they could not be. */
  define(names: Result<ReadonlyMap<number, string>>): void
  of(machine: VMProperties): Pick<VirtualMachine, 'attributes'>
}

/** @param wanted the names of those that are of interest */
export function createVMAttributes(wanted: ReadonlySet<string>): VMAttributes {
  let names: Result<ReadonlyMap<number, string>> = {
    ok: false,
    message: 'the names of custom attributes are not read yet',
  }

  function valuesOf(name: string, { customValues, unreadable }: VMProperties): AttributeValues {
    if (!names.ok) return { unread: names.message }
    const keys = [...names.value].flatMap(([key, each]) => (each === name ? key : []))
    if (keys.length === 0)
      return {
        unread: `vCenter shows no custom attribute "${name}" for VMs: create it under "Tags & Custom Attributes", or correct the name`,
      }
    if (unreadable.includes(CUSTOM_VALUES_PATH))
      return { unread: 'the account may not read the custom attributes of the VM' }
    return { values: customValues.flatMap(({ key, value }) => (keys.includes(key) ? value : [])) }
  }

  return {
    define(read) {
      names = read
    },
    of: (machine) => ({
      attributes: new Map(Array.from(wanted, (name) => [name, valuesOf(name, machine)])),
    }),
  }
}
