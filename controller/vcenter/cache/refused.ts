/** VMs of which the account may not read enough: nothing is concluded from the rest. */
import type { UnreadableProperty } from '../../types/virtual-machine.ts'
import type { ObjectContent } from '../collect/object-content.ts'
import { type SoapFault, VCenterError } from '../wire/errors.ts'
import { CARD_PATHS, CLAIM_PATH, DEVICES_PATH, readName } from './properties.ts'
import type { VMProperties } from './vm-properties.ts'

/**
 * Without these nothing true can be said of a VM: which one it is, whether it runs, and which MACs it has. An unknown
 * state must not pass for one in which its host or datastore is away, nor unknown vNICs for a VM without any.
 */
const ESSENTIAL = [
  'config.uuid',
  'runtime.connectionState',
  'runtime.powerState',
  DEVICES_PATH,
  ...CARD_PATHS,
]

/**
 * Why this VM cannot be judged; undefined where all that is essential may be read, though it may not be set.
 * vCenter refuses single properties within an answer that is otherwise good (vSphere API, MissingProperty).
 */
export function refusalOf(
  { reference, properties, missing }: ObjectContent,
  before: VMProperties | undefined,
): VCenterError | undefined {
  for (const path of ESSENTIAL) {
    const fault = missing.get(path)
    // A path that vCenter does not know is no refusal: what it stands for is read by another.
    if (fault === undefined || fault.fault === 'InvalidProperty') continue
    return refused(fault, path, reference.value, readName(properties.get('name')) ?? before?.name)
  }
  return undefined
}

/** A refusal in words that name the VM, as far as its name is known, and what the account lacks. */
export function refused(fault: SoapFault, what: string, vm: string, name: string | undefined): VCenterError {
  // It says nothing about a right to read, but that the VM is gone by now.
  if (fault.fault === 'ManagedObjectNotFound') return fault
  const described = name === undefined ? vm : `"${name}" (${vm})`
  const lacks = fault.privilege === undefined ? '' : ` for want of ${fault.privilege}`
  const message =
    fault.fault === 'NoPermission'
      ? `the account may not read ${what} of the VM ${described}${lacks}, give it the role Read-only from the root on, with propagation`
      : `${what} of the VM ${described} cannot be read: ${fault.message}`
  return new VCenterError(fault.reason, message, { cause: fault })
}

/** Properties that a VM can do without, as the facts that are not known without them. */
export function unreadableFacts(paths: readonly string[]): readonly UnreadableProperty[] {
  return [
    ...(paths.includes('guest.net') ? (['guestNICs'] as const) : []),
    ...(paths.includes(CLAIM_PATH) ? (['claim'] as const) : []),
  ]
}

/** By these it is known where a VM is. */
const PLACE = ['runtime.host', 'resourcePool', 'parent', 'parentVApp']

/** What of a VM's place may not be read, in words. */
export function unreadablePlace({ moref, name, unreadable }: VMProperties): readonly string[] {
  return PLACE.filter((path) => unreadable.includes(path)).map(
    (path) => `${path} of VirtualMachine ${name} (${moref})`,
  )
}
