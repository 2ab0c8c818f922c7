/** VMs that the account may not read sufficiently: nothing is concluded from the rest. */
import type { UnreadableProperty } from '../../types/virtual-machine.ts'
import type { ObjectContent } from '../collect/object-content.ts'
import { CARD_PATHS, CLAIM_PATH, DEVICES_PATH, readName } from '../properties/property-values.ts'
import type { VMProperties } from '../properties/resync-properties.ts'
import { isGone, type SoapFault, VCenterError } from '../wire/errors.ts'
import { vmReference } from '../wire/managed-object-reference.ts'

/**
 * Without these nothing can be said about a VM: which one it is, whether it runs, and which MACs it has. An unknown state
 * must not look like an outage of its host or datastore, nor unknown vNICs like a VM without any.
 */
const ESSENTIAL = [
  'config.uuid',
  'runtime.connectionState',
  'runtime.powerState',
  DEVICES_PATH,
  ...CARD_PATHS,
]

/**
 * Why this VM is unreadable; undefined where all essential properties may be read, even if they are not set. vCenter may
 * refuse single properties in an otherwise good answer (vSphere API, MissingProperty).
 */
export function refusalOf(
  { reference, properties, missing }: ObjectContent,
  before: VMProperties | undefined,
): VCenterError | undefined {
  for (const path of ESSENTIAL) {
    const fault = missing.get(path)
    // A path that vCenter does not know is not refused: the same is read by another path.
    if (fault === undefined || fault.fault === 'InvalidProperty') continue
    return refused(fault, path, reference.value, readName(properties.get('name')) ?? before?.name)
  }
  return undefined
}

/** The error for a refused VM, which names the VM, if its name is known, and what the account lacks. */
export function refused(fault: SoapFault, what: string, vm: string, name: string | undefined): VCenterError {
  // This is not about privileges: the VM is gone by now.
  if (isGone(fault, vmReference(vm))) return fault
  const described = name === undefined ? vm : `"${name}" (${vm})`
  const lacks = fault.privilege === undefined ? '' : ` without the privilege ${fault.privilege}`
  const message =
    fault.fault === 'NoPermission'
      ? `the account may not read ${what} of the VM ${described}${lacks}; give it the role Read-only on the root folder, with propagation`
      : `${what} of the VM ${described} cannot be read: ${fault.message}`
  return new VCenterError(fault.reason, message, { cause: fault })
}

/** The non-essential properties that are unknown because of unreadable paths. */
export function unreadableFacts(paths: readonly string[]): readonly UnreadableProperty[] {
  return [
    ...(paths.includes('guest.net') ? (['guestNICs'] as const) : []),
    ...(paths.includes(CLAIM_PATH) ? (['claim'] as const) : []),
  ]
}

/** Paths that tell where a VM is. */
const PLACE = ['runtime.host', 'resourcePool', 'parent', 'parentVApp']

/** Which of a VM's properties that say where it is may not be read, in words. */
export function unreadablePlace({ moref, name, unreadable }: VMProperties): readonly string[] {
  return PLACE.filter((path) => unreadable.includes(path)).map(
    (path) => `${path} of VirtualMachine ${name} (${moref})`,
  )
}
