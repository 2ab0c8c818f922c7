/** Asks the CPI's own code, in the programs of `test/servers/cpi/`. */
import { execFile } from 'node:child_process'
import * as v from 'valibot'
import { serverBinary } from '../servers/build.ts'

/** A file, and the environment that it is read in. */
export interface WrittenConfig {
  readonly text: string
  readonly environment?: Readonly<Record<string, string>>
}

const text = v.string()
/** As Go writes the CPI's own type; only what is compared. */
const cpiConfig = v.object({
  Global: v.object({ SecretName: text, SecretNamespace: text }),
  VirtualCenter: v.record(
    text,
    v.object({
      User: text,
      Password: text,
      VCenterIP: text,
      VCenterPort: text,
      InsecureFlag: v.boolean(),
      Datacenters: text,
      CAFile: text,
      Thumbprint: text,
      SecretRef: text,
      SecretName: text,
      SecretNamespace: text,
      IPFamilyPriority: v.nullable(v.array(text)),
    }),
  ),
  Labels: v.object({ Zone: text, Region: text }),
  Nodes: v.object({
    InternalNetworkSubnetCIDR: text,
    ExternalNetworkSubnetCIDR: text,
    InternalVMNetworkName: text,
    ExternalVMNetworkName: text,
    ExcludeInternalNetworkSubnetCIDR: text,
    ExcludeExternalNetworkSubnetCIDR: text,
  }),
})
const configs = v.array(v.object({ config: v.optional(cpiConfig), error: v.optional(text) }))

export type CPIConfig = v.InferOutput<typeof cpiConfig>

/** What a Secret has under its keys, and the server whose user and password are looked for. */
export interface WrittenSecret {
  readonly secret: Readonly<Record<string, string>>
  readonly server: string
}

const credentials = v.array(
  v.object({
    credential: v.optional(
      v.object({ User: text, Password: text, VCSessionManagerURL: text, VCSessionManagerToken: text }),
    ),
    error: v.optional(text),
  }),
)

/** A configuration, and machines whose Nodes are initialized under it. In the text, @HOST@ and @PORT@ are the vCenter. */
export interface Configured {
  readonly text: string
  readonly machines: readonly ReportedMachine[]
}

export interface ReportedMachine {
  /** As VMware Tools report them. */
  readonly nics: readonly ReportedNIC[]
  /** Variables that vCenter shows of the machine. */
  readonly guestinfo?: Readonly<Record<string, string>>
  /** The kubelet's --node-ip. */
  readonly nodeIP?: string
}

interface ReportedNIC {
  readonly mac: string
  readonly network: string
  /** -1 is no vNIC. */
  readonly deviceConfigID: number
  readonly addresses: readonly string[]
}

const choices = v.array(
  v.array(
    v.object({
      addresses: v.optional(v.array(v.object({ type: text, address: text }))),
      error: v.optional(text),
    }),
  ),
)

/** Resolves with what the CPI makes of each of these files: its configuration, or its error. */
export async function askForConfigs(files: readonly WrittenConfig[]): Promise<v.InferOutput<typeof configs>> {
  return v.parse(configs, await ask('cpi-config', files))
}

/** Resolves with the credential that the CPI finds in each of these Secrets, or its error. */
export async function askForCredentials(
  secrets: readonly WrittenSecret[],
): Promise<v.InferOutput<typeof credentials>> {
  return v.parse(credentials, await ask('cpi-config', secrets))
}

/** Resolves with the addresses that the CPI chooses for each machine, by configuration. */
export async function askForAddresses(
  configured: readonly Configured[],
): Promise<v.InferOutput<typeof choices>> {
  return v.parse(choices, await ask('cpi-addresses', configured))
}

async function ask(program: 'cpi-config' | 'cpi-addresses', questions: readonly object[]): Promise<unknown> {
  const binary = await serverBinary(program)
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(binary, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(stderr, { cause: error })),
    )
    child.stdin?.end(JSON.stringify(questions))
  })
  return JSON.parse(output)
}
