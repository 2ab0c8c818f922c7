/**
 * What vCenter refuses: whole calls about many objects because of a single one, and properties of a VM that the account may not
 * read.
 */
import { compact } from '../../lib/memory.ts'
import { eachOf } from '../../lib/tasks.ts'
import type { VirtualMachine, Way } from '../../types/virtual-machine.ts'
import { CARD_PATHS, CLAIM_PATH, DEVICES_PATH, readName } from '../properties/property-values.ts'
import type { VMProperties } from '../properties/resync-properties.ts'
import {
  isGone,
  isOfObjects,
  isRefusal,
  namesObject,
  SoapFault,
  UnansweredError,
  VCenterError,
} from '../wire/errors.ts'
import { type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import type { ObjectContent } from './retrieve-properties.ts'

/** Calls beyond one for each group: finding one refused object among a thousand takes about twenty. */
const MAX_EXTRA_CALLS = 39

/**
 * Makes the call for all objects but the refused ones. vCenter refuses the whole call where one object may not be seen, is
 * gone, or fails in any other way (SystemError). An object that the fault names is left out; where it names another (often the
 * root folder), the refused ones are found by bisection. Returns the objects that would take too many calls: nothing is known
 * of them, and the next attempt is to begin with them. Throws the first failure that is not about single objects, when no call
 * is under way any more.
 */
export async function callWithoutRefused<T>(batches: {
  /** The objects, each group few enough for one call. */
  readonly groups: readonly (readonly T[])[]
  /** How many groups are called for at once; one by default. */
  readonly concurrency?: number
  readonly objectOf: (item: T) => ManagedObjectReference
  /** Makes one call. Throws a VCenterError. */
  readonly call: (items: readonly T[]) => Promise<void>
  /** Takes an object that vCenter refuses: its fault names the object, or the call was about no other. */
  readonly onRefused: (item: T, fault: SoapFault) => void
  /** Takes the objects of a call that is not answered for one of them; by default that is thrown. */
  readonly onUnanswered?: ((items: readonly T[], error: UnansweredError) => void) | undefined
  /** Faults that are about no single object. */
  readonly isOfAll?: ((error: unknown) => boolean) | undefined
}): Promise<readonly T[]> {
  const { groups, concurrency = 1, objectOf, call, onRefused, onUnanswered, isOfAll = () => false } = batches
  const whole = groups.filter((group) => group.length > 0)
  const left: (readonly T[])[] = []

  async function attempt(items: readonly T[]): Promise<void> {
    try {
      await (items.length === 1 ? callTwice(() => call(items)) : call(items))
    } catch (error) {
      if (error instanceof UnansweredError && onUnanswered !== undefined) return onUnanswered(items, error)
      if (!isRefusal(error) || isOfAll(error)) throw error
      const culprit = culpritOf(error, items, objectOf)
      if (culprit === undefined) {
        const half = items.length >> 1
        left.push(items.slice(half), items.slice(0, half))
        return
      }
      const others = items.filter((each) => each !== culprit)
      if (others.length > 0) left.push(others)
      // By itself it is asked for twice, and next: each attempt is to find some.
      if (others.length > 0 && mayPass(error)) left.push([culprit])
      else onRefused(culprit, error)
    }
  }

  // Each group once, then depth first: each attempt finds some, however many are refused.
  await eachOf(whole, attempt, { atOnce: concurrency })
  for (let extra = 0; extra < MAX_EXTRA_CALLS; extra++) {
    const items = left.pop()
    if (items === undefined) break
    await attempt(items)
  }
  return left.toReversed().flat()
}

/** The refused object, if known: the one that the fault names, or the only one. */
function culpritOf<T>(
  fault: SoapFault,
  items: readonly T[],
  objectOf: (item: T) => ManagedObjectReference,
): T | undefined {
  return items.length === 1 ? items[0] : items.find((item) => namesObject(fault, objectOf(item)))
}

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
 * Why nothing can be concluded from what was read of this VM; undefined where all essential properties may be read, even if
 * they are not set. vCenter may refuse single properties in an otherwise good answer (vSphere API, MissingProperty).
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
export function refused(
  fault: SoapFault | UnansweredError,
  what: string,
  vm: string,
  name: string | undefined,
): VCenterError {
  // This is not about privileges: the VM is gone by now.
  if (isGone(fault, vmReference(vm))) return fault
  const described = name === undefined ? vm : `"${name}" (${vm})`
  if (!(fault instanceof SoapFault)) return fault.about(`the VM ${described}`)
  const lacks = fault.privilege === undefined ? '' : ` without the privilege ${fault.privilege}`
  const message =
    fault.fault === 'NoPermission'
      ? `the account is not allowed to read ${what} of the VM ${described}${lacks}; give it the role Read-only on the root folder, with propagation`
      : `${what} of the VM ${described} cannot be read: ${fault.message}`
  return new VCenterError(fault.reason, message, { cause: fault })
}

/** The non-essential properties that are unknown because of unreadable paths. */
export function unreadableFacts(paths: readonly string[]): VirtualMachine['unreadable'] {
  return compact([
    ...(paths.includes('guest.net') ? (['guestNICs'] as const) : []),
    ...(paths.includes(CLAIM_PATH) ? (['claim'] as const) : []),
  ])
}

/** The properties of a VM with which the ways up from it begin. */
const FIRST_STEPS: Readonly<Record<Way, readonly string[]>> = {
  compute: ['runtime.host'],
  resourcePool: ['resourcePool'],
  folder: ['parent', 'parentVApp'],
}

/** Which of the properties with which this way up from the VM begins may not be read, in words. */
export function unreadableSteps({ moref, name, unreadable }: VMProperties, way: Way): readonly string[] {
  return FIRST_STEPS[way]
    .filter((path) => unreadable.includes(path))
    .map((path) => `${path} of VirtualMachine ${name} (${moref})`)
}

/** Faults that would come again. Others may have been chance, such as a vCenter under load. */
const LASTING: ReadonlySet<string> = new Set(['NoPermission', 'ManagedObjectNotFound', 'InvalidProperty'])

/** Whether the same call may succeed at once. One that hangs is not made twice: it takes too long. */
export function mayPass(error: SoapFault | UnansweredError): boolean {
  return error instanceof SoapFault ? !LASTING.has(error.fault) : error.reason !== 'TimedOut'
}

/** Makes a call, and makes it again if it fails for an object in a way that may pass. Throws what the last attempt throws. */
export async function callTwice<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!isOfObjects(error) || !mayPass(error)) throw error
    return await call()
  }
}
