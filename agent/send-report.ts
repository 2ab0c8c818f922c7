import { type ApiClient, withApiClient } from './api/client.ts'
import { type ClaimKeeper, type ClaimResult, createClaimKeeper, describeClaim } from './claim.ts'
import { explainFailure, type Failure, type ReportStep } from './failure.ts'
import type { GuestFacts, LocalFacts, ReportParts } from './gather.ts'
import { identify, type NodeIdentity } from './identity.ts'
import type { Logger } from './log.ts'
import { buildReport } from './report.ts'
import { ApiError } from './shared/api-error.ts'
import {
  AGENT_FIELD_MANAGER,
  ANNOTATION_REPORTED_AT,
  API_GROUP,
  API_VERSION,
  claimDigest,
  KIND,
  type NodeReportSpec,
  REPORTS_PATH,
  timestamp,
} from './shared/node-report.ts'
import { escapeUnprintable } from './shared/printable.ts'

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

/**
 * The report as applied: named after its Node and owned by it, so that it is deleted with the Node.
 *
 * @param reportedAt RFC 3339, seconds
 */
export function reportObject({ nodeName, nodeUID }: NodeIdentity, spec: NodeReportSpec, reportedAt?: string) {
  return {
    apiVersion: `${API_GROUP}/${API_VERSION}`,
    kind: KIND,
    metadata: {
      name: nodeName,
      ...(reportedAt === undefined ? {} : { annotations: { [ANNOTATION_REPORTED_AT]: reportedAt } }),
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid: nodeUID }],
    },
    spec,
  }
}

/**
 * Writes the report by server-side apply, which needs no permission to read and creates the report if necessary. An apply
 * that changes nothing would leave no trace; the time in an annotation does, without a new generation.
 *
 * @param now milliseconds since 1970
 * @param options with `dryRun` the API server says what it would do, and does nothing
 */
export async function publish(
  client: ApiClient,
  identity: NodeIdentity,
  spec: NodeReportSpec,
  now: number,
  { dryRun = false } = {},
): Promise<void> {
  await client.request({
    method: 'PATCH',
    path: `${REPORTS_PATH}/${encodeURIComponent(identity.nodeName)}?fieldManager=${AGENT_FIELD_MANAGER}&force=true${dryRun ? '&dryRun=All' : ''}`,
    contentType: 'application/apply-patch+yaml',
    body: reportObject(identity, spec, timestamp(now)),
  })
}

/**
 * Sends a report after the claim that it speaks of was written, without the time between two reports where the CRD of an older
 * controller has no field for it. A CRD that has no field for the claim's digest is one of an
 * older controller, which takes a claim with a nonce for none: the claim is written again without one, and the report sent
 * without the digest. Each later look at the claim, until the field is there, asks by a dry run whether it is.
 *
 * @returns the report that was sent
 */
async function sendReport(options: {
  readonly claim: Pick<ClaimKeeper, 'known' | 'hasNonce' | 'useNonce'>
  /** Makes sure that the claim stands, and resolves with a report that says so. */
  readonly compose: () => Promise<NodeReportSpec>
  /** Applies a report; a dry run changes nothing. */
  readonly send: (spec: NodeReportSpec, how?: { readonly dryRun: boolean }) => Promise<void>
}): Promise<NodeReportSpec> {
  const { claim, compose } = options
  const send: typeof options.send = async (spec, how) => {
    try {
      await options.send(spec, how)
    } catch (error) {
      if (!isUnknown('refreshSeconds', error)) throw error
      const { refreshSeconds: _, ...rest } = spec
      await options.send(rest, how)
    }
  }
  const looks = claim.known() === undefined
  let spec = await compose()
  if (looks && !claim.hasNonce() && (await hasDigest(spec, send))) {
    claim.useNonce(true)
    spec = await compose()
  }
  try {
    await send(spec)
  } catch (error) {
    if (!isUnknown('claim.digest', error)) throw error
    claim.useNonce(false)
    spec = await compose()
    await send(spec)
  }
  return spec
}

/** Whether the API server's CRD has the field. A dry run asks for one digest as well as for another. */
async function hasDigest(
  spec: NodeReportSpec,
  send: Parameters<typeof sendReport>[0]['send'],
): Promise<boolean> {
  const digest = claimDigest({ nodeUID: spec.nodeUID, bootID: spec.bootID })
  try {
    await send({ ...spec, claim: { ...spec.claim, digest } }, { dryRun: true })
    return true
  } catch (error) {
    if (isUnknown('claim.digest', error)) return false
    throw error
  }
}

/** Server-side apply does not prune a field that is in no schema, as other writes do, but refuses the whole object. */
function isUnknown(field: string, error: unknown): boolean {
  return error instanceof ApiError && error.message.includes(`.spec.${field}: field not declared in schema`)
}

/** Printed where the API server could not say which Node this is. */
const UNKNOWN: NodeIdentity = { nodeName: 'unknown', nodeUID: '00000000-0000-0000-0000-000000000000' }

/** The report as JSON, as it would be sent; nothing is sent and no claim is written. */
export async function renderReport(options: ReportParts & { readonly log: Logger }): Promise<string> {
  const [guest, identity] = await Promise.all([options.readGuest(), whoAmI(options)])
  const local = options.readLocal()
  const spec = buildReport({
    nodeUID: identity.nodeUID,
    agentVersion: options.agentVersion,
    refresh: options.refresh,
    ...local,
    ...guest,
    claim: {
      written: false,
      reason: 'NotTried',
      message: `--print writes no claim (--once does); ${(await describeClaim(options.guestinfo, identity, local)).message}`,
    },
  })
  return `${escapeUnprintable(JSON.stringify(reportObject(identity, spec), undefined, 2))}\n`
}

async function whoAmI({
  credential,
  client,
  log,
}: Pick<ReportParts, 'credential' | 'client'> & { readonly log: Logger }): Promise<NodeIdentity> {
  try {
    return await withApiClient(await credential(), client, identify)
  } catch (error) {
    const failure = explainFailure(error, 'identify')
    if (failure === undefined) throw error
    log.warn({ reason: failure.message, next: failure.next }, 'the name and UID of the Node are unknown')
    return UNKNOWN
  }
}
