/** Reads VMs, and the objects above them, by moref. */
import { entryIn, spread, withoutKeys } from '../properties/property-values.ts'
import {
  hasAllCards,
  READ_PATHS,
  READ_PATHS_WITH_DEVICES,
  readMachine,
  type VMProperties,
} from '../properties/resync-properties.ts'
import { isGone, isInvalidProperty, type SoapFault, type VCenterError } from '../wire/errors.ts'
import { keyOf, type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import { callWithoutRefused, refusalOf, refused } from './refusals.ts'
import {
  lenientFilterSpec,
  type ObjectContent,
  objectSpec,
  type PropertyReader,
  propertySpec,
} from './retrieve-properties.ts'

/** Objects per request; each takes about 150 bytes. */
const BATCH = 1_000
/** While vCenter prepares one answer, another is parsed. */
const CONCURRENCY = 2

/** What came of reading VMs; a VM in none of these was silently left out by vCenter. */
export interface VMReads {
  /** By moref. */
  readonly machines: ReadonlyMap<string, VMProperties>
  /** By key: vCenter says of exactly these that they do not exist. */
  readonly gone: ReadonlySet<string>
  /** By key: refused or unreadable, with the reason. */
  readonly denied: ReadonlyMap<string, VCenterError>
  /** By key: not read, because of others. Nothing is known of them; they are to be read first next time. */
  readonly left: ReadonlySet<string>
  /** By key: those of `left` that were in quarantine. It has them read again once it frees them, which may have been by now. */
  readonly parked: ReadonlySet<string>
}

const nothingRead = () => ({
  machines: new Map<string, VMProperties>(),
  gone: new Set<string>(),
  denied: new Map<string, VCenterError>(),
  left: new Set<string>(),
  parked: new Set<string>(),
})

/** Reads these VMs; `known` returns the present state of a VM. The result is added to `into`. */
export async function readMachines(
  reader: PropertyReader,
  vms: readonly string[],
  known: (vm: string) => VMProperties | undefined,
  signal: AbortSignal,
  into = nothingRead(),
): Promise<VMReads> {
  const { machines, gone, denied, left, parked } = into

  /** Returns the VMs whose network cards were not all among the properties. */
  async function readAll(some: readonly string[], paths: readonly string[]): Promise<string[]> {
    const properties = propertySpec('VirtualMachine', [...paths, ...(reader.vmPaths ?? [])])
    const withDevices = paths !== READ_PATHS
    const incomplete = new Set<string>()
    const refusals = await readObjects(
      reader,
      some.map(vmReference),
      (objects) => [lenientFilterSpec(properties, objects.map((each) => objectSpec(each)).join(''))],
      // Parsed at once: a VM's XML is a hundred times larger.
      (read) => {
        const object = paths === PATHS_WITHOUT_KEYS ? withEntries(read) : read
        const { reference, excess } = object
        const before = known(reference.value)
        const refusal = excess ?? refusalOf(object, before)
        if (refusal !== undefined) {
          if (isGone(refusal, reference)) gone.add(keyOf(reference))
          else denied.set(keyOf(reference), refusal)
        } else if (withDevices || hasAllCards(object.properties)) {
          const { properties, missing } = object
          machines.set(reference.value, readMachine(reference.value, properties, before, [...missing.keys()]))
        } else incomplete.add(reference.value)
      },
      signal,
      // A server that does not know keyed paths fails the call about any VM.
      paths === PATHS_WITHOUT_KEYS ? undefined : isInvalidProperty,
    )
    for (const key of refusals.gone) gone.add(key)
    for (const key of refusals.left) left.add(key)
    for (const vm of some) {
      const key = keyOf(vmReference(vm))
      const held = reader.quarantine?.held(key)
      if (held?.alone === false || (held === undefined && refusals.parked.has(key))) {
        left.add(key)
        parked.add(key)
      }
      const fault = held?.alone === true ? held.error : refusals.denied.get(key)
      if (fault !== undefined) denied.set(key, refused(fault, 'anything', vm, known(vm)?.name))
    }
    return [...incomplete]
  }

  try {
    const incomplete = await readAll(vms, READ_PATHS)
    if (incomplete.length > 0) await readAll(incomplete, READ_PATHS_WITH_DEVICES)
  } catch (error) {
    if (!isInvalidProperty(error)) throw error
    await readAll(vms, PATHS_WITHOUT_KEYS)
  }
  return into
}

const PATHS_WITHOUT_KEYS = withoutKeys(READ_PATHS)

/** As if the paths with keys had been asked for. */
function withEntries(object: ObjectContent): ObjectContent {
  return {
    ...object,
    properties: spread(object.properties, READ_PATHS, entryIn),
    missing: spread(object.missing, READ_PATHS, (fault) => fault),
  }
}

/**
 * Reads what `specs` selects for these objects, the first ones first. Those that vCenter refuses, or does not answer for, do not
 * keep the others from being read; none is read that is in quarantine.
 *
 * @param isOfAll the faults that are about no single object, which are thrown
 */
export async function readObjects(
  reader: PropertyReader,
  objects: readonly ManagedObjectReference[],
  specs: (objects: readonly ManagedObjectReference[]) => readonly string[],
  take: (object: ObjectContent) => void,
  signal: AbortSignal,
  isOfAll?: (error: unknown) => boolean,
) {
  const gone = new Set<string>()
  const denied = new Map<string, SoapFault>()
  const { quarantine, hold } = reader
  const parked = new Set<string>()
  const free: ManagedObjectReference[] = []
  for (const object of objects) {
    const key = keyOf(object)
    if (quarantine?.held(key) === undefined) free.push(object)
    else parked.add(key)
  }
  const groups: (readonly ManagedObjectReference[])[] = []
  for (let i = 0; i < free.length; i += BATCH) groups.push(free.slice(i, i + BATCH))
  const left = await callWithoutRefused({
    groups,
    concurrency: CONCURRENCY,
    objectOf: (object) => object,
    call: (some) => reader.read(specs(some), take, signal),
    onRefused(object, fault) {
      if (isGone(fault, object)) gone.add(keyOf(object))
      else denied.set(keyOf(object), fault)
    },
    onUnanswered:
      hold &&
      ((some, error) => {
        for (const object of some) parked.add(keyOf(object))
        hold(some, specs, error)
      }),
    isOfAll,
  })
  return { gone, denied, left: new Set(left.map(keyOf)), parked }
}

/** Reads VMs, those last that vCenter refused the last time: finding the refused among many takes calls. */
export function createSuspects(reader: PropertyReader) {
  /** Those that were refused longest ago come first. */
  const refusals = new Map<string, VCenterError>()

  return {
    /** Reads these VMs as {@link readMachines} does; those that are left may be among the refused ones. */
    async read(
      vms: readonly string[],
      known: (vm: string) => VMProperties | undefined,
      signal: AbortSignal,
    ): Promise<VMReads> {
      const wanted = new Set(vms)
      const others = vms.filter((vm) => !refusals.has(vm))
      const suspects = [...refusals.keys()].filter((vm) => wanted.has(vm))
      const reads = nothingRead()
      for (const some of [others, suspects])
        if (some.length > 0) await readMachines(reader, some, known, signal, reads)
      for (const vm of vms) {
        const key = keyOf(vmReference(vm))
        if (reads.left.has(key)) continue
        refusals.delete(vm)
        const refusal = reads.denied.get(key)
        if (refusal !== undefined) refusals.set(vm, refusal)
      }
      return reads
    },
    /** How vCenter refused a VM the last time it was read. */
    refusalOf: (vm: string): VCenterError | undefined => refusals.get(vm),
  }
}
