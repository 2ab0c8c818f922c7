/** What stays in a recording as vCenter says it; all else is replaced. */
import {
  GUESTINFO_CLAIM,
  GUESTINFO_METADATA,
  GUESTINFO_METADATA_ENCODING,
} from '../../../agent/shared/node-report.ts'

export const CONTENT_TYPES: ReadonlySet<string> = new Set([
  'text/xml',
  'application/json',
  'text/html',
  'text/plain',
  '',
])

export const NAMESPACES: ReadonlySet<string> = new Set([
  'http://schemas.xmlsoap.org/soap/envelope/',
  'http://schemas.xmlsoap.org/soap/encoding/',
  'http://www.w3.org/2001/XMLSchema-instance',
  'http://www.w3.org/2001/XMLSchema',
  'urn:vim25',
  'urn:internalvim25',
  'urn:reflect',
])
export const XSI = 'http://www.w3.org/2001/XMLSchema-instance'
export const NAME = /^[A-Za-z_][\w.-]{0,63}$/
/** A type of vSphere's interface, or one of XML's own. */
export const TYPE = /^(?:\w{1,20}:)?[A-Za-z][A-Za-z0-9]{0,63}$/

/** The kinds of managed objects that Rollcall asks for or meets above a VM. */
const KINDS: ReadonlySet<string> = new Set(
  (
    'VirtualMachine HostSystem ClusterComputeResource ComputeResource Datacenter Folder ResourcePool VirtualApp StoragePod ' +
    'Datastore Network DistributedVirtualPortgroup OpaqueNetwork DistributedVirtualSwitch VmwareDistributedVirtualSwitch Task ' +
    'ServiceInstance SessionManager PropertyCollector PropertyFilter ViewManager ContainerView ListView SearchIndex ' +
    'AuthorizationManager ManagedEntity'
  ).split(' '),
)

/** vCenter's own objects, as its service content names them. */
const MANAGERS =
  /^[A-Z][A-Za-z]{2,50}(?:Manager|ManagerBase|ManagerKmip|Checker|System|Directory|Configurator)$/

export const isKind = (name: string) => KINDS.has(name) || MANAGERS.test(name)

const INTEGER = /^-?\d{1,9}$/
const SMALL = /^-?\d{1,5}$/
const VERSION = /^\d{1,5}(?:\.\d{1,5}){0,4}$/
const POWER = /^(?:poweredOn|poweredOff|suspended)$/
const CONNECTION = /^(?:connected|disconnected|inaccessible|invalid|orphaned)$/
const PRIVILEGE = /^(?:System|Sessions|Global|InventoryService)\.[A-Za-z]{1,30}$/

