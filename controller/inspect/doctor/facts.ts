/** What `doctor` has seen, for the judges; none of it is judged yet. */
import type { Result } from '../../../agent/shared/result.ts'
import type { IdentityConfig, Trust } from '../../config/config.ts'
import type { DatacenterPath } from '../../config/datacenter-pattern.ts'
import type { CPIFindings } from '../../cpi/hand-over.ts'
import type { LeaseRecord } from '../../kubernetes/lease.ts'
import type { InterlockState } from '../../types/interlock-state.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import type { PolicyState } from '../../types/policy-state.ts'
import type { Proof } from '../../types/vcenter-probe.ts'
import type { Looked } from './look.ts'
import type { Right } from './rights.ts'

export interface DoctorFacts {
  /** Milliseconds since the epoch, by the clock of this machine. */
  readonly now: number
  readonly configuration: Result<ConfigurationFacts, { readonly problems: readonly string[] }>
  readonly cluster: Looked<ClusterFacts>
  /** In the order of the configuration; none where that is wrong. */
  readonly vCenters: readonly VCenterFacts[]
}

export interface ConfigurationFacts {
  readonly path: string
  readonly vCenters: readonly string[]
  /** One line each, as `run` logs them. */
  readonly warnings: readonly string[]
  readonly identity: IdentityConfig
  /** Whether it says which level Nodes must reach, so that this does not depend on how the controller is started. */
  readonly requireGiven: boolean
}

/** Each of these is undefined where one before it has failed. */
export interface VCenterFacts {
  readonly name: string
  /** As `host:port`. */
  readonly server: string
  /** Its own name for itself (`about.instanceUuid`), and the server as `serverKey` has it. */
  readonly identity?: { readonly instanceUUID: string; readonly server: string }
  readonly trust: Trust['kind']
  /** The addresses of its name. */
  readonly dns: Looked<readonly string[]>
  readonly tcp?: Looked<undefined>
  readonly tls?: Looked<{ readonly expiresAt: number | undefined }>
  /** Undefined where user and password are known. */
  readonly noCredential: string | undefined
  readonly login?: Result<LoginFacts>
  readonly sessions?: Looked<SessionCounts>
  readonly privileges?: Looked<readonly Proof[]>
  readonly datacenters?: Looked<DatacenterFacts>
  readonly categories?: Looked<CategoryFacts>
  /** Its clock minus that of this machine, milliseconds. */
  readonly skew?: Looked<number>
}

export interface LoginFacts {
  /** Why the attempt was not counted together with the leader's; undefined where it was. */
  readonly alone: string | undefined
}

/** Of sessions that vCenter has open. */
export interface SessionCounts {
  readonly all: number
  /** Of the user who has logged in. */
  readonly own: number
}

export interface DatacenterFacts {
  /** As the configuration has them. */
  readonly wanted: readonly string[]
  readonly seen: readonly DatacenterPath[]
}

export interface CategoryFacts {
  readonly wanted: readonly string[]
  /** Those of them that there are, with the number of their tags. */
  readonly found: ReadonlyMap<string, number>
}

export interface ClusterFacts {
  /** Whom the API server takes us for. */
  readonly user: string
  /** Its clock minus that of this machine, milliseconds. */
  readonly skew: number
  /** As `v1.36.2`. */
  readonly version: Looked<string>
  /** Paths of the fields that NodeReports have there; undefined where the version that we speak is not served. */
  readonly reportFields: Looked<readonly string[] | undefined>
  /** What came of writing a report that only the policy can refuse; undefined without an answer. */
  readonly ownReportPolicy: PolicyState | undefined
  readonly policies: readonly PolicyFacts[]
  readonly controllerRights: Looked<AccountRights>
  readonly agentRights: Looked<AccountRights>
  readonly lease: { readonly name: string; readonly record: Looked<LeaseRecord | undefined> }
  readonly nodes: Looked<NodesAndReports>
  /** Undefined where the first look was not over in time. */
  readonly interlock: InterlockState | undefined
  readonly interlockRemarks: readonly string[]
  readonly cpi: Looked<CPIFindings>
}

export interface PolicyFacts {
  readonly name: string
  /** The first API server's version that has its kind, as `1.36`, where that is not promised anyway. */
  readonly since?: string
  readonly state: Looked<'bound' | 'not bound' | 'only warns' | 'missing'>
}

export interface AccountRights {
  readonly account: string
  readonly missing: readonly Right[]
}

export interface NodesAndReports {
  readonly nodes: readonly Node[]
  readonly reports: ReadonlyMap<string, NodeReport>
}
