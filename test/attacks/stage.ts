import { randomUUID } from 'node:crypto'
import type { NodeReportSpec } from '../../agent/shared/node-report.ts'
import { claimVariable, drawClaim, drawNonce } from '../fixtures/claim.ts'
import type { VcsimVM } from '../servers/control.ts'
import type { Vcsim, VcsimOptions } from '../servers/vcsim.ts'
import type { Controller, ControllerProcessOptions } from '../world/controller.ts'
import { reportObject, reportOf } from '../world/crowd.ts'
import { type KubeletOptions, kubeletIdentity, nodeObject } from '../world/kubelet.ts'
import type { Member, MemberOptions } from '../world/member.ts'
import { condition, type NodeObject, type ReportObject } from '../world/objects.ts'
import { type Bindable, createObject, serviceAccountToken } from '../world/service-account.ts'
import { openStage, type Stage, type Teardown } from '../world/stage.ts'
import { podOf } from './objects.ts'
import { type Answer, openSender, type Sender } from './sender.ts'

export const REPORTS = '/apis/rollcall.dev/v1alpha1/nodereports'

/** The agent's service account. */
export const AGENT = 'rollcall-agent'

/** Everything of a Node that an attack could have touched, down to the version. */
export interface Seen {
  readonly node: unknown
  readonly report: unknown
}

/** A Node whose agent is honest. */
export interface Victim extends Member {
  seen(): Promise<Seen>
}

/** A machine and the Node that it is. */
export interface AttackMember extends Pick<Member, 'name' | 'uid' | 'vm' | 'bootID' | 'address'> {
  /** Of its claim, where it has no agent that keeps one to itself. */
  readonly nonce?: string
}

/** A Node in the hands of an attacker, who has both credentials of its agent. */
export interface Forger extends AttackMember {
  readonly nonce: string
  readonly kubelet: Sender
  readonly agentPod: Sender
  /** The Pod to which the token of `agentPod` is bound. */
  readonly pod: Bindable
  /** Writes this report of the Node's own, with the kubelet's credential. */
  report(spec: NodeReportSpec): Promise<Answer>
  /** Its report, once the controller has judged the one that stands. */
  judged(): Promise<ReportObject>
  /** Says nothing but the truth, claim included, until the controller takes it for proven. */
  proven(): Promise<void>
  /** Says the truth, but that it cannot write a claim, until the controller believes as much. */
  reported(): Promise<void>
}

/** What a node says that cannot write its claim. */
export const NO_CLAIM: Partial<NodeReportSpec> = {
  claim: { written: false, reason: 'Disabled', message: 'the host forbids it' },
}

export interface ForgerOptions {
  readonly vm?: VcsimVM
  /** Which has the VM; that of the stage unless given. */
  readonly vcsim?: Vcsim
  /** What the kubelet registers; the machine's own facts unless given. */
  readonly kubelet?: Partial<Omit<KubeletOptions, 'name'>>
}

/** A stage with a controller that leads. */
export interface AttackStage extends Stage {
  /** The controller that leads now. */
  readonly running: Controller
  /** Ends the controller, and starts another, with these changes, that knows nothing of what the former has seen. */
  newLeader(changes?: Partial<ControllerProcessOptions>): Promise<void>
  /** Registers a Node, lets its agent report, and waits until the controller is done with it. */
  victim(name: string, options?: VictimOptions): Promise<Victim>
  forger(name: string, options?: ForgerOptions): Promise<Forger>
  sender(credential: Parameters<typeof openSender>[1]): Promise<Sender>
}

export interface VictimOptions extends MemberOptions {
  /** What it reaches; `reported` is what a node does that cannot write its claim. */
  readonly level?: 'proven' | 'reported'
}

export async function openAttackStage(
  t: Teardown,
  options: VcsimOptions,
  controller: Partial<ControllerProcessOptions> = {},
): Promise<AttackStage> {
  const stage = await openStage(t, options)
  let running = await stage.controller(controller)
  const { cluster } = stage
  const sender: AttackStage['sender'] = async (credential) => {
    const opened = await openSender(cluster, credential)
    t.teardown(() => opened.close())
    return opened
  }
  let forgers = 0
  return {
    ...stage,
    get running() {
      return running
    },
    async newLeader(changes = {}) {
      await running.stop()
      running = await stage.controller({ ...controller, ...changes })
    },
    sender,
    async victim(name, { level = 'proven', ...member } = {}) {
      const rpctool = level === 'proven' ? {} : { deny: ['info-set'] }
      const registered = await stage.reported(name, { rpctool, ...member })
      await untilStands(stage, registered, level)
      return { ...registered, seen: () => seen(stage, name) }
    },
    forger: (name, options = {}) => {
      forgers += 1
      return forger({ stage, sender, name, address: `10.66.0.${forgers}` }, options)
    },
  }
}

interface ForgerContext {
  readonly stage: Stage
  readonly sender: AttackStage['sender']
  readonly name: string
  readonly address: string
}