/** Texts that stay, by the property path, by `parent/element` or by the element that has them. */
export const KEPT: Readonly<Record<string, RegExp>> = {
  'runtime.powerState': POWER,
  'runtime.connectionState': CONNECTION,
  'runtime.faultToleranceState': /^(?:notConfigured|disabled|enabled|needSecondary|starting|running)$/,
  'config.guestId': /^[A-Za-z][\w]{1,40}Guest(?:64)?$/,
  'config.hardware.numCPU': INTEGER,
  'config.hardware.memoryMB': INTEGER,
  'summary.config.numEthernetCards': SMALL,
  'info.state': /^(?:queued|running|success|error)$/,
  'info.descriptionId': /^(?:VirtualMachine|Drm|Folder|ResourcePool|Datacenter)\.[A-Za-z]{1,40}$/,
  'about/name': /^VMware vCenter Server$/,
  fullName: /^VMware vCenter Server \d+(?:\.\d+)* build-\d+(?: \(govmomi simulator\))?$/,
  vendor: /^VMware, Inc\.$/,
  apiType: /^(?:VirtualCenter|HostAgent)$/,
  apiVersion: VERSION,
  version: VERSION,
  build: INTEGER,
  osType: /^(?:linux-x64|linux-amd64|win32-x64)$/,
  productLineId: /^(?:vpx|embeddedEsx|esx|gsx)$/,
  localeVersion: /^(?:INTL|[a-z]{2}(?:_[A-Z]{2})?)$/,
  localeBuild: /^\d{1,4}$/,
  licenseProductName: /^VMware (?:VirtualCenter|vCenter|ESX) Server$/,
  licenseProductVersion: VERSION,
  'namespace/name': /^urn:(?:internal)?(?:vim25|reflect)$/,
  faultcode: /^(?:\w{1,20}:)?(?:ServerFaultCode|Server|Client|VersionMismatch)$/,
  privilegeId: PRIVILEGE,
  privId: PRIVILEGE,
  kind: /^(?:enter|modify|leave)$/,
  op: /^(?:add|assign|remove|indirectRemove)$/,
  // Of devices; of an option only Rollcall's own.
  key: new RegExp(
    `^(?:\\d{1,5}|${[GUESTINFO_CLAIM, GUESTINFO_METADATA, GUESTINFO_METADATA_ENCODING].join('|')})$`,
  ),
  controllerKey: SMALL,
  unitNumber: SMALL,
  addressType: /^(?:manual|generated|assigned)$/,
  deviceConfigId: SMALL,
  prefixLength: SMALL,
  state:
    /^(?:preferred|deprecated|invalid|inaccessible|unknown|tentative|duplicate|queued|running|success|error)$/,
  origin: /^(?:other|manual|dhcp|linklayer|random)$/,
  role: SMALL,
  pathSet: /^[A-Za-z][\w.]{0,80}(?:\[(?:"guestinfo\.[a-z.]{1,40}"|\d{4})\])?$/,
  'selectSet/name': /^[a-z]{1,20}\d{0,4}$/,
  'selectSet/path': /^[A-Za-z]{1,30}$/,
  maxObjects: INTEGER,
  maxWaitSeconds: INTEGER,
  maxObjectUpdates: INTEGER,
}

/** By these Rollcall knows that another version of the interface is to be spoken. */
export const VERSION_WORDS: ReadonlySet<string> = new Set(['unsupported', 'version', 'uri', 'urn', 'vim25'])

/** What vCenter says in these words stays. */
export const PHRASES: ReadonlySet<string> = new Set([
  'The session is not authenticated.',
  'Permission to perform this operation was denied.',
  'The object has already been deleted or has not been completely created',
  'A specified parameter was not correct: ',
  'The operation is not supported on the object.',
])

/** Elements and keys with texts that vCenter writes itself, though names may stand in them. */
export const SENTENCES: ReadonlySet<string> = new Set([
  'label',
  'summary',
  'faultstring',
  'localizedMessage',
  'message',
  'default_message',
])

export const CLAIM_WORDS: ReadonlySet<string> = new Set(['v1', 'v2'])
export const ENCODINGS: ReadonlySet<string> = new Set(['base64', 'b64', 'gzip+base64', 'gz+b64'])
/** The words of cloud-init's metadata and of its network configuration. */
export const METADATA_WORDS: ReadonlySet<string> = new Set(
  (
    'network config version ethernets bonds bridges vlans addresses address match macaddress mac_address set name dhcp4 dhcp6 ' +
    'dhcp gateway gateway4 gateway6 routes to via metric nameservers search mtu type physical subnets static static4 static6 ' +
    'instance id local hostname wait on encoding optional accept ra true false yes no default null base64 gzip b64 gz dns netmask'
  ).split(' '),
)
export const KEYS: ReadonlySet<string> = new Set(
  'value id ids name description cardinality associable_types used_by category_id object_id object_ids tag_id tag_ids type messages args default_message error_type data user created_time last_accessed_time key'.split(
    ' ',
  ),
)
/** The parts of a path that are the interface's own. */
export const SEGMENTS: ReadonlySet<string> = new Set(
  ' rest api com vmware cis session tagging tag category tag-association'.split(' '),
)
export const QUERY = /^(?:~action|action)=[a-z-]{1,60}$/
/** In identifiers of tags and categories. */
export const URN: ReadonlySet<string> = new Set(
  'urn vmomi inventoryservicetag inventoryservicecategory global'.split(' '),
)
