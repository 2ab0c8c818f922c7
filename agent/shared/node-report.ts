/**
 * The NodeReport: what an agent says of its machine (`spec`) and what the controller made of it (`status`).
 *
 * This file is the whole contract between the two programs: names, keys, limits, types and validation. Beside
 * it the controller imports only `agent/shared/`, the agent nothing of the controller. The same shapes stand as a
 * structural schema in `manifests/base/crd.yaml`; a test holds the two together.
 */
import { hash } from 'node:crypto'
import * as v from 'valibot'
import { ok, type Result } from './result.ts'

export const API_GROUP = 'rollcall.dev'
export const API_VERSION = 'v1alpha1'
export const KIND = 'NodeReport'
export const PLURAL = 'nodereports'
/** Where the API server has all reports. */
export const REPORTS_PATH = `/apis/${API_GROUP}/${API_VERSION}/${PLURAL}`

/** Field manager of the agent's server-side apply. */
export const AGENT_FIELD_MANAGER = 'rollcall-agent'

/** Guestinfo variable into which the agent writes its claim. */
export const GUESTINFO_CLAIM = 'guestinfo.rollcall.claim'
/** Guestinfo variables of cloud-init's VMware datasource. */
export const GUESTINFO_METADATA = 'guestinfo.metadata'
export const GUESTINFO_METADATA_ENCODING = 'guestinfo.metadata.encoding'

/** Limits that keep a report under {@link MAX_REPORT_BYTES}; the agent cuts down to them, the schema refuses above. */
export const MAX_REPORT_BYTES = 4096
export const MAX_INTERFACES = 16
export const MAX_ADDRESSES = 16
export const MAX_UNREADABLE = 16

/** Seconds between two reports where one does not say; the agent adds up to an eighth at random. */
export const DEFAULT_REFRESH_SECONDS = 180
/** No report is believed that asks for more patience. */
const MAX_REFRESH_SECONDS = 86_400

/** Annotation of a report: RFC 3339, when the agent wrote it, so that a report which says nothing new is a sign of life too. */
export const ANNOTATION_REPORTED_AT = 'rollcall.dev/reported-at'

/** A time as reports and Nodes have it: RFC 3339 with seconds, as `metav1.Time` is written. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** The path by which a missing BIOS UUID is explained in `spec.unreadable`. */
export const FACT_SERIAL_UUID = 'machine.serialUUID'
/** The same for all addresses. */
export const FACT_ADDRESSES = 'addresses'

/** The same for one IPv4 address that the machine has, and that is not among those of the interfaces. */
export function factOfAddress(address: string): string {
  return `${FACT_ADDRESSES}[${address}]`
}

const uuid = v.pipe(v.string(), v.regex(/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/))
const sha256 = v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/))
const mac = v.pipe(v.string(), v.regex(/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/))
/** No control characters (C0, C1), no separators of lines, nothing that turns the direction of writing around. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this refuses
const PRINTABLE = /^[^\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]*$/
/** Code points are what the schema counts: a text that only one of both takes would be a report that is refused. */
const text = (max: number) =>
  v.pipe(v.string(), v.maxCodePoints(max), v.regex(PRINTABLE, 'has control characters'))
const reason = v.pipe(v.string(), v.regex(/^[A-Z][A-Za-z0-9]{0,63}$/))
const address = v.union([v.pipe(v.string(), v.ipv4()), v.pipe(v.string(), v.ipv6(), v.excludes('%'))])

const InterfaceAddress = v.object({
  /** IPv4 or IPv6 in its usual text form, without a zone. */
  address,
  prefixLength: v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(128)),
  /** IPv6 privacy address (RFC 8981). */
  temporary: v.optional(v.boolean()),
  /** Its preferred lifetime is over. */
  deprecated: v.optional(v.boolean()),
  /** Not the first of its subnet on the interface, so never the kernel's choice of source. */
  secondary: v.optional(v.boolean()),
})

const NetworkInterface = v.object({
  name: text(15),
  /** Lower case, colons. */
  mac,
  /** Whether a default route leaves by this interface. */
  defaultRoute: v.boolean(),
  addresses: v.pipe(v.array(InterfaceAddress), v.maxLength(MAX_ADDRESSES)),
})

/** What the agent could not read, by the path of the field in `spec`. The report goes out all the same. */
const UnreadableFact = v.object({ fact: text(64), reason, message: text(256) })

