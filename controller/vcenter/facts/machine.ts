/** What one VM's properties say, before its ancestors and tags are joined to it. */
import { isDeepStrictEqual } from 'node:util'
import type {
  ConnectionState,
  FaultTolerance,
  GuestNIC,
  PowerState,
  VirtualNIC,
} from '../../facts/virtual-machine.ts'
import { detach } from '../wire/detach.ts'
import type { Reference } from '../wire/errors.ts'
import { toReference } from '../wire/soap.ts'
import type { XMLElement } from '../wire/xml.ts'
import {
  CLAIM_PATH,
  readFaultTolerance,
  readGuestNICs,
  readName,
  readNICs,
  readNumber,
  readOption,
  readUUID,
} from './properties.ts'

/**
 * Pushed by vCenter. Few, and none that is large or changes without meaning: the claim and the addresses must be seen
 * within a second, the host decides labels, the UUID is what a VM is found by, and which of a Fault Tolerance group is the primary may
 * change at any time. The states are for the lifecycle of Nodes.
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

/** Read when a VM is found, and again by each resync. */
export const READ_PATHS = [
  ...PUSHED_PATHS,
  'name',
  'parent',
  'parentVApp',
  'resourcePool',
  'config.instanceUuid',
  'config.template',
  'config.guestId',
  'config.hardware.numCPU',
  'config.hardware.memoryMB',
  'config.hardware.device',
] as const

export interface Machine {
  readonly reference: string
  readonly name: string
  readonly biosUUID: string | undefined
  readonly instanceUUID: string | undefined
  readonly template: boolean
  readonly faultTolerance: FaultTolerance | undefined
  readonly connectionState: ConnectionState
  readonly powerState: PowerState
  readonly cpus: number
  readonly memoryMB: number
  readonly guestID: string
  readonly nics: readonly VirtualNIC[]
  readonly guestNICs: readonly GuestNIC[]
  readonly claim: string | undefined
  readonly host: Reference | undefined
  readonly resourcePool: Reference | undefined
  readonly parent: Reference | undefined
  readonly vApp: Reference | undefined
  /** Paths that the account may not read; what they hold counts as not set. */
  readonly unreadable: readonly string[]
}

type Values = ReadonlyMap<string, XMLElement | undefined>

/**
 * A VM as all of {@link READ_PATHS} say. While its configuration cannot be read (an inaccessible VM has none), what was
 * known of it before stays, except for the UUID, by which it could be mistaken for another.
 */
export function readMachine(
  reference: string,
  values: Values,
  before: Machine | undefined,
  unreadable: readonly string[] = [],
): Machine {
  const readable = values.get('config.hardware.numCPU') && values.get('config.uuid')
  const known = readable === undefined ? before : undefined
  const devices = values.get('config.hardware.device')
  return detach({
    ...readPushed(values),
    reference,
    name: readName(values.get('name')) ?? before?.name ?? reference,
    instanceUUID: readUUID(values.get('config.instanceUuid')) ?? known?.instanceUUID,
    template: (values.get('config.template')?.text ?? String(known?.template)) === 'true',
    cpus: readNumber(values.get('config.hardware.numCPU')) ?? known?.cpus ?? 0,
    memoryMB: readNumber(values.get('config.hardware.memoryMB')) ?? known?.memoryMB ?? 0,
    guestID: values.get('config.guestId')?.text ?? known?.guestID ?? '',
    nics: devices === undefined ? (known?.nics ?? []) : readNICs(devices),
    parent: toReference(values.get('parent')),
    vApp: toReference(values.get('parentVApp')),
    resourcePool: toReference(values.get('resourcePool')),
    unreadable,
  })
}

type Pushed = Pick<
  Machine,
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

/** The VM after it came under watch, with all of {@link PUSHED_PATHS} as they are now. */
export function enterMachine(machine: Machine, values: Values): Machine {
  return { ...machine, ...detach(readPushed(values)) }
}

/** The VM after some of {@link PUSHED_PATHS} changed. */
export function changeMachine(machine: Machine, values: Values): Machine {
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
 * A VM as it was read, except for what push has told meanwhile: `before` is what was known when the reading began,
 * `now` what is known at its end. A read takes seconds, and what it says of a pushed property may be old by then.
 */
export function keepPushed(read: Machine, before: Machine | undefined, now: Machine | undefined): Machine {
  if (before === undefined || now === undefined || before === now) return read
  const newer = <K extends keyof Pushed>(key: K): Machine[K] =>
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

// A state that is missing or unknown must not look like a healthy VM, nor like one that is shut down.
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
