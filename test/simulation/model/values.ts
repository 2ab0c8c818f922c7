/** The properties of a vCenter's objects, as its account may read them. */
import {
  CARD_COUNT_PATH,
  CARD_PATHS,
  CLAIM_PATH,
  CUSTOM_VALUES_PATH,
} from '../../../controller/vcenter/properties/property-values.ts'
import { SoapFault } from '../../../controller/vcenter/wire/errors.ts'
import type { ManagedObjectReference } from '../../../controller/vcenter/wire/managed-object-reference.ts'
import { element } from '../../../controller/vcenter/wire/soap.ts'
import { referenceValue, textValue, type Values } from './elements.ts'
import { ATTRIBUTES, clusterOf, POOLS, type PoolReference } from './label-sources.ts'
import { type Folder, shownPower, type VM } from './machine.ts'
import type { VCenterModel } from './vcenter.ts'

/** Of the root folder. */
export const ROOT = 'group-d1'

/** Of vCenter's list of sessions. */
export const SESSIONS = 'sessionManager'

/** Of vCenter's list of custom attributes. */
export const FIELDS = 'customFieldsManager'
/** What `properties-denied` hides. */
const ESSENTIAL: ReadonlySet<string> = new Set([
  'config.uuid',
  'runtime.connectionState',
  'runtime.powerState',
])

/** What an answer says of one object. */
export interface Shown {
  readonly object: ManagedObjectReference
  readonly values: Values
  /** Paths that the account may not read. */
  readonly refused: readonly string[]
  /** Why; NoPermission where it is not named. */
  readonly fault?: string
}

export function vmReference(value: string): ManagedObjectReference {
  return { type: 'VirtualMachine', value }
}

/** These properties of a VM that the account may see. */
export function showVM(vm: VM, paths: readonly string[]): Shown {
  const { reticent, attributesHidden } = vm.vCenter
  const isRefused = (path: string): boolean =>
    (reticent.has(vm.moref) && ESSENTIAL.has(path)) ||
    (attributesHidden === 'values' && path === CUSTOM_VALUES_PATH)
  const refused = paths.filter(isRefused)
  const readable = refused.length === 0 ? paths : paths.filter((path) => !isRefused(path))
  return {
    object: vmReference(vm.moref),
    values: new Map(readable.map((path) => [path, VM_VALUES[path]?.(vm)])),
    refused,
  }
}

/** The sessions of all clients. */
export function showSessions(
  { sessions, mayEndSessions }: VCenterModel,
  object: ManagedObjectReference,
): Shown {
  if (!mayEndSessions) return { object, values: new Map(), refused: ['sessionList'] }
  const list = [...sessions.values()].map(
    ({ key, userAgent }) =>
      `<UserSession>${element('key', key)}${element('userAgent', userAgent)}</UserSession>`,
  )
  return { object, values: new Map([['sessionList', `<val>${list.join('')}</val>`]]), refused: [] }
}

/** The custom attributes that there are. */
export function showFields({ attributesHidden }: VCenterModel, object: ManagedObjectReference): Shown {
  if (attributesHidden === 'names') return { object, values: new Map(), refused: ['field'] }
  const fields = attributesHidden === 'all' ? [] : Object.entries(ATTRIBUTES)
  const list = fields.map(
    ([key, name]) =>
      `<CustomFieldDef>${element('key', key)}${element('name', name)}${element('managedObjectType', 'VirtualMachine')}</CustomFieldDef>`,
  )
  return { object, values: new Map([['field', `<val>${list.join('')}</val>`]]), refused: [] }
}

/** Of one whose configuration is away nothing of it is set. */
function configured(value: (vm: VM) => string | undefined): (vm: VM) => string | undefined {
  return (vm) => (vm.connectionState === 'inaccessible' ? undefined : value(vm))
}

