import { withApiClient } from '../api/client.ts'
import { type Credential, CredentialError, type CredentialSource } from '../api/credential.ts'
import { describeClaim } from '../claim.ts'
import type { DMIFacts } from '../facts/dmi.ts'
import type { Unreadable } from '../facts/files.ts'
import type { RpcTools } from '../facts/guestinfo.ts'
import { explainFailure, type Failure, type ReportStep } from '../failure.ts'
import type { ReportParts } from '../gather.ts'
import { askTime, identify, type NodeIdentity } from '../identity.ts'
import { buildReport } from '../report.ts'
import { publish } from '../send-report.ts'
import {
  type CheckResult,
  chain,
  fail,
  fine,
  judgeClock,
  type Line,
  skip,
  warn,
} from '../shared/diagnosis.ts'
import type { UnreadableFact } from '../shared/node-report.ts'
import { failed, ok, type Result } from '../shared/result.ts'
import { sameMachineUUID } from '../shared/uuid.ts'
import { findKubelet, type Kubelet, lookAtSystem, readToolsConf, TOOLS_CONF } from './look-at-machine.ts'

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

/** What `doctor` has seen of this machine. */
export interface Facts {
  /** Undefined where another root is looked at, of which the running system says nothing. */
  readonly system: Awaited<ReturnType<typeof lookAtSystem>> | undefined
  readonly uid: number | undefined
  readonly machine: DMIFacts
  /** What else could not be read. */
  readonly unreadable: readonly UnreadableFact[]
  readonly tools: RpcTools
  readonly toolsVersion: string | undefined
  /** Undefined where VMware Tools have no settings of their own. */
  readonly toolsConf: ReturnType<typeof readToolsConf>
  readonly guestinfo: Result<unknown, Unreadable>
  /** What guestinfo has of the claim, in words; undefined where nothing could be read. */
  readonly claim: { readonly ours: boolean; readonly message: string } | undefined
  readonly credential: Result<{ readonly server: string }>
  /** Undefined where there is no credential. */
  readonly identity: Result<NodeIdentity, Failure> | undefined
  /** Of the API server minus that of this machine, milliseconds; undefined where it did not say. */
  readonly skew: number | undefined
  /** A trial of sending the report; undefined without an identity. */
  readonly report: Result<undefined, Failure> | undefined
  readonly kubelet: Kubelet | undefined
  readonly inPod: boolean
}

/** What `doctor` says about it. Pure. */
export function judge(facts: Facts): readonly Line[] {
  const { identity, report, skew } = facts
  return [
    ...judgeSystem(facts),
    ...judgeToolsConf(facts.toolsConf),
    { check: 'BIOS UUID', ...judgeMachine(facts) },
    ...facts.unreadable
      .filter(({ fact }) => !/^machine\.|^guestinfo$/.test(fact))
      .map(({ fact, message }) => ({ check: fact, ...warn(message) })),
    ...chain(
      [
        ['guest RPC', judgeGuestRPC(facts)],
        ['claim', facts.claim && judgeClaim(facts.claim)],
      ],
      facts.guestinfo.ok ? 'API server' : 'guest RPC',
    ),
    ...chain([
      ['credential', judgeCredential(facts.credential)],
      ['API server', identity && judgeIdentity(identity)],
      ['clock', identity?.ok === true ? judgeSkew(skew) : undefined],
      ['report', report && judgeReport(report)],
    ]),
    { check: 'kubelet', ...judgeKubelet(facts) },
  ]
}

function judgeSystem({ system, toolsVersion }: Facts): readonly Line[] {
  if (system === undefined) return []
  const { name, hypervisor, toolsRun } = system
  const on = hypervisor === '' ? '' : `, on ${hypervisor}`
  return [
    ...(name === '' ? [] : [{ check: 'system', ...fine(`${name}${on}`) }]),
    ...(toolsRun === false
      ? [
          {
            check: 'VMware Tools',
            ...warn(
              'not running: vCenter learns no addresses of this VM from them, and cannot shut its guest down; start open-vm-tools',
            ),
          },
        ]
      : toolsVersion === undefined
        ? []
        : [{ check: 'VMware Tools', ...fine(`open-vm-tools ${toolsVersion}`) }]),
  ]
}

function judgeToolsConf(conf: Facts['toolsConf']): readonly Line[] {
  if (conf === undefined || (conf.polls && conf.excluded.length === 0)) return []
  const problem = conf.polls
    ? `exclude-nics in ${TOOLS_CONF} matches ${conf.excluded.join(', ')}: vCenter learns none of its addresses; remove the pattern`
    : `poll-interval is 0 in ${TOOLS_CONF}: vCenter learns no addresses of this VM; remove it`
  return [{ check: 'tools.conf', ...warn(`${problem} and restart open-vm-tools`) }]
}

function judgeMachine({ machine: { serialUUID, productUUID }, uid }: Facts): CheckResult {
  if (!serialUUID.ok)
    return fail(
      `${serialUUID.message}${serialUUID.reason === 'PermissionDenied' && uid !== undefined && uid !== 0 ? ` (it runs as user ${uid})` : ''}`,
    )
  if (productUUID.ok && !sameMachineUUID(serialUUID.value, productUUID.value))
    return warn(
      `product_serial has ${serialUUID.value}, but product_uuid has another UUID, ${productUUID.value}; remove serialNumber from the VM's settings, where it hides the VM's own`,
    )
  return fine(serialUUID.value)
}

function judgeGuestRPC({ tools, guestinfo }: Facts): CheckResult {
  const names = [tools.plain, tools.privileged].filter((each) => each !== undefined)
  if (guestinfo.ok) return fine(`guestinfo can be read by ${names.join(' or ')}`)
  return warn(`${guestinfo.message}; without it this Node can be "reported", but never "proven"`)
}

function judgeClaim({ ours, message }: NonNullable<Facts['claim']>): CheckResult {
  if (ours) return fine(message)
  return warn(`${message}; a running agent writes it, and "rollcall-agent --once" says why it does not`)
}

function judgeCredential(credential: Facts['credential']): CheckResult {
  return credential.ok ? fine(`for ${credential.value.server}`) : fail(credential.message)
}

function judgeIdentity(identity: NonNullable<Facts['identity']>): CheckResult {
  if (identity.ok)
    return fine(
      `answers, and knows this machine as Node ${identity.value.nodeName} (${identity.value.nodeUID})`,
    )
  return failure(identity)
}

function judgeReport(report: NonNullable<Facts['report']>): CheckResult {
  return report.ok ? fine('the API server would accept it') : failure(report)
}

function judgeSkew(skew: number | undefined): CheckResult {
  return skew === undefined ? skip('the API server did not say its time') : judgeClock('the API server', skew)
}

function failure({ message, next }: Failure): CheckResult {
  return fail(`${message}; ${next}`)
}

function judgeKubelet({ kubelet, inPod }: Facts): CheckResult {
  if (kubelet === undefined)
    return skip(
      inPod
        ? "a container does not see the host's processes; run this command on the host to check the kubelet's flags"
        : 'no kubelet found among the processes; if one runs, check that it has --cloud-provider=external',
    )
  if (kubelet.external) return fine(`${kubelet.program} has --cloud-provider=external`)
  if (kubelet.program !== 'kubelet')
    return warn(
      `${kubelet.program} has no --kubelet-arg=cloud-provider=external on its command line; look for it in its configuration file`,
    )
  return fail(
    'the kubelet runs without --cloud-provider=external: its Node is registered without the taint that Rollcall waits for, and pods run there unverified; set it, delete the Node, and restart the kubelet',
  )
}
