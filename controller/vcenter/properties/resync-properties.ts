/** The properties of one VM, before its ancestors and tags are joined. */
import { compact } from '../../lib/memory.ts'
import { machineState, type VirtualMachine } from '../../types/virtual-machine.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import {
  CARD_COUNT_PATH,
  CARD_PATHS,
  CUSTOM_VALUES_PATH,
  type CustomValue,
  DEVICES_PATH,
  METADATA_ENCODING_PATH,
  METADATA_PATH,
  readCards,
  readMetadata,
  readName,
  readNICs,
  readNumber,
  readUUID,
} from './property-values.ts'
import { type PropertyValues, PUSHED_PATHS, readPushed } from './pushed-properties.ts'

/** Changes with each change of the configuration; opaque. */
const CHANGE_VERSION_PATH = 'config.changeVersion'

/** Read again by each resync: what push may have missed, and what is never pushed. */
export const RESYNC_PATHS = [
  ...PUSHED_PATHS,
  'name',
  'parent',
  'parentVApp',
  'resourcePool',
  'config.template',
  CHANGE_VERSION_PATH,
] as const

/** Read when a VM is found, and again where {@link isReconfigured}. */
export const READ_PATHS = [
  ...RESYNC_PATHS,
  'config.instanceUuid',
  'config.guestId',
  'config.hardware.numCPU',
  'config.hardware.memoryMB',
  METADATA_PATH,
  METADATA_ENCODING_PATH,
  ...CARD_PATHS,
  CARD_COUNT_PATH,
] as const

/** Read instead where the network cards cannot be read alone: see {@link hasAllCards}. */
export const READ_PATHS_WITH_DEVICES: readonly string[] = [
  ...READ_PATHS.filter((path) => !CARD_PATHS.includes(path)),
  DEVICES_PATH,
]

/** Those of a {@link VirtualMachine} that are its own, and references to the objects above it. */
export interface VMProperties
  extends Omit<
    VirtualMachine,
    'vCenter' | 'host' | 'cluster' | 'datacenter' | 'ancestry' | 'attributes' | 'moving' | 'unreadable'
  > {
  /** The version of the configuration that was read. */
  readonly changeVersion: string | undefined
  readonly host: ManagedObjectReference | undefined
  /** The host that it had when its folder and its resource pool were read. */
  readonly placedOn: ManagedObjectReference | undefined
  readonly customValues: readonly CustomValue[]
  readonly resourcePool: ManagedObjectReference | undefined
  readonly parent: ManagedObjectReference | undefined
  readonly vApp: ManagedObjectReference | undefined
  /** Paths that the account may not read; their values count as unset. */
  readonly unreadable: readonly string[]
}

/**
 * A VM from all of {@link READ_PATHS}. While its configuration cannot be read (an inaccessible VM has none), the known
 * values stay, except for the UUID, by which it could be mistaken for another VM.
 */
export function readMachine(
  moref: string,
  values: PropertyValues,
  before: VMProperties | undefined,
  unreadable: readonly string[] = [],
): VMProperties {
  const readable = values.get('config.hardware.numCPU') && values.get('config.uuid')
  const known = readable === undefined ? before : undefined
  const devices = values.get(DEVICES_PATH)
  const nics = devices === undefined ? readCards(values) : readNICs(devices)
  const pushed = readPushed(values)
  return compact({
    ...pushed,
    placedOn: pushed.host,
    moref,
    name: readName(values.get('name')) ?? before?.name ?? moref,
    instanceUUID: readUUID(values.get('config.instanceUuid')) ?? known?.instanceUUID,
    template: (values.get('config.template')?.text ?? String(known?.template)) === 'true',
    cpus: readNumber(values.get('config.hardware.numCPU')) ?? known?.cpus ?? 0,
    memoryMB: readNumber(values.get('config.hardware.memoryMB')) ?? known?.memoryMB ?? 0,
    guestID: values.get('config.guestId')?.text ?? known?.guestID ?? '',
    nics: known === undefined ? nics : known.nics,
    staticAddresses: known === undefined ? readMetadata(values) : known.staticAddresses,
    changeVersion: values.get(CHANGE_VERSION_PATH)?.text ?? known?.changeVersion,
    parent: toReference(values.get('parent')),
    vApp: toReference(values.get('parentVApp')),
    resourcePool: toReference(values.get('resourcePool')),
    unreadable,
  })
}

/**
 * A VM with an unchanged configuration, from {@link RESYNC_PATHS}. What an inaccessible VM does not tell stays as it was,
 * except for the UUID.
 */
export function refreshMachine(
  before: VMProperties,
  values: PropertyValues,
  unreadable: readonly string[],
): VMProperties {
  const asked: readonly string[] = [...RESYNC_PATHS, CUSTOM_VALUES_PATH]
  const pushed = readPushed(values)
  return compact({
    ...before,
    ...pushed,
    placedOn: pushed.host,
    name: readName(values.get('name')) ?? before.name,
    template: (values.get('config.template')?.text ?? String(before.template)) === 'true',
    parent: toReference(values.get('parent')),
    vApp: toReference(values.get('parentVApp')),
    resourcePool: toReference(values.get('resourcePool')),
    unreadable: [...unreadable, ...before.unreadable.filter((path) => !asked.includes(path))],
  })
}

/**
 * vCenter starts no template, so one that runs is a VM again: that is pushed, while `config.template` waits for the resync. As
 * long as it passed for a template, a copy would pass for the Node's VM.
 */
export function isTemplateStill(machine: VMProperties): boolean {
  return machine.template && machineState(machine) !== 'runs'
}

/**
 * Whether the configuration has changed since it was read: `config.changeVersion` "is a unique identifier for a given version
 * of the configuration" (vSphere API, VirtualMachineConfigInfo). If it cannot be read, it counts as unchanged.
 */
export function isReconfigured(before: VMProperties, values: PropertyValues): boolean {
  if (values.get('config.uuid') === undefined) return false
  const version = values.get(CHANGE_VERSION_PATH)?.text
  return version === undefined || version !== before.changeVersion
}

/** Whether {@link READ_PATHS} cover all network cards; true as well where the configuration cannot be read. */
export function hasAllCards(values: PropertyValues): boolean {
  if (values.get('config.uuid') === undefined) return true
  return readNumber(values.get(CARD_COUNT_PATH)) === readCards(values).length
}
