/** Reads one VM by reference, as much of it as may be read. */
import type { SeenVM } from '../../types/vcenter-probe.ts'
import { readName, readUUID } from '../cache/properties.ts'
import { refused } from '../cache/refused.ts'
import { readConnectionState, readPowerState } from '../cache/vm-properties.ts'
import { readObject } from '../collect/object-content.ts'
import { objectSpec, propertySpec } from '../collect/properties.ts'
import { SoapFault, VCenterError } from '../wire/errors.ts'
import type { ManagedObjectReference } from '../wire/managed-object-reference.ts'
import { toReference } from '../wire/soap.ts'
import { child, childrenOf, type XMLElement } from '../wire/xml.ts'
import { MAY_RESTART_PATHS, readMayRestart } from './may-restart.ts'
import type { ProbeClient } from './probe-client.ts'

/** All of them exist in vSphere 6.7: a real vCenter fails the whole read for one that it does not know. */
const PATHS = ['name', 'config.uuid', 'runtime.connectionState', 'runtime.powerState', ...MAY_RESTART_PATHS]

/** The reference of a VM. */
export function vmReference(value: string): ManagedObjectReference {
  return { type: 'VirtualMachine', value }
}

/** Throws a VCenterError, also where nothing of the VM may be read. */
export async function readVM(client: ProbeClient, value: string): Promise<SeenVM> {
  const record = await readProperties(client, vmReference(value), PATHS)
  const { properties, missing } = readObject(record)
  if (!properties.has('name') && !properties.has('runtime.connectionState')) {
    throw missing.get('name') ?? missing.get('runtime.connectionState') ?? nothingSaid(value)
  }
  const name = readName(properties.get('name'))
  const denied = missing.get('runtime.connectionState')
  // A state that may not be read must not pass for "invalid", which is a matter of its host and datastore.
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

/** The name of a VM by reference. Throws a VCenterError. */
export async function readVMName(client: ProbeClient, value: string): Promise<string> {
  const record = await readProperties(client, vmReference(value), ['name'])
  const { properties, missing } = readObject(record)
  const name = readName(properties.get('name'))
  if (name === undefined) throw missing.get('name') ?? nothingSaid(value)
  return name
}

/** Whether vCenter says of this object, and of no other, that it does not exist. */
export function isGone(error: unknown, { type, value }: ManagedObjectReference): boolean {
  if (!(error instanceof SoapFault) || error.fault !== 'ManagedObjectNotFound') return false
  return error.object?.type === type && error.object.value === value
}

/** The one object's content. Without the flag to report missing objects, for a missing one is to fail the call. */
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
    `vCenter says nothing of the VM ${value}, neither what it is nor that it is gone, check the account's role on it`,
  )
}
