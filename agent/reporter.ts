import { type ApiClientOptions, withApiClient } from './api/client.ts'
import type { CredentialSource } from './api/credential.ts'
import { type ClaimResult, writeClaim } from './claim.ts'
import type { NodeReportSpec } from './contract.ts'
import type { Guestinfo } from './facts/guestinfo.ts'
import { explainFailure, type Failure, type Step } from './failure.ts'
import type { GuestFacts, LocalFacts } from './gather.ts'
import { identify, type NodeIdentity } from './identity.ts'
import { publish } from './publish.ts'
import { buildReport } from './report.ts'

export interface ReporterOptions {
  readonly agentVersion: string
  readonly credential: CredentialSource
  readonly client: ApiClientOptions
  readonly guestinfo: Guestinfo
  readonly readLocal: () => LocalFacts
  readonly readGuest: () => Promise<GuestFacts>
}

export type Outcome =
  | {
      readonly ok: true
      readonly identity: NodeIdentity
      readonly spec: NodeReportSpec
      readonly changed: boolean
    }
  | { readonly ok: false; readonly failure: Failure }

export interface Reporter {
  /**
   * Finds out whose report it is, writes the claim, sends the report. What only the hypervisor tells is asked once and
   * kept until {@link forget}, so that attempts against a dead API server cost no processes.
   *
   * @throws only what is a fault of the agent
   */
  report(): Promise<Outcome>
  /** Whether the machine differs from the report sent last; true where none was sent. */
  changed(): boolean
  /** To be called when a refresh is due: the hypervisor is asked again, and the claim looked at. */
  forget(): void
}

export function createReporter(options: ReporterOptions): Reporter {
  let guest: GuestFacts | undefined
  let claim: (ClaimResult & { readonly of: string }) | undefined
  let claimedBefore = false
  let sent: { readonly text: string; readonly identity: NodeIdentity } | undefined

  const claimFor = async (nodeUID: string, local: LocalFacts): Promise<ClaimResult> => {
    const bootID = local.bootID.ok ? local.bootID.value : undefined
    const of = `${nodeUID} ${bootID}`
    if (claim?.of !== of) {
      claim = { ...(await writeClaim(options.guestinfo, { nodeUID, bootID, always: !claimedBefore })), of }
      claimedBefore = true
    }
    const { of: _, ...result } = claim
    return result
  }
  const build = (nodeUID: string, local: LocalFacts, from: GuestFacts, result: ClaimResult) =>
    buildReport({ nodeUID, agentVersion: options.agentVersion, ...local, ...from, claim: result })

  return {
    async report() {
      let step: Step = 'identify'
      // Asked while the API server is: neither waits for the other.
      const asked = guest === undefined ? options.readGuest() : Promise.resolve(guest)
      try {
        return await withApiClient(await options.credential(), options.client, async (client) => {
          const identity = await identify(client)
          guest = await asked
          const local = options.readLocal()
          const spec = build(identity.nodeUID, local, guest, await claimFor(identity.nodeUID, local))
          step = 'publish'
          await publish(client, identity, spec)
          const text = JSON.stringify(spec)
          const changed = sent?.text !== text
          sent = { text, identity }
          return { ok: true, identity, spec, changed }
        })
      } catch (error) {
        guest = await asked
        const failure = explainFailure(error, step)
        if (failure === undefined) throw error
        return { ok: false, failure }
      }
    },
    changed() {
      if (sent === undefined || guest === undefined || claim === undefined) return true
      const { of: _, ...result } = claim
      return JSON.stringify(build(sent.identity.nodeUID, options.readLocal(), guest, result)) !== sent.text
    },
    forget() {
      guest = undefined
      claim = undefined
    },
  }
}
