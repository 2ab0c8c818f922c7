/** What vCenter pushes of a VM: where a change of its power state, host, addresses or claim is learned. */
import { isDeepStrictEqual } from 'node:util'
import { compact } from '../../lib/memory.ts'
import type { ConnectionState, PowerState, VirtualMachine } from '../../types/virtual-machine.ts'
import type { Update } from '../collect/read-updates.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import type { XMLElement } from '../wire/xml.ts'
import {
  CLAIM_PATH,
  CUSTOM_VALUES_PATH,
  type CustomValue,
  readCustomValues,
  readFaultTolerance,
  readGuestNICs,
  readOption,
  readUUID,
} from './property-values.ts'

/** What is pushed of a VM. */
export type PushedProperties = Pick<
  VirtualMachine,
  'biosUUID' | 'connectionState' | 'powerState' | 'guestNICs' | 'faultTolerance' | 'claim'
> & {
  readonly host: ManagedObjectReference | undefined
  readonly customValues: readonly CustomValue[]
}

/**
 * Their paths. Few, and none that is large or changes without need: claim and addresses must be seen within a second, the host
 * decides labels, a VM is found by its UUID, and the primary of a Fault Tolerance group may change at any time. The
 * states are for the lifecycle of Nodes.
 */
const PATHS = {
  biosUUID: 'config.uuid',
  connectionState: 'runtime.connectionState',
  powerState: 'runtime.powerState',
  host: 'runtime.host',
  guestNICs: 'guest.net',
  faultTolerance: 'config.ftInfo',
  claim: CLAIM_PATH,
  customValues: CUSTOM_VALUES_PATH,
} as const satisfies Record<keyof PushedProperties, string>

/** Custom attributes are only asked for where a label rule needs them: some sites have many, and backup tools write them daily. */
export const PUSHED_PATHS = Object.values(PATHS).filter((path) => path !== CUSTOM_VALUES_PATH)

export type PropertyValues = ReadonlyMap<string, XMLElement | undefined>

/** From all of {@link PUSHED_PATHS}. */
export function readPushed(values: PropertyValues): PushedProperties {
  return {
    biosUUID: readUUID(values.get(PATHS.biosUUID)),
    connectionState: readConnectionState(values.get(PATHS.connectionState)),
    powerState: readPowerState(values.get(PATHS.powerState)),
    host: toReference(values.get(PATHS.host)),
    guestNICs: readGuestNICs(values.get(PATHS.guestNICs)),
    faultTolerance: readFaultTolerance(values.get(PATHS.faultTolerance)),
    claim: readOption(values.get(PATHS.claim)),
    customValues: readCustomValues(values.get(PATHS.customValues)),
  }
}

/**
 * Applies updates; `known` returns the present state of a VM. Updates of VMs that are no longer followed are ignored. An
 * update may come twice without harm.
 */
export function applyUpdates<M extends PushedProperties>(
  updates: readonly Update[],
  known: (vm: string) => M | undefined,
): {
  readonly changed: readonly M[]
  /** Morefs of VMs whose UUIDs must be searched for again. */
  readonly left: readonly string[]
  /** Morefs of VMs that must be read again. */
  readonly unclear: readonly string[]
} {
  const machines = new Map<string, M>()
  const left = new Set<string>()
  const unclear = new Set<string>()
  for (const update of updates) {
    const vm = update.object.value
    const machine = machines.get(vm) ?? known(vm)
    if (machine === undefined) continue
    if (update.kind === 'leave') {
      left.add(vm)
      continue
    }
    left.delete(vm)
    if (update.kind === 'unclear') {
      unclear.add(vm)
      continue
    }
    machines.set(
      vm,
      update.kind === 'enter' ? enterMachine(machine, update.values) : changeMachine(machine, update.values),
    )
  }
  return { changed: [...machines.values()], left: [...left], unclear: [...unclear] }
}

/** The VM after it entered the watch, with present values for all of {@link PUSHED_PATHS}. */
export function enterMachine<M extends PushedProperties>(machine: M, values: PropertyValues): M {
  return { ...machine, ...compact(readPushed(values)) }
}

/** The VM after some of {@link PUSHED_PATHS} changed. */
export function changeMachine<M extends PushedProperties>(machine: M, values: PropertyValues): M {
  return compact({ ...machine, ...choose(machine, readPushed(values), (key) => values.has(PATHS[key])) })
}

/**
 * A VM as it was read, but with updates pushed meanwhile: `before` is what was known when the read began, `now` what is
 * known at its end. A read takes seconds, so its values of pushed properties may be stale.
 */
export function keepPushed<M extends PushedProperties>(
  read: M,
  before: M | undefined,
  now: M | undefined,
): M {
  if (before === undefined || now === undefined || before === now) return read
  return { ...read, ...choose(read, now, (key) => !isDeepStrictEqual(before[key], now[key])) }
}

/** The pushed properties of `one`, but those of `other` where that `isNewer`. */
function choose(
  one: PushedProperties,
  other: PushedProperties,
  isNewer: (key: keyof PushedProperties) => boolean,
): PushedProperties {
  const newer = <K extends keyof PushedProperties>(key: K): PushedProperties[K] =>
    isNewer(key) ? other[key] : one[key]
  return {
    biosUUID: newer('biosUUID'),
    connectionState: newer('connectionState'),
    powerState: newer('powerState'),
    host: newer('host'),
    guestNICs: newer('guestNICs'),
    faultTolerance: newer('faultTolerance'),
    claim: newer('claim'),
    customValues: newer('customValues'),
  }
}

const CONNECTION_STATES: readonly ConnectionState[] = [
  'connected',
  'disconnected',
  'inaccessible',
  'invalid',
  'orphaned',
]
const POWER_STATES: readonly PowerState[] = ['poweredOn', 'poweredOff', 'suspended']

// A missing or unknown state must look neither like a healthy VM nor like one that is shut down.
export function readConnectionState(value: XMLElement | undefined): ConnectionState {
  return CONNECTION_STATES.find((state) => state === value?.text) ?? 'invalid'
}

export function readPowerState(value: XMLElement | undefined): PowerState {
  return POWER_STATES.find((state) => state === value?.text) ?? 'poweredOn'
}
