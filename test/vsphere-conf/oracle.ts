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
const outcomes = v.array(v.object({ config: v.optional(cpiConfig), error: v.optional(text) }))

export type CPIConfig = v.InferOutput<typeof cpiConfig>
export type CPIOutcome = v.InferOutput<typeof outcomes>[number]

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

export type CPICredential = NonNullable<v.InferOutput<typeof credentials>[number]['credential']>

/** What the CPI itself makes of each of these files: its configuration, or its error. */
export async function askCPI(files: readonly WrittenConfig[]): Promise<readonly CPIOutcome[]> {
  return v.parse(outcomes, await ask(files))
}

/** Which credential the CPI itself finds in each of these Secrets, or its error. */
export async function askCPIForCredentials(
  secrets: readonly WrittenSecret[],
): Promise<v.InferOutput<typeof credentials>> {
  return v.parse(credentials, await ask(secrets))
}

async function ask(questions: readonly object[]): Promise<unknown> {
  const binary = await serverBinary('cpi-config')
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(binary, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(stderr, { cause: error })),
    )
    child.stdin?.end(JSON.stringify(questions))
  })
  return JSON.parse(output)
}
