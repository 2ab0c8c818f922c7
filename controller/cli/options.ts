/** What the command line says to each command. */
import type { LogLevel } from '../../agent/shared/log-level.ts'
import type { GivenArguments } from '../config/apply-arguments.ts'
import type { Notice } from '../cpi/arguments/parse-cpi-arguments.ts'
import type { SecureServing } from '../cpi/arguments/secure-serving.ts'
import type { CredentialFlags } from '../kubernetes/credentials.ts'
import type { RateLimit } from '../kubernetes/flow-control.ts'
import type { ElectionTiming } from '../kubernetes/leader-election.ts'
import type { Output, Shell } from './command-line/table.ts'

/** Where to listen. */
export interface ListenAddress {
  /** Empty means every address of the machine, IPv6 and IPv4. */
  readonly host: string
  /** 0 lets the system choose. */
  readonly port: number
}

export interface RunFlags {
  /** The CPI's configuration file. */
  readonly config: string
  /** Without it the service account of the Pod. */
  readonly kubeconfig: string | undefined
  /** The plain port; undefined where it is turned off. */
  readonly listen: ListenAddress | undefined
  readonly leaseNamespace: string
  readonly leaseName: string
  /** This replica's name in the Lease, to which each process adds a suffix of its own; without it the host's. */
  readonly identity: string | undefined
  readonly logLevel: LogLevel
  /** What only the CPI's arguments can say. */
  readonly cpi?: CpiFlags
}

export interface CpiFlags {
  readonly timing: ElectionTiming
  readonly apiLimit: RateLimit | undefined
  /** The HTTPS port, on the same address as the plain one; undefined where it is turned off. */
  readonly secure: (SecureServing & { readonly host: string }) | undefined
  /** What they say that the configuration depends on. */
  readonly given: GivenArguments
  /** To be told at the start. */
  readonly notices: readonly Notice[]
}

export type LeaseFlags = Pick<RunFlags, 'leaseNamespace' | 'leaseName'>

export interface PlanFlags extends CredentialFlags, LeaseFlags, Pick<RunFlags, 'config' | 'logLevel'> {
  readonly output: Output
  /** Whether the CPI is to be looked for, and its cluster to go on as it was. */
  readonly fromCPI: boolean
}

export interface StatusFlags extends CredentialFlags, LeaseFlags {
  readonly output: Output
  readonly watch: boolean
}

export interface ExplainFlags extends CredentialFlags, LeaseFlags, Pick<RunFlags, 'logLevel'> {
  readonly node: string
  /** To ask vCenter, too. */
  readonly config: string | undefined
  readonly output: Output
}

export interface DoctorFlags extends CredentialFlags, LeaseFlags {
  /** Without it that of the Pod, or of {@link configSecret}. */
  readonly config: string | undefined
  readonly configSecret: { readonly namespace: string; readonly name: string }
  readonly output: Output
}

/** A command with its options. */
export type Command =
  | { readonly kind: 'run'; readonly options: RunFlags }
  | { readonly kind: 'plan'; readonly options: PlanFlags }
  | { readonly kind: 'explain'; readonly options: ExplainFlags }
  | { readonly kind: 'status'; readonly options: StatusFlags }
  | { readonly kind: 'doctor'; readonly options: DoctorFlags }
  | { readonly kind: 'completion'; readonly shell: Shell }
