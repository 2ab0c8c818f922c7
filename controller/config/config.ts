/** The checked configuration as the rest of the controller sees it, whatever form it was written in. */
import type { IdentityLevel } from '../../agent/shared/node-report.ts'
import type { Node } from '../types/node.ts'
import { type LabelSelector, matches } from './label-selector.ts'
import type { Secret } from './secret.ts'

/** How a vCenter's certificate is trusted. */
export type Trust =
  | { readonly kind: 'system' }
  /** PEM text of one or more CA certificates. */
  | { readonly kind: 'ca'; readonly pem: string }
  /** SHA-1 or SHA-256 of the certificates that the server may show, lower-case hex without colons; at least one. */
  | { readonly kind: 'thumbprint'; readonly thumbprints: readonly string[] }
  | { readonly kind: 'insecure' }

export interface VCenterConfig {
  /** Its key under `vcenter:`, which logs, metrics and messages use. */
  readonly name: string
  /** Host name or IP address, without scheme and port. */
  readonly server: string
  readonly port: number
  readonly user: string
  readonly password: Secret
  /**
   * Which key of which Secret or folder has the user, or the session manager's URL. Messages name this instead of the value,
   * which is unchecked and may be the password.
   */
  readonly userSource?: string
  /**
   * Set where a session manager gives the sessions: its https URL. `user` is empty then, and `password` the token that the
   * session manager asks for. Only a Secret or a folder can say so.
   */
  readonly sessionManager?: string
  /** Set where white space surrounds the user or the password of a Secret or a folder: one sentence that says where. */
  readonly oddity?: string | undefined
  /** Set while user and password, which a Secret or a folder has, are not known: both are empty then. */
  readonly noCredential?:
    | /** Nothing has been read yet. */ { readonly state: 'pending' }
    /** One sentence with the next step; `denied` where the API server does not let this account read it. */
    | { readonly state: 'failed'; readonly message: string; readonly denied?: boolean }
  readonly trust: Trust
  /** See `matchesDatacenter`; empty means every datacenter. */
  readonly datacenters: readonly string[]
}

export interface Config {
  readonly vCenters: readonly VCenterConfig[]
  /** Tag categories; each label is independent of the other. */
  readonly labels: { readonly zone: string | undefined; readonly region: string | undefined }
  /** Each label once. */
  readonly labelRules: readonly LabelRule[]
  readonly identity: IdentityConfig
  readonly lifecycle: LifecycleConfig
  readonly topology: TopologyConfig
  /** Only the CPI's arguments say this. */
  readonly initialization: {
    /**
     * False where another provider initializes Nodes: then no labels, addresses and provider ID are written, and no Node
     * loses its taint.
     */
    readonly on: boolean
    /** Additional labels for a Node when it is initialized; labels that it already has keep their values. */
    readonly labels: Readonly<Record<string, string>>
  }
  readonly nodes: NodesConfig
  readonly certificates: CertificatesConfig
  /** The families whose addresses are wanted, in this order, by vCenter name; at least one. */
  readonly ipFamilies: Readonly<Record<string, readonly IPFamily[]>>
  /** Where a vCenter's user and password are, by its name, unless they are in the file. */
  readonly credentials: Readonly<Record<string, VCenterCredentials>>
}

/** A label whose value is read in vCenter. */
export interface LabelRule {
  /** Its key. Only one under `OWN_PREFIX` is beyond a kubelet's reach. */
  readonly label: string
  readonly from: LabelSource
  /** Label values by what vCenter says; what is not among them is taken as it is. */
  readonly map: ReadonlyMap<string, string>
  /** Whether it follows vCenter, or keeps the value that it had when the Node was initialized. */
  readonly when: 'live' | 'initialize'
}

/** Objects above a VM whose names may become labels. */
export const PLACES = ['host', 'cluster', 'resourcePool', 'folder', 'datacenter'] as const

export type LabelSource =
  | { readonly kind: 'tagCategory' | 'attribute'; readonly name: string }
  | { readonly kind: (typeof PLACES)[number] }

export type IPFamily = 'ipv4' | 'ipv6'

/** A Secret with the user and password of one or more servers, under keys that name the server. */
export type VCenterCredentials =
  | { readonly kind: 'secret'; readonly namespace: string; readonly name: string }
  /** A folder with a file for each key. The path is absolute. */
  | { readonly kind: 'directory'; readonly path: string }

