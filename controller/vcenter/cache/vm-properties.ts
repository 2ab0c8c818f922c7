/** The properties of one VM, before its ancestors and tags are joined. */
import { isDeepStrictEqual } from 'node:util'
import type { ConnectionState, PowerState, VirtualMachine } from '../../types/virtual-machine.ts'
import { detach } from '../wire/detach.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import type { XMLElement } from '../wire/xml.ts'
import {
  CARD_COUNT_PATH,
  CARD_PATHS,
  CLAIM_PATH,
  DEVICES_PATH,
  METADATA_ENCODING_PATH,
  METADATA_PATH,
  readCards,
  readFaultTolerance,
  readGuestNICs,
  readMetadata,
  readName,
  readNICs,
  readNumber,
  readOption,
  readUUID,
} from './properties.ts'

/**
 * Pushed by vCenter. Few, and none that is large or changes without need: claim and addresses must be seen within a second,
 * the host decides labels, a VM is found by its UUID, and the primary of a Fault Tolerance group may change at any time. The
 * states are for the lifecycle of Nodes.
 */
export const PUSHED_PATHS = [
  'config.uuid',
  'runtime.connectionState',
  'runtime.powerState',
  'runtime.host',
  'guest.net',
  'config.ftInfo',
  CLAIM_PATH,
] as const

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
  extends Omit<VirtualMachine, 'vCenter' | 'host' | 'cluster' | 'datacenter' | 'ancestry' | 'unreadable'> {
  /** The version of the configuration that was read. */
  readonly changeVersion: string | undefined
  readonly host: ManagedObjectReference | undefined
  readonly resourcePool: ManagedObjectReference | undefined
  readonly parent: ManagedObjectReference | undefined
  readonly vApp: ManagedObjectReference | undefined
  /** Paths that the account may not read; their values count as unset. */
  readonly unreadable: readonly string[]
}

type Values = ReadonlyMap<string, XMLElement | undefined>

/**
 * A VM from all of {@link READ_PATHS}. While its configuration cannot be read (an inaccessible VM has none), the known
 * values stay, except for the UUID, by which it could be mistaken for another VM.
 */
export function readMachine(
  moref: string,
  values: Values,
  before: VMProperties | undefined,
  unreadable: readonly string[] = [],
): VMProperties {
  const readable = values.get('config.hardware.numCPU') && values.get('config.uuid')
  const known = readable === undefined ? before : undefined
  const devices = values.get(DEVICES_PATH)
  const nics = devices === undefined ? readCards(values) : readNICs(devices)
  return detach({
    ...readPushed(values),
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
  values: Values,
  unreadable: readonly string[],
): VMProperties {
  const asked: readonly string[] = RESYNC_PATHS
  return detach({
    ...before,
    ...readPushed(values),
    name: readName(values.get('name')) ?? before.name,
    template: (values.get('config.template')?.text ?? String(before.template)) === 'true',
    parent: toReference(values.get('parent')),
    vApp: toReference(values.get('parentVApp')),
    resourcePool: toReference(values.get('resourcePool')),
    unreadable: [...unreadable, ...before.unreadable.filter((path) => !asked.includes(path))],
  })
}

/**
 * Whether the configuration has changed since it was read: `config.changeVersion` "is a unique identifier for a given version
 * of the configuration" (vSphere API, VirtualMachineConfigInfo). If it cannot be read, it counts as unchanged.
 */
export function isReconfigured(before: VMProperties, values: Values): boolean {
  if (values.get('config.uuid') === undefined) return false
  const version = values.get(CHANGE_VERSION_PATH)?.text
  return version === undefined || version !== before.changeVersion
}

/** Whether {@link READ_PATHS} cover all network cards; true as well where the configuration cannot be read. */
export function hasAllCards(values: Values): boolean {
  if (values.get('config.uuid') === undefined) return true
  return readNumber(values.get(CARD_COUNT_PATH)) === readCards(values).length
}

type Pushed = Pick<
  VMProperties,
  'biosUUID' | 'connectionState' | 'powerState' | 'host' | 'guestNICs' | 'faultTolerance' | 'claim'
>

function readPushed(values: Values): Pushed {
  return {
    biosUUID: readUUID(values.get('config.uuid')),
    connectionState: readConnectionState(values.get('runtime.connectionState')),
    powerState: readPowerState(values.get('runtime.powerState')),
    host: toReference(values.get('runtime.host')),
    guestNICs: readGuestNICs(values.get('guest.net')),
    faultTolerance: readFaultTolerance(values.get('config.ftInfo')),
    claim: readOption(values.get(CLAIM_PATH)),
  }
}

/** The VM after it entered the watch, with present values for all of {@link PUSHED_PATHS}. */
export function enterMachine(machine: VMProperties, values: Values): VMProperties {
  return { ...machine, ...detach(readPushed(values)) }
}

/** The VM after some of {@link PUSHED_PATHS} changed. */
export function changeMachine(machine: VMProperties, values: Values): VMProperties {
  let changed = machine
  for (const [path, value] of values) {
    switch (path) {
      case 'config.uuid':
        changed = { ...changed, biosUUID: readUUID(value) }
        break
      case 'runtime.connectionState':
        changed = { ...changed, connectionState: readConnectionState(value) }
        break
      case 'runtime.powerState':
        changed = { ...changed, powerState: readPowerState(value) }
        break
      case 'runtime.host':
        changed = { ...changed, host: toReference(value) }
        break
      case 'guest.net':
        changed = { ...changed, guestNICs: readGuestNICs(value) }
        break
      case 'config.ftInfo':
        changed = { ...changed, faultTolerance: readFaultTolerance(value) }
        break
      case CLAIM_PATH:
        changed = { ...changed, claim: readOption(value) }
        break
    }
  }
  return detach(changed)
}

/**
 * A VM as it was read, but with updates pushed meanwhile: `before` is what was known when the read began, `now` what is
 * known at its end. A read takes seconds, so its values of pushed properties may be stale.
 */
export function keepPushed(
  read: VMProperties,
  before: VMProperties | undefined,
  now: VMProperties | undefined,
): VMProperties {
  if (before === undefined || now === undefined || before === now) return read
  const newer = <K extends keyof Pushed>(key: K): VMProperties[K] =>
    isDeepStrictEqual(before[key], now[key]) ? read[key] : now[key]
  return {
    ...read,
    biosUUID: newer('biosUUID'),
    connectionState: newer('connectionState'),
    powerState: newer('powerState'),
    host: newer('host'),
    guestNICs: newer('guestNICs'),
    faultTolerance: newer('faultTolerance'),
    claim: newer('claim'),
  }
}

const CONNECTION_STATES: ReadonlySet<string> = new Set<ConnectionState>([
  'connected',
  'disconnected',
  'inaccessible',
  'invalid',
  'orphaned',
])
const POWER_STATES: ReadonlySet<string> = new Set<PowerState>(['poweredOn', 'poweredOff', 'suspended'])

// A missing or unknown state must look neither like a healthy VM nor like one that is shut down.
export function readConnectionState(value: XMLElement | undefined): ConnectionState {
  return isConnectionState(value?.text) ? value.text : 'invalid'
}

export function readPowerState(value: XMLElement | undefined): PowerState {
  return isPowerState(value?.text) ? value.text : 'poweredOn'
}

function isConnectionState(text: string | undefined): text is ConnectionState {
  return text !== undefined && CONNECTION_STATES.has(text)
}

function isPowerState(text: string | undefined): text is PowerState {
  return text !== undefined && POWER_STATES.has(text)
}