export const NodeReportSpec = v.object({
  /** UID of the Node this report is about, chosen by the API server at registration. */
  nodeUID: uuid,
  /** The kernel's boot ID. */
  bootID: v.optional(uuid),
  agentVersion: text(64),
  /** Seconds between two reports, where the agent was told to let more pass than {@link DEFAULT_REFRESH_SECONDS}. */
  refreshSeconds: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(MAX_REFRESH_SECONDS))),
  machine: v.object({
    vendor: v.optional(text(128)),
    product: v.optional(text(128)),
    /** BIOS UUID from `product_serial`, in vCenter's byte order. */
    serialUUID: v.optional(uuid),
    /** UUID from `product_uuid`, in the kernel's byte order (the kubelet's `systemUUID`). */
    productUUID: v.optional(uuid),
  }),
  hostname: v.optional(text(253)),
  /** The machine's NICs and what sits on them with the same MAC; container interfaces are left out. */
  interfaces: v.pipe(v.array(NetworkInterface), v.maxLength(MAX_INTERFACES)),
  tools: v.object({
    version: v.optional(text(64)),
    guestinfoReadable: v.boolean(),
    guestinfoWritable: v.boolean(),
  }),
  cloudInit: v.optional(
    v.object({
      instanceID: v.optional(text(128)),
      localHostname: v.optional(text(253)),
      /** Static addresses of the network configuration, as written there (with or without a prefix length). */
      addresses: v.optional(v.pipe(v.array(text(64)), v.maxLength(MAX_ADDRESSES))),
    }),
  ),
  /** Whether the claim stands in guestinfo, else why not. */
  claim: v.object({
    written: v.boolean(),
    reason,
    message: text(256),
    /** {@link claimDigest} of the claim. The claim itself stays in the VM: whoever reads reports cannot repeat it. */
    digest: v.optional(sha256),
  }),
  unreadable: v.optional(v.pipe(v.array(UnreadableFact), v.maxLength(MAX_UNREADABLE))),
})
export type NodeReportSpec = v.InferOutput<typeof NodeReportSpec>
export type NetworkInterface = v.InferOutput<typeof NetworkInterface>
export type InterfaceAddress = v.InferOutput<typeof InterfaceAddress>
export type UnreadableFact = v.InferOutput<typeof UnreadableFact>

/** In the order in which they are reached. */
export const CONDITION_TYPES = [
  'VMFound',
  'VMUnique',
  'IdentityVerified',
  'TopologyResolved',
  'LabelsResolved',
  'AddressesResolved',
  'Initialized',
  'AgentReports',
  'DeletionPossible',
  'DeletionPending',
  'ServingCertificate',
] as const
export type ConditionType = (typeof CONDITION_TYPES)[number]

/** `metav1.Condition`. */
export interface Condition {
  readonly type: ConditionType
  readonly status: 'True' | 'False' | 'Unknown'
  readonly reason: string
  readonly message: string
  /** RFC 3339, seconds. */
  readonly lastTransitionTime: string
  readonly observedGeneration?: number
}

/** How strongly the VM behind a Node is known; each level includes the one before. */
export type IdentityLevel = 'asserted' | 'reported' | 'proven'

/** A managed object above a VM. */
export interface ParentObject {
  /** `Folder`, `Datacenter`, `ResourcePool`, ... */
  readonly type: string
  readonly moref: string
  readonly name: string
}

/** Longest list of parents in a binding. */
export const MAX_PARENTS = 16

/** Most former VMs that a status remembers. */
export const MAX_FORMER_VMS = 4

/** Longest list of what a deletion waits for. */
export const MAX_UNMET = 32

/** Largest Fault Tolerance group that a binding records. */
export const MAX_GROUP = 8

/** The durable binding of a Node to one VM of one vCenter. */
export interface BoundVM {
  /** Name of the vCenter in the configuration. */
  readonly vCenter: string
  /** `about.instanceUuid`: managed object references are unique only within one vCenter. */
  readonly vCenterInstanceUUID: string
  /** Managed object reference, as `vm-42`. */
  readonly moref: string
  readonly name: string
  readonly instanceUUID: string
  readonly biosUUID: string
  /** Instance UUIDs of its Fault Tolerance group, by its own word when it was last seen. */
  readonly group?: readonly string[]
  readonly host?: string
  readonly cluster?: string
  readonly datacenter?: string
  /** What stood above it when it was last seen and could be read: its folders up to the root, then its resource pool. */
  readonly parents?: readonly ParentObject[]
}

export interface NodeAddress {
  readonly type: 'Hostname' | 'InternalIP' | 'ExternalIP'
  readonly address: string
}

