/** The checked configuration as the rest of the controller sees it, whatever form it was written in. */
import type { IdentityLevel } from '../../agent/contract.ts'
import type { LabelSelector } from '../label-selector.ts'
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
  readonly trust: Trust
  /** Names or inventory paths; empty means every datacenter. */
  readonly datacenters: readonly string[]
}

export interface Config {
  readonly vCenters: readonly VCenterConfig[]
  /** Tag categories; each label is independent of the other. */
  readonly labels: { readonly zone: string | undefined; readonly region: string | undefined }
  readonly identity: IdentityConfig
  readonly lifecycle: LifecycleConfig
  readonly topology: TopologyConfig
}

export interface IdentityConfig {
  /** The level that a Node must reach before it is initialised. */
  readonly require: IdentityLevel
  /** Nodes that may stay at `asserted`, because no agent can run there. */
  readonly exempt: LabelSelector | undefined
}

export interface TopologyConfig {
  /** What happens to a running Node's labels when its VM moves or is resized. */
  readonly onChange: 'report' | 'relabel' | 'ignore'
}

/** When a Node whose VM is gone is deleted, and what happens to a Node whose VM is off. Times in milliseconds. */
export interface LifecycleConfig {
  readonly deletion: 'on' | 'dry-run' | 'off'
  /** What happens to a Node whose machine cannot be found and was never shown by any vCenter. */
  readonly unbound: 'report' | 'delete'
  /** How many proofs of absence in a row a deletion takes. */
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
  /** How long a VM must have been off before its Node gets the out-of-service taint; undefined for never. */
  readonly outOfServiceAfter: number | undefined
  /** Whether that applies to control-plane Nodes too. */
  readonly outOfServiceControlPlane: boolean
}

/** The part of the configuration that decisions depend on. */
export interface DecisionConfig extends Pick<Config, 'labels' | 'identity' | 'lifecycle' | 'topology'> {
  /** Datacenters in scope by vCenter name; an empty list means all. */
  readonly datacenters: Readonly<Record<string, readonly string[]>>
}