/** Contents of `val`, by path. All others are not set. */
const VM_VALUES: Readonly<Record<string, (vm: VM) => string | undefined>> = {
  name: ({ name }) => textValue(name),
  parent: ({ folder }) => referenceValue({ type: 'Folder', value: folder.moref }),
  resourcePool: ({ pool }) => referenceValue({ type: 'ResourcePool', value: pool }),
  'runtime.host': (vm) => referenceValue(hostOf(vm)),
  'runtime.connectionState': ({ connectionState }) => textValue(connectionState),
  'runtime.powerState': (vm) => textValue(shownPower(vm)),
  'runtime.faultToleranceState': ({ faultTolerance }) =>
    textValue(faultTolerance === undefined ? 'notConfigured' : 'running'),
  'config.uuid': configured(({ biosUUID }) => textValue(biosUUID)),
  'config.instanceUuid': configured(({ instanceUUID }) => textValue(instanceUUID)),
  'config.template': configured(({ template }) => textValue(template)),
  // It changes with whatever changes of the configuration: network cards are not pushed, but found by it.
  'config.changeVersion': configured(({ biosUUID, instanceUUID, template, mac }) =>
    textValue(`${biosUUID} ${instanceUUID} ${template} ${mac}`),
  ),
  'config.guestId': configured(() => textValue('ubuntu64Guest')),
  'config.hardware.numCPU': configured(() => textValue(2)),
  'config.hardware.memoryMB': configured(() => textValue(4096)),
  [CARD_COUNT_PATH]: configured(() => textValue(1)),
  [CARD_PATHS[0] ?? '']: configured(({ mac }) => `<val>${element('macAddress', mac)}</val>`),
  [CLAIM_PATH]: configured(({ claim }) =>
    claim === undefined ? undefined : `<val>${element('value', claim)}</val>`,
  ),
  [CUSTOM_VALUES_PATH]: ({ attributes, vCenter }) => {
    const known = vCenter.attributesHidden === 'all' ? [] : Object.entries(ATTRIBUTES)
    const set = known.flatMap(([key, name]) => {
      const value = attributes[name]
      return value === undefined
        ? []
        : `<CustomFieldValue>${element('key', key)}${element('value', value)}</CustomFieldValue>`
    })
    return set.length === 0 ? undefined : `<val>${set.join('')}</val>`
  },
  'guest.net': (vm) => {
    const { machine, mac } = vm
    if (machine?.tools !== true || machine.vm !== vm || machine.power !== 'poweredOn') return undefined
    const { address } = machine
    const named = address === undefined ? '' : element('ipAddress', address)
    const nic = named + element('macAddress', mac) + element('deviceConfigId', 4000)
    return `<val><GuestNicInfo>${nic}</GuestNicInfo></val>`
  },
  'config.ftInfo': configured(({ faultTolerance }) => {
    if (faultTolerance === undefined) return undefined
    const uuids = faultTolerance.instanceUUIDs.map((uuid) => element('instanceUuids', uuid)).join('')
    return `<val>${element('role', faultTolerance.role)}${uuids}</val>`
  }),
}

/** Each datacenter has hosts of its own. */
export function hostOf({ host, folder }: VM): ManagedObjectReference {
  return { type: 'HostSystem', value: `${host}.${folder.datacenter}` }
}

/** An object above VMs with what stands above it, nearest first. Throws ManagedObjectNotFound. */
export function showAbove(vCenter: VCenterModel, start: ManagedObjectReference): readonly Shown[] {
  const shown: Shown[] = []
  for (let next: ManagedObjectReference | undefined = start; next !== undefined; ) {
    const above: Above = find(vCenter, next)
    const values = new Map([
      ['name', textValue(above.name)],
      ['parent', above.parent && referenceValue(above.parent)],
    ])
    if (vCenter.denied.has(next.value)) {
      shown.push({ object: next, values: new Map(), refused: [...values.keys()] })
      break
    }
    shown.push({ object: next, values, refused: [] })
    next = above.parent
  }
  return shown
}

/** What a VM stands on, and in. */
export function startsAbove(vm: VM): readonly ManagedObjectReference[] {
  return [hostOf(vm), { type: 'ResourcePool', value: vm.pool }, { type: 'Folder', value: vm.folder.moref }]
}

function isPool(value: string): value is PoolReference {
  return value in POOLS
}

interface Above {
  readonly name: string
  readonly parent?: ManagedObjectReference
}

function find(vCenter: VCenterModel, object: ManagedObjectReference): Above {
  const { type, value } = object
  const datacenter = (name: string) => ({ type: 'Datacenter', value: name })
  const root = { type: 'Folder', value: ROOT }
  switch (type) {
    case 'HostSystem': {
      const [host = '', name = ''] = value.split('.')
      const cluster = clusterOf(host, name)
      const parent =
        cluster === undefined
          ? { type: 'ComputeResource', value: `alone-${value}` }
          : { type: 'ClusterComputeResource', value: cluster }
      return { name: host, parent }
    }
    case 'ComputeResource': {
      const [host = '', name = ''] = value.slice('alone-'.length).split('.')
      return { name: host, parent: datacenter(name) }
    }
    case 'ClusterComputeResource':
      return { name: value, parent: datacenter(value.slice('cluster-of-'.length)) }
    case 'ResourcePool':
      return { name: isPool(value) ? POOLS[value] : '' }
    case 'Datacenter':
      return { name: value, parent: root }
    default: {
      if (value === ROOT) return { name: 'Datacenters' }
      const folder: Folder | undefined = vCenter.folders.find(({ moref }) => moref === value)
      if (folder === undefined) throw new SoapFault('ManagedObjectNotFound', '', object)
      return { name: folder.name, parent: datacenter(folder.datacenter) }
    }
  }
}