export interface NodeReportStatus {
  readonly observedGeneration?: number
  /** The Node that all of this is about: a report outlives its Node for a while, and may pass to the next of its name. */
  readonly nodeUID?: string
  readonly vm?: BoundVM
  /**
   * The VM that was last seen under a UUID which the Node names (its report, its kubelet, its provider ID), and which it
   * was never verified to be: of a machine that was rebuilt under its name, as a rule. It must be gone, too, before the
   * Node is deleted.
   */
  readonly namedVM?: BoundVM
  /**
   * VMs that the Node was verified to be before it became `vm`, and that were not proven gone at that time. They must be gone,
   * too, before the Node is deleted.
   */
  readonly formerVMs?: readonly BoundVM[]
  /** Digest of the last claim that `vm` has shown. Absent where it has never shown one that no copy can make up. */
  readonly lastClaim?: string
  /** The value of the annotation `rollcall.dev/vm` that was last obeyed: each is obeyed once. */
  readonly obeyedAnnotation?: string
  readonly identityLevel?: IdentityLevel
  /**
   * RFC 3339, seconds: until when `proven` holds although the VM's claim no longer stands, as after a reboot; without a level, until when
   * it may come back after the MAC addresses were contradicted.
   */
  readonly provenUntil?: string
  /** RFC 3339, seconds: since when no search finds the VM; it outlives a change of leaders. */
  readonly absentSince?: string
  /** RFC 3339, seconds: since when the brake holds the Node, as too many VMs vanished with its own at once... */
  readonly brakeEngagedAt?: string
  /** ... from this vCenter, by its name in the configuration. Both stand, or neither. */
  readonly brakeEngagedFor?: string
  /**
   * Names of what must hold before the Node is deleted and does not yet, in the order of the condition DeletionPending,
   * with which it is written. Absent where that was not found out.
   */
  readonly deletionUnmet?: readonly string[]
  readonly topology?: { readonly zone?: string; readonly region?: string }
  readonly instanceType?: string
  readonly addresses?: readonly NodeAddress[]
  readonly conditions?: readonly Condition[]
}

/** What a VM says of itself in its own guestinfo. */
export interface Claim {
  readonly nodeUID: string
  /** Undefined where the agent could not read one. */
  readonly bootID: string | undefined
  /** 32 hexadecimal digits, drawn at random. Undefined in a claim of version 1, which anybody can make up. */
  readonly nonce?: string | undefined
}

/** `v2 NODE-UID BOOT-ID NONCE`, or `v1 NODE-UID BOOT-ID` without a nonce. A boot ID that is not known is `-`. */
export function formatClaim({ nodeUID, bootID = '-', nonce }: Claim): string {
  return nonce === undefined ? `v1 ${nodeUID} ${bootID}` : `v2 ${nodeUID} ${bootID} ${nonce}`
}

/** Reads a claim back; undefined for anything that {@link formatClaim} would not have written. */
export function parseClaim(text: string): Claim | undefined {
  const [version, nodeUID, boot, nonce, ...rest] = text.trim().split(' ')
  const bootID = boot === '-' ? undefined : boot
  if (rest.length > 0 || !v.is(uuid, nodeUID) || (bootID !== undefined && !v.is(uuid, bootID)))
    return undefined
  if (version === 'v1' && nonce === undefined && boot !== undefined) return { nodeUID, bootID, nonce }
  if (version === 'v2' && nonce !== undefined && /^[0-9a-f]{32}$/.test(nonce))
    return { nodeUID, bootID, nonce }
  return undefined
}

/** SHA-256 of a claim's text, in hexadecimal, for the report. */
export function claimDigest(claim: Claim): string {
  return hash('sha256', formatClaim(claim), 'hex')
}

/**
 * Checks a report's spec as it came from the API server. Returns one sentence per wrong field that names the field and the
 * shape of its value, never the value itself: a node may write anything into its report.
 */
export function parseSpec(value: unknown): Result<NodeReportSpec, { readonly problems: readonly string[] }> {
  const result = v.safeParse(NodeReportSpec, value)
  if (result.success) return ok(result.output)
  return { ok: false, problems: result.issues.slice(0, 8).map(problem) }
}

function problem(issue: v.BaseIssue<unknown>): string {
  const path = ['spec', ...(issue.path ?? []).map((item) => String(item.key))].join('.')
  return `${path}: expected ${issue.expected ?? issue.message}, got ${shape(issue.input)}`
}

function shape(value: unknown): string {
  if (value === undefined) return 'nothing'
  if (value === null) return 'null'
  if (typeof value === 'string') return `a string of ${value.length} characters`
  if (Array.isArray(value)) return `a list of ${value.length}`
  return `a value of type ${typeof value}`
}
