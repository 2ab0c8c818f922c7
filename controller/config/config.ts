/** The checked configuration: what the rest of the controller sees, whatever form it was written in. */
import type { IdentityLevel } from '../../agent/contract.ts'
import type { LifecycleSettings, TopologySettings } from '../facts/settings.ts'
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
  /** Its key under `vcenter:`; the word for it in logs, metrics and messages. */
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
  /** Tag categories; each label stands on its own. */
  readonly labels: { readonly zone: string | undefined; readonly region: string | undefined }
  readonly identity: IdentityConfig
  readonly lifecycle: LifecycleSettings
  readonly topology: TopologySettings
}

export interface IdentityConfig {
  /** The level that a Node must reach before it is initialised. */
  readonly require: IdentityLevel
  /** Nodes that may stay at `asserted`, because no agent can run there. */
  readonly exempt: LabelSelector | undefined
}
