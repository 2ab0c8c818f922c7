import { withApiClient } from './api/client.ts'
import { type ClaimResult, createClaimKeeper } from './claim.ts'
import { explainFailure, type Failure, type ReportStep } from './failure.ts'
import type { GuestFacts, LocalFacts, ReportParts } from './gather.ts'
import { identify, type NodeIdentity } from './identity.ts'
import { publish, sendReport } from './publish.ts'
import { buildReport } from './report.ts'
import type { NodeReportSpec } from './shared/node-report.ts'

export type ReportOutcome =
  | {
      readonly ok: true
      readonly identity: NodeIdentity
      readonly spec: NodeReportSpec
      readonly changed: boolean
    }
  | { readonly ok: false; readonly failure: Failure }

export interface Reporter {
  /**
   * Finds out which Node this is, writes the claim, and sends the report with the time as a sign of life. Facts from the
   * hypervisor are read once and kept until {@link forget}, so that attempts while the API server is down cost no processes.
   *
   * @throws only for a defect of the agent
   */
  report(): Promise<ReportOutcome>
  /**
   * Whether the machine or the state of the claim differs from the last report sent, or the Node may have been registered
   * again; true where none was sent. Costs no request and no process.
   */
  changed(): boolean
  /** Whether the claim was not written for a reason that may pass by itself. */
  claimPending(): boolean
  /** Retries writing it; a new result makes {@link changed} true. */
  retryClaim(): Promise<void>
  /** To be called when a refresh is due: facts from the hypervisor and the claim are read again. */
  forget(): void
}

export function createReporter(
  options: ReportParts & {
    /** 32 hexadecimal digits that nobody can guess. */
    readonly drawNonce: () => string
    /** A text that changes when the Node may have been registered again. */
    readonly readFingerprint: () => string
    /** Milliseconds since 1970. */
    readonly now: () => number
  },
): Reporter {
  const { agentVersion, refresh } = options
  const claim = createClaimKeeper(options.guestinfo, options.drawNonce)
  let guest: GuestFacts | undefined
  let sent: { readonly text: string; readonly identity: NodeIdentity; readonly sign: string } | undefined

  const build = (nodeUID: string, local: LocalFacts, from: GuestFacts, result: ClaimResult) =>
    buildReport({ nodeUID, agentVersion, refresh, ...local, ...from, claim: result })

  return {
    async report() {
      let step: ReportStep = 'identify'
      // In parallel with the API server, so that neither waits for the other.
      const asked = guest === undefined ? options.readGuest() : Promise.resolve(guest)
      // Read before the identity: a change after that leads to another report.
      const sign = options.readFingerprint()
      try {
        return await withApiClient(await options.credential(), options.client, async (client) => {
          const identity = await identify(client)
          const facts = await asked
          guest = facts
          const local = options.readLocal()
          const bootID = local.bootID.ok ? local.bootID.value : undefined
          step = 'publish'
          const spec = await sendReport({
            claim,
            compose: async () =>
              build(identity.nodeUID, local, facts, await claim.stand(identity.nodeUID, bootID)),
            send: (spec, how) => publish(client, identity, spec, options.now(), how),
          })
          const text = JSON.stringify(spec)
          const changed = sent?.text !== text
          sent = { text, identity, sign }
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
      const result = claim.known()
      if (sent === undefined || guest === undefined || result === undefined) return true
      if (sent.sign !== options.readFingerprint()) return true
      return JSON.stringify(build(sent.identity.nodeUID, options.readLocal(), guest, result)) !== sent.text
    },
    claimPending: claim.pending,
    async retryClaim() {
      await claim.retry()
      // If the tool hung or was missing, the metadata could not be read either.
      if (claim.known()?.written && !guest?.guestinfo.ok) guest = undefined
    },
    forget() {
      options.guestinfo.renew()
      guest = undefined
      claim.forget()
    },
  }
}