async function forger(
  { stage, sender, name, address }: ForgerContext,
  { vm = stage.vms.shift(), vcsim = stage.vcsim, kubelet: given }: ForgerOptions,
): Promise<Forger> {
  if (vm === undefined) throw new Error('every virtual machine has a Node')
  const { cluster } = stage
  const kubelet = await sender({ certificate: await cluster.clientCertificate(kubeletIdentity(name)) })
  const uid = await register(kubelet, { name, biosUUID: vm.uuid, ...given })
  const pod = await createObject(cluster, 'kube-system', podOf(AGENT, `agent-${randomUUID()}`, name))
  const agentPod = await sender({ token: await serviceAccountToken(cluster, AGENT, { pod }) })
  const machine = { name, uid, vm, bootID: randomUUID(), nonce: drawNonce(), address }
  const report: Forger['report'] = (spec) => apply(kubelet, reportObject({ name, uid, spec }))
  return {
    ...machine,
    kubelet,
    agentPod,
    pod,
    report,
    judged: () => judged(stage, name),
    async proven() {
      await vcsim.setGuestinfo(claimVariable(vm.ref, drawClaim(uid, machine)))
      await report(truth(machine))
      await untilStands(stage, machine, 'proven')
    },
    async reported() {
      await report(truth(machine, NO_CLAIM))
      await untilStands(stage, machine, 'reported')
    },
  }
}

async function register(kubelet: Sender, options: KubeletOptions): Promise<string> {
  const body = nodeObject(options)
  const answer = await kubelet.send({ method: 'POST', path: '/api/v1/nodes', body })
  const metadata: unknown = Reflect.get(Object(answer.body), 'metadata')
  const uid: unknown = Reflect.get(Object(metadata), 'uid')
  if (answer.status !== 201 || typeof uid !== 'string')
    throw new Error(`Node ${options.name}: ${answer.message}`)
  return uid
}

interface ApplyOptions {
  readonly query?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Server-side apply, as an agent writes. */
export function apply(
  sender: Sender,
  report: { metadata: { name: string } },
  { query = 'fieldManager=rollcall-agent&force=true', headers }: ApplyOptions = {},
): Promise<Answer> {
  return sender.send({
    method: 'PATCH',
    path: `${REPORTS}/${report.metadata.name}?${query}`,
    body: report,
    contentType: 'application/apply-patch+yaml',
    ...(headers === undefined ? {} : { headers }),
  })
}

/** What an honest agent would say of this machine; of a claim whose nonce is not known, one made up. */
export function truth(
  { name, uid, vm, bootID, nonce, address }: AttackMember,
  changes: Partial<NodeReportSpec> = {},
): NodeReportSpec {
  const claim = drawClaim(uid, { bootID, nonce })
  return {
    ...reportOf(vm, { name, address, claim }),
    interfaces: [nic(vm.vnics[0]?.mac, [address])],
    ...changes,
  }
}

export function nic(
  mac: string | undefined,
  addresses: readonly string[],
  name = 'ens192',
): NodeReportSpec['interfaces'][number] {
  if (mac === undefined) throw new Error('the VM has no vNIC')
  return {
    name,
    mac,
    defaultRoute: true,
    addresses: addresses.map((address) => ({ address, prefixLength: 24 })),
  }
}

/** As administrator, from the API server itself and not from a watch that may be behind. */
async function seen({ cluster }: Stage, name: string): Promise<Seen> {
  const node = await cluster.request<NodeObject>('GET', `/api/v1/nodes/${name}`)
  const report = await cluster.request<ReportObject>('GET', `${REPORTS}/${name}`)
  return { node: node.body, report: report.body }
}

async function judged({ cluster, reports }: Stage, name: string): Promise<ReportObject> {
  const { body } = await cluster.request<{ metadata: { generation: number } }>('GET', `${REPORTS}/${name}`)
  const { generation } = body.metadata
  await reports.until(
    `the report of ${name} is judged`,
    () => reports.last(name)?.status?.observedGeneration === generation,
  )
  const report = reports.last(name)
  if (report === undefined) throw new Error(`the report of ${name} is gone`)
  return report
}

/** Fails with what the controller says of the Node instead. What it said of a former Node of that name is not enough. */
async function untilStands(
  { reports }: Stage,
  { name, uid }: Pick<Member, 'name' | 'uid'>,
  level: string,
): Promise<void> {
  const stands = () => {
    const report = reports.last(name)
    const isJudged = report?.status?.observedGeneration === report?.metadata.generation
    if (!isJudged || report?.spec.nodeUID !== uid || report.status?.identityLevel !== level) return false
    return condition(report, 'Initialized')?.status === 'True'
  }
  try {
    await reports.until(`${name} is ${level}`, stands)
  } catch (error) {
    throw new Error(`${name} is not ${level}: ${JSON.stringify(reports.last(name)?.status)}`, {
      cause: error,
    })
  }
}
