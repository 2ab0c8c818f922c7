/** Reads one VM by moref, as far as the account may, and searches the whole of a vCenter for VMs by UUID. */
import type { SeenVM } from '../../types/inventory.ts'
import { refused } from '../collect/refusals.ts'
import { lenientFilterSpec, objectSpec, propertySpec, readObject } from '../collect/retrieve-properties.ts'
import { readName, readUUID } from '../properties/property-values.ts'
import { readConnectionState, readPowerState } from '../properties/pushed-properties.ts'
import { malformed, type SoapFault, VCenterError } from '../wire/errors.ts'
import { type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import { element, toReference } from '../wire/soap.ts'
import { child, childrenOf, textOf, type XMLElement } from '../wire/xml.ts'
import type { ProbeClient } from './probe-client.ts'

/** All of these exist in vSphere 6.7: a real vCenter fails the whole read for an unknown path. */
const PATHS = [
  'name',
  'config.uuid',
  'runtime.connectionState',
  'runtime.powerState',
  'runtime.faultToleranceState',
  'runtime.dasVmProtection',
  'recentTask',
]

/** Reads a VM. Throws a VCenterError, also where nothing of the VM may be read. */
export async function readVM(client: ProbeClient, value: string): Promise<SeenVM> {
  const record = await readProperties(client, vmReference(value), PATHS)
  const { properties, missing } = readObject(record)
  if (!properties.has('name') && !properties.has('runtime.connectionState')) {
    throw missing.get('name') ?? missing.get('runtime.connectionState') ?? nothingSaid(value)
  }
  const name = readName(properties.get('name'))
  const denied = missing.get('runtime.connectionState')
  // An unreadable state must not count as "invalid", which is about host and datastore.
  if (denied?.fault === 'NoPermission') throw refused(denied, 'runtime.connectionState', value, name)
  return {
    moref: value,
    name: name ?? value,
    biosUUID: readUUID(properties.get('config.uuid')),
    connectionState: readConnectionState(properties.get('runtime.connectionState')),
    powerState: readPowerState(properties.get('runtime.powerState')),
    mayRestart: await readMayRestart(client, properties, missing),
  }
}

/** Reads the name of a VM by moref. Throws a VCenterError. */
export async function readVMName(client: ProbeClient, value: string): Promise<string> {
  const record = await readProperties(client, vmReference(value), ['name'])
  const { properties, missing } = readObject(record)
  const name = readName(properties.get('name'))
  if (name === undefined) throw missing.get('name') ?? nothingSaid(value)
  return name
}

/** One object's content. Reads without the option to leave out missing objects, so that a missing one fails the call. */
async function readProperties(
  { call, content }: ProbeClient,
  object: ManagedObjectReference,
  paths: readonly string[],
): Promise<XMLElement> {
  const specs = `<specSet>${propertySpec(object.type, paths)}${objectSpec(object)}</specSet><options/>`
  const response = await call('RetrievePropertiesEx', content.propertyCollector, specs)
  for (const record of childrenOf(child(response, 'returnval'), 'objects')) {
    const named = toReference(child(record, 'obj'))
    if (named?.type === object.type && named.value === object.value) return record
  }
  throw nothingSaid(object.value)
}

function nothingSaid(value: string): VCenterError {
  return new VCenterError(
    'MalformedAnswer',
    `vCenter says neither what the VM ${value} is nor that it is gone; check the account's role on it`,
  )
}

/** Most tasks of a VM that are read; vCenter keeps them for minutes only. */
const MAX_TASKS = 64
const MAX_WORD = 100

const WITHOUT_FAULT_TOLERANCE = new Set(['', 'notConfigured', 'disabled'])

/** Why vCenter itself may soon start or move a VM, in words. A missing property is not a reason, but unreadable tasks are. */
async function readMayRestart(
  client: ProbeClient,
  properties: ReadonlyMap<string, XMLElement>,
  missing: ReadonlyMap<string, SoapFault>,
): Promise<readonly string[]> {
  const reasons: string[] = []
  const faultTolerance = properties.get('runtime.faultToleranceState')?.text ?? ''
  if (!WITHOUT_FAULT_TOLERANCE.has(faultTolerance)) {
    reasons.push(`its fault tolerance is in state "${word(faultTolerance)}"`)
  }
  if (textOf(properties.get('runtime.dasVmProtection'), 'dasProtected') === 'true') {
    reasons.push('vSphere HA protects it')
  }
  const unreadable = missing.get('recentTask')
  if (unreadable !== undefined) return [...reasons, `its tasks cannot be read (${unreadable.fault})`]
  const tasks = childrenOf(properties.get('recentTask'), 'ManagedObjectReference').flatMap(
    (each) => toReference(each) ?? [],
  )
  return [...reasons, ...(await unfinished(client, tasks.slice(-MAX_TASKS)))]
}

/** Tasks that are queued or running. Tasks that cannot be read or are gone are ignored. */
async function unfinished(
  { call, content }: ProbeClient,
  tasks: readonly ManagedObjectReference[],
): Promise<string[]> {
  if (tasks.length === 0) return []
  const specs = lenientFilterSpec(
    propertySpec('Task', ['info.state', 'info.descriptionId']),
    tasks.map((task) => objectSpec(task)).join(''),
  )
  try {
    const parameters = `<specSet>${specs}</specSet><options/>`
    const response = await call('RetrievePropertiesEx', content.propertyCollector, parameters)
    const result = child(response, 'returnval')
    // Probes share this collector, so none of them can read a second page.
    if (textOf(result, 'token') !== undefined) return ['its tasks are too many to be read at once']
    return childrenOf(result, 'objects').flatMap((record) => {
      const { properties } = readObject(record)
      const state = properties.get('info.state')?.text
      if (state !== 'running' && state !== 'queued') return []
      return `a task "${word(properties.get('info.descriptionId')?.text ?? 'unknown')}" is ${state}`
    })
  } catch (error) {
    if (!(error instanceof VCenterError)) throw error
    // What was read of the VM itself is still valid.
    return [`its tasks cannot be read (${error.reason})`]
  }
}

function word(text: string): string {
  return text.slice(0, MAX_WORD).toWellFormed()
}

/**
 * Morefs of all VMs with this UUID in every datacenter, including templates. vCenter answers with none both where there is
 * none and where the account may not see any. Throws a VCenterError.
 */
export async function searchVMs(
  client: ProbeClient,
  uuid: string,
  kind: 'instance' | 'bios',
): Promise<readonly string[]> {
  const parameters =
    element('uuid', uuid.toLowerCase()) +
    element('vmSearch', true) +
    element('instanceUuid', kind === 'instance')
  const response = await client.call('FindAllByUuid', client.content.searchIndex, parameters)
  return childrenOf(response, 'returnval').map((each) => {
    const found = toReference(each)
    if (found?.type === 'VirtualMachine') return found.value
    throw malformed('vCenter answers to FindAllByUuid with something that is not a VM')
  })
}
