/** Reads one VM by moref, as far as the account may. */
import type { SeenVM } from '../../types/vcenter-probe.ts'
import { refused } from '../cache/unreadable.ts'
import { readObject } from '../collect/object-content.ts'
import { objectSpec, propertySpec } from '../collect/retrieve-properties.ts'
import { readName, readUUID } from '../properties/property-values.ts'
import { readConnectionState, readPowerState } from '../properties/pushed-properties.ts'
import { VCenterError } from '../wire/errors.ts'
import { type ManagedObjectReference, vmReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import { child, childrenOf, type XMLElement } from '../wire/xml.ts'
import { MAY_RESTART_PATHS, readMayRestart } from './may-restart.ts'
import type { ProbeClient } from './probe-client.ts'

/** All of these exist in vSphere 6.7: a real vCenter fails the whole read for an unknown path. */
const PATHS = ['name', 'config.uuid', 'runtime.connectionState', 'runtime.powerState', ...MAY_RESTART_PATHS]

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
