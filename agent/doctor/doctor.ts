import { withApiClient } from '../api/client.ts'
import { type Credential, CredentialError, type CredentialSource } from '../api/credential.ts'
import type { RpcTools } from '../facts/guestinfo.ts'
import { explainFailure, type Failure, type ReportStep } from '../failure.ts'
import type { ReportParts } from '../gather.ts'
import { askTime, identify, type NodeIdentity } from '../identity.ts'
import { describeClaim } from '../render-report.ts'
import { buildReport } from '../report.ts'
import { publish } from '../send-report.ts'
import type { Line } from '../shared/diagnosis.ts'
import { failed, ok, type Result } from '../shared/result.ts'
import { type Facts, judge } from './judge.ts'
import { findKubelet, lookAtSystem, readToolsConf } from './look-at-machine.ts'

/** Checks everything that a report needs. Only a dry run is sent, and no claim is written. */
export async function doctor(
  options: ReportParts & {
    readonly root: string
    readonly rpctool: () => RpcTools
    readonly uid: number | undefined
    readonly inPod: boolean
    /** Milliseconds since 1970. */
    readonly now: () => number
  },
): Promise<readonly Line[]> {
  const { root, uid, inPod } = options
  const local = options.readLocal()
  const [guest, system, credential] = await Promise.all([
    options.readGuest(),
    root === '/' ? lookAtSystem() : undefined,
    readCredential(options.credential),
  ])
  const spec = (nodeUID: string) =>
    buildReport({
      nodeUID,
      agentVersion: options.agentVersion,
      refresh: options.refresh,
      ...local,
      ...guest,
      claim: { written: false, reason: 'NotTried', message: 'doctor writes no claim' },
    })
  const api = credential.ok ? await lookAtAPI(credential.value, spec, options) : undefined
  const identity = api?.identity.ok === true ? api.identity.value : undefined
  return judge({
    system,
    uid,
    machine: local.machine,
    unreadable: spec(UNKNOWN_UID).unreadable ?? [],
    tools: options.rpctool(),
    toolsVersion: guest.toolsVersion,
    toolsConf: readToolsConf(root, local.interfaces.ok ? local.interfaces.value.map(({ name }) => name) : []),
    guestinfo: guest.guestinfo,
    claim:
      guest.guestinfo.ok && identity !== undefined
        ? await describeClaim(options.guestinfo, identity, local)
        : undefined,
    credential: credential.ok ? ok({ server: credential.value.server.origin }) : credential,
    identity: api?.identity,
    skew: api?.skew,
    report: api?.report,
    kubelet: findKubelet(root),
    inPod,
  })
}

/** Where the API server could not say which Node this is. */
const UNKNOWN_UID = '00000000-0000-0000-0000-000000000000'

async function readCredential(credential: CredentialSource): Promise<Result<Credential>> {
  try {
    return ok(await credential())
  } catch (error) {
    if (error instanceof CredentialError) return failed(error.message)
    throw error
  }
}

async function lookAtAPI(
  credential: Credential,
  spec: (nodeUID: string) => ReturnType<typeof buildReport>,
  { client: options, now }: Pick<ReportParts, 'client'> & { readonly now: () => number },
): Promise<{ identity: Result<NodeIdentity, Failure>; skew?: number; report?: Facts['report'] }> {
  return withApiClient(credential, options, async (client) => {
    const identity = await explained('identify', () => identify(client))
    if (!identity.ok) return { identity }
    const sent = now()
    const time = Date.parse((await askTime(client)) ?? '')
    const report = await explained('publish', async () => {
      await publish(client, identity.value, spec(identity.value.nodeUID), now(), { dryRun: true })
      return undefined
    })
    // It says whole seconds.
    return { identity, report, ...(Number.isNaN(time) ? {} : { skew: time + 500 - (sent + now()) / 2 }) }
  })
}

async function explained<T>(step: ReportStep, work: () => Promise<T>): Promise<Result<T, Failure>> {
  try {
    return ok(await work())
  } catch (error) {
    const failure = explainFailure(error, step)
    if (failure === undefined) throw error
    return { ok: false, ...failure }
  }
}
