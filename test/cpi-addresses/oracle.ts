import { execFile } from 'node:child_process'
import * as v from 'valibot'
import { serverBinary } from '../servers/build.ts'

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

export interface ReportedNIC {
  readonly mac: string
  readonly network: string
  /** -1 is no vNIC. */
  readonly deviceConfigID: number
  readonly addresses: readonly string[]
}

/** What becomes of a new Node: its addresses in their order, or why it stays uninitialized. */
export type AddressOutcome =
  | { readonly addresses: readonly { readonly type: string; readonly address: string }[] }
  | { readonly error: string }

const outcome = v.union([
  v.object({ addresses: v.array(v.object({ type: v.string(), address: v.string() })) }),
  v.object({ error: v.string() }),
])
const outcomes = v.array(v.array(outcome))

/** What the CPI itself makes of each machine, by configuration. */
export async function askCPI(
  configured: readonly Configured[],
): Promise<readonly (readonly AddressOutcome[])[]> {
  const binary = await serverBinary('cpi-addresses')
  const output = await new Promise<string>((resolve, reject) => {
    const child = execFile(binary, { maxBuffer: 64 * 1024 * 1024 }, (error, stdout, stderr) =>
      error === null ? resolve(stdout) : reject(new Error(stderr, { cause: error })),
    )
    child.stdin?.end(JSON.stringify(configured))
  })
  return v.parse(outcomes, JSON.parse(output))
}
