/** A managed object reference; unique only within its vCenter. */
export interface ManagedObjectReference {
  /** `VirtualMachine`, `HostSystem`, ... */
  readonly type: string
  /** `vm-42`. */
  readonly value: string
}

/** The reference as a key of a Map or a Set. */
export function keyOf({ type, value }: ManagedObjectReference): string {
  return `${type}:${value}`
}

/** The reference of the VM with this moref. */
export function vmReference(value: string): ManagedObjectReference {
  return { type: 'VirtualMachine', value }
}

/** The moref of the VM with this key; undefined where it is the key of another object. */
export function vmOfKey(key: string): string | undefined {
  return key.startsWith(VM_KEY) ? key.slice(VM_KEY.length) : undefined
}

const VM_KEY = keyOf(vmReference(''))