/** Which of a VM's addresses become the Node's. The lists hold subnets such as `10.0.0.0/8`; empty means no condition. */
export interface NodesConfig {
  readonly internalNetworkSubnetCidr: readonly string[]
  readonly externalNetworkSubnetCidr: readonly string[]
  readonly internalVmNetworkName: string | undefined
  readonly externalVmNetworkName: string | undefined
  readonly excludeInternalNetworkSubnetCidr: readonly string[]
  readonly excludeExternalNetworkSubnetCidr: readonly string[]
  /** What becomes ExternalIP where neither subnet nor network chooses an address: the first one, as InternalIP, or none. */
  readonly externalIP: 'first' | 'none'
  /** Whether a new Node waits until it has an address of each family that is wanted. */
  readonly requireAllFamilies: boolean
}

export interface IdentityConfig {
  /** The level that a Node must reach before it is initialized. */
  readonly require: IdentityLevel
  /** Nodes that may stay at `asserted`, because no agent can run there. */
  readonly exempt: LabelSelector | undefined
  /** Whether a new Node without a claim waits for a vCenter that does not answer, which may have another VM that fits. */
  readonly requireAllVCenters: boolean
}

/** Which serving certificates of kubelets are approved. */
export interface CertificatesConfig {
  readonly approve: boolean
  /** The level that a Node must have. */
  readonly require: Exclude<IdentityLevel, 'asserted'>
  /** Subnets that every address in a certificate must be in; those of Nodes where nothing else is written. */
  readonly networks: readonly string[]
  /** Subnets of them that no address may be in. */
  readonly exclude: readonly string[]
  /** What may follow the Node's name, and a dot, in a DNS name. */
  readonly domains: readonly string[]
}

export interface TopologyConfig {
  /** Whether a new Node stays uninitialized until it has a tag of each configured category. */
  readonly required: boolean
  /** What happens to a running Node's labels when its VM moves or is resized. */
  readonly onChange: 'report' | 'relabel' | 'ignore'
}

/** When a Node whose VM is gone is deleted, and what happens to a Node whose VM is off. Times in milliseconds. */
export interface LifecycleConfig {
  readonly deletion: 'on' | 'dry-run' | 'off'
  /** What happens to a Node whose machine cannot be found and was never shown by any vCenter. */
  readonly unbound: 'report' | 'delete'
  /** How many proofs of absence in a row a deletion needs. */
  readonly confirmations: number
  /** Least time between the first and the last of these proofs. */
  readonly absentFor: number
  /** How long this replica must have led before it deletes. */
  readonly leaderAge: number
  /** Most deletions in a minute for one vCenter. */
  readonly deletionsPerMinute: number
  /** The brake engages when more than this share, 0 to 1, of one vCenter's VMs is missing at once. */
  readonly maxAbsentShare: number
  /** The brake never engages for this many or fewer. */
  readonly maxAbsentMinimum: number
  /** How long a deletion waits for VolumeAttachments to go; undefined where it does not. */
  readonly waitForVolumes: number | undefined
  /** Whether a Node carries the shutdown taint while its VM is off. */
  readonly shutdownTaint: boolean
  /** How long a VM must have been off before its Node gets the out-of-service taint; undefined for never. */
  readonly outOfServiceAfter: number | undefined
  /** Whether that applies to control-plane Nodes too. */
  readonly outOfServiceControlPlane: boolean
}

/** The part of the configuration that decisions depend on. */
export interface DecisionConfig extends Omit<Config, 'vCenters' | 'credentials'> {
  /** Datacenters in scope by vCenter name; an empty list means all. */
  readonly datacenters: Readonly<Record<string, readonly string[]>>
  /** Server and port by vCenter name, equal where two names, as of two tenants, are one vCenter. */
  readonly servers: Readonly<Record<string, string>>
}

/** What decisions depend on, of the whole. */
export function settingsOf({ vCenters, credentials: _, ...settings }: Config): DecisionConfig {
  return {
    ...settings,
    datacenters: Object.fromEntries(vCenters.map(({ name, datacenters }) => [name, datacenters])),
    servers: Object.fromEntries(vCenters.map((each) => [each.name, serverKey(each)])),
  }
}

/** Equal where two entries name one server. */
export function serverKey({ server, port }: Pick<VCenterConfig, 'server' | 'port'>): string {
  return `${canonicalServer(server)} ${port}`
}

/** Host names are case-insensitive and may end with a dot. */
export function canonicalServer(server: string): string {
  return server.toLowerCase().replace(/\.$/, '')
}

const ORDER: readonly IdentityLevel[] = ['asserted', 'reported', 'proven']

/** Whether one level is at least as strong as another. */
export function reaches(level: IdentityLevel, required: IdentityLevel): boolean {
  return ORDER.indexOf(level) >= ORDER.indexOf(required)
}

/** The level that this Node must reach; a Node that the configuration exempts may stay at the weakest. */
export function requiredLevel(
  node: Pick<Node, 'labels'>,
  { require, exempt }: DecisionConfig['identity'],
): IdentityLevel {
  return exempt !== undefined && matches(exempt, node.labels) ? 'asserted' : require
}
