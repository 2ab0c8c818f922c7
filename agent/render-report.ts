import { withApiClient } from './api/client.ts'
import type { Guestinfo } from './facts/guestinfo.ts'
import { explainFailure } from './failure.ts'
import type { LocalFacts, ReportParts } from './gather.ts'
import { identify, type NodeIdentity } from './identity.ts'
import type { Logger } from './log.ts'
import { buildReport } from './report.ts'
import { reportObject } from './send-report.ts'
import { GUESTINFO_CLAIM, parseClaim } from './shared/node-report.ts'
import { escapeUnprintable } from './shared/printable.ts'

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

/**
 * The present claim, read without writing; `ours` where the agent of this Node has written it in this boot. What the agent
 * knows its claim by, the nonce, is known to its process alone, and printed by none.
 */
export async function describeClaim(
  guestinfo: Guestinfo,
  { nodeUID }: NodeIdentity,
  { bootID }: LocalFacts,
): Promise<{ readonly ours: boolean; readonly message: string }> {
  const present = await guestinfo.get(GUESTINFO_CLAIM)
  const other = (message: string) => ({ ours: false, message: `${GUESTINFO_CLAIM} ${message}` })
  if (!present.ok) return other(`cannot be read: ${present.message}`)
  if (present.value === undefined) return other('is not set')
  const claim = parseClaim(present.value)
  const boot = bootID.ok ? bootID.value : undefined
  if (claim?.nodeUID !== nodeUID || claim.bootID !== boot) return other('has another claim')
  if (claim.nonce === undefined) return other("has this Node's claim of this boot without a nonce")
  return { ours: true, message: `${GUESTINFO_CLAIM} has this Node's claim of this boot` }
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
