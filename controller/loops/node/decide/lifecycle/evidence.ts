import type { BoundVM } from '../../../../../agent/shared/node-report.ts'
import type { Node, NodeReport } from '../../../../types/node.ts'
import { isUnseen, type NodeMachines } from '../../facts/machines.ts'
import { isAgentless } from '../../facts/previous-status.ts'
import {
  isOffForGood,
  type ProofFacts,
  type UnmetPrecondition,
  unmetDepartureProofs,
  unmetProofs,
} from './absence-proofs.ts'

/** Asks whether the machines of one Node exist, and says what was known of the Node at that time. */
export interface ProbeRequest {
  readonly nodeUID: string
  readonly vm: BoundVM
  /** The Node's other machines: see `NodeMachines`. */
  readonly others: readonly BoundVM[]
  readonly lifeSign: string
  /** The same of its agent alone: see {@link agentSignOf}. */
  readonly agentSign: string | undefined
  /** Whether to count the VolumeAttachments too. */
  readonly volumes: boolean
}

/** The last probe of one machine, by each vCenter. */
export type Probed = Omit<ProofFacts, 'inhabited'>

/** Consecutive results that agreed. Times are monotonic, in milliseconds, so that setting the clock changes nothing. */
interface Run {
  readonly since: number
  readonly last: number
  readonly times: number
}

/** What the probes of a VM that is missing or off have shown. Kept in memory only: a new leader starts again. */
export interface Evidence extends ProbeResult {
  readonly request: ProbeRequest
  /** Whether it was renewed between this result and the previous one. */
  readonly beats: boolean
  /** When the machine was last heard to have given a sign of life after its absence was proven; undefined where it has not. */
  readonly spokenAt: number | undefined
  /** When its agent was last heard to have reported, or the first of these results came. */
  readonly agentHeardAt: number
  /** How many results in a row have proven nothing. */
  readonly unproven: number
  /** Complete proofs of absence in a row. */
  readonly absent: Run | undefined
  /**
   * Results in a row by which the VM's own vCenter no longer has it, whatever has its UUID elsewhere. Signs of life do not end
   * them: the machine may have moved.
   */
  readonly departed:
    | (Run & {
        /** Whether the machine has given a sign of life since the first of them. */
        readonly spoke: boolean
      })
    | undefined
  /** Results in a row by which the VM is off and nothing is about to start it. */
  readonly off: Run | undefined
}

/** What all vCenters and the API server answered to one probe request. */
export interface ProbeResult extends Omit<ProofFacts, 'vm'> {
  /** The probes of the Node's other machines. */
  readonly others: readonly Probed[]
  /** VolumeAttachments of the Node; undefined where they were not requested or could not be counted. */
  readonly attachments: number | undefined
  /** Changes when the kubelet renews its Lease; undefined where the Lease could not be read. */
  readonly heartbeat: string | undefined
  /** When the request was sent, monotonic: the result is as old as its request. */
  readonly askedAt: number
  /** When the last vCenter answered, by the monotonic clock and by the wall clock. */
  readonly answeredAt: { readonly monotonic: number; readonly now: number }
}

/**
 * Adds a result to the evidence. Anything but the same result again starts the count anew: a result that proves less,
 * another VM or Node, a new session (a vCenter that was away may have started with half of its inventory), a sign of life.
 */
export function weigh(before: Evidence | undefined, request: ProbeRequest, result: ProbeResult): Evidence {
  const { heartbeat, askedAt: at } = result
  const same = before !== undefined && isAbout(before.request, request) ? before : undefined
  // A Lease that cannot be read says nothing.
  const beats = heartbeat !== undefined && same?.heartbeat !== undefined && same.heartbeat !== heartbeat
  const speaks = same !== undefined && (beats || hasReported(same.request, request))
  const continues = before !== undefined && sameCourse(before, request, result)
  const row = (run: Run | undefined): Run =>
    continues && run !== undefined
      ? { since: run.since, last: at, times: run.times + 1 }
      : { since: at, last: at, times: 1 }
  const proven = unmetProofsOf({ ...result, request }).length === 0 && heartbeat !== undefined
  return {
    ...result,
    request,
    beats,
    spokenAt: speaks && (same.absent ?? same.spokenAt) !== undefined ? at : same?.spokenAt,
    agentHeardAt: same !== undefined && same.request.agentSign === request.agentSign ? same.agentHeardAt : at,
    unproven: proven ? 0 : (same?.unproven ?? 0) + 1,
    absent: proven ? row(before?.absent) : undefined,
    departed: departure(same, request, result),
    off: isOffForGood(request.vm, result.probes) ? row(before?.off) : undefined,
  }
}

function departure(
  before: Evidence | undefined,
  request: ProbeRequest,
  result: ProbeResult,
): Evidence['departed'] {
  if (isUnseen(request.vm) || unmetDepartureProofs(request.vm, result).length > 0) return undefined
  const at = result.askedAt
  const run = before && sameSessions(before, request, result) ? before.departed : undefined
  if (run === undefined || before === undefined) return { since: at, last: at, times: 1, spoke: false }
  const spoke = run.spoke || hasReported(before.request, request)
  return { since: run.since, last: at, times: run.times + 1, spoke }
}

/** The evidence, where it is about these machines of this Node. */
export function evidenceOn(
  { machines: [vm, ...others] }: NodeMachines,
  { node, evidence }: { readonly node: Pick<Node, 'uid'>; readonly evidence: Evidence | undefined },
): Evidence | undefined {
  return evidence !== undefined && isAbout(evidence.request, { nodeUID: node.uid, vm, others })
    ? evidence
    : undefined
}

/** A result older than this, milliseconds, is too old to act on. */
const FRESH = 10_000

/** By both clocks: the monotonic one stands still while the machine is suspended, the wall clock may be set. */
export function isFresh(
  { answeredAt }: Pick<Evidence, 'answeredAt'>,
  { monotonic, now }: { readonly monotonic: number; readonly now: number },
): boolean {
  return monotonic - answeredAt.monotonic <= FRESH && Math.abs(now - answeredAt.now) <= FRESH
}

/** What is missing from the proof that all machines of a Node are gone; empty where the proof is complete. */
export function unmetProofsOf(
  evidence: Pick<ProbeResult, 'probes' | 'others' | 'inhabited'> & {
    readonly request: Pick<ProbeRequest, 'vm'>
  },
): readonly UnmetPrecondition[] {
  const { inhabited } = evidence
  return probedOf(evidence).flatMap(({ vm, probes }) => unmetProofs(vm, { probes, inhabited }))
}

/** All machines that were probed, with the results. */
export function probedOf({
  request,
  probes,
  others,
}: Pick<ProbeResult, 'probes' | 'others'> & {
  readonly request: Pick<ProbeRequest, 'vm'>
}): readonly Probed[] {
  return [{ vm: request.vm, probes }, ...others]
}

/** Whether two requests are about the same machines of the same Node. */
export function isAbout(a: Pick<ProbeRequest, 'nodeUID' | 'vm' | 'others'>, b: typeof a): boolean {
  const [ours, theirs] = [a, b].map(({ vm, others }) => [vm, ...others])
  return (
    a.nodeUID === b.nodeUID &&
    ours?.length === theirs?.length &&
    ours?.every((vm, index) => isSameMachine(vm, theirs?.[index])) === true
  )
}

/** Compares morefs, since a VM may be given another UUID; a machine that was never seen has only its UUID. */
function isSameMachine(a: BoundVM, b: BoundVM | undefined): boolean {
  if (a.moref !== b?.moref || a.vCenterInstanceUUID !== b.vCenterInstanceUUID) return false
  return a.moref !== '' || a.biosUUID === b.biosUUID
}

function hasReported(before: ProbeRequest, now: ProbeRequest): boolean {
  return before.lifeSign !== now.lifeSign
}

function sameCourse(before: Evidence, request: ProbeRequest, result: ProbeResult): boolean {
  return (
    isAbout(before.request, request) &&
    !hasReported(before.request, request) &&
    before.heartbeat === result.heartbeat &&
    sameSessions(before, request, result)
  )
}

function sameSessions(before: Evidence, request: ProbeRequest, result: ProbeResult): boolean {
  return sessions(before) === sessions({ ...result, request })
}

function sessions(evidence: Parameters<typeof probedOf>[0]): string {
  const probes = probedOf(evidence).flatMap((each) => each.probes)
  return [...new Set(probes.map(({ vCenter, session }) => `${vCenter}=${session}`))].join(' ')
}

/**
 * A text that changes with each sign of life of a machine: its agent's report and its kubelet's heartbeat. (A living
 * kubelet writes Ready as False; Unknown comes from the node lifecycle controller, which leaves the heartbeat as it is.)
 */
export function lifeSignOf(node: Pick<Node, 'ready'>, report: NodeReport | undefined): string {
  return `${reportSignOf(report)} ${node.ready?.lastHeartbeatTime ?? '-'}`
}

/** A text that changes with each report of a machine's agent; undefined where no agent has ever reported. */
export function agentSignOf(report: NodeReport | undefined): string | undefined {
  if (report?.reportedAt === undefined || (report.spec.ok && isAgentless(report.spec.value))) return undefined
  return reportSignOf(report)
}

function reportSignOf(report: NodeReport | undefined): string {
  return `${report?.reportedAt ?? '-'} ${report?.generation ?? '-'}`
}

/**
 * Whether a Node's machine is gone, as far as one proof says so and nothing contradicts it: the Node is not Ready, and neither
 * its kubelet nor its agent has spoken since. That is not enough to delete the Node, but enough to free its addresses for
 * another. A machine that is merely off is still found by its vCenter and keeps them. One that was registered again or moved
 * keeps its instance UUID, so a VM with no more than its BIOS UUID counts as a copy, which would keep them forever; so does
 * one that the status names because it was seen while the Node's own was not. Nobody can be asked about a VM whose vCenter a
 * person has taken out of the configuration: if the Node is deleted as well, what the other vCenters say is enough.
 */
export function isGone(node: Node, report: NodeReport | undefined, evidence: Evidence | undefined): boolean {
  if (evidence === undefined || evidence.request.nodeUID !== node.uid) return false
  if (node.ready?.status === 'True' || evidence.beats || evidence.heartbeat === undefined) return false
  if (evidence.request.lifeSign !== lifeSignOf(node, report)) return false
  const { vm } = evidence.request
  const named = report?.status.namedVM
  const isCopy = (one: BoundVM): boolean =>
    isSameMachine(one, named) && one.biosUUID === vm.biosUUID && one.instanceUUID !== vm.instanceUUID
  const { inhabited } = evidence
  return probedOf(evidence)
    .filter(({ vm: one }) => !isCopy(one))
    .map(({ vm: one, probes }) => unmetProofs(one, { probes, inhabited }).map(({ name }) => name))
    .every(
      (unmet) =>
        unmet.every((name) => name === 'BIOSUUIDNowhere') ||
        // Were it merely away, its account's privileges would be missing of the proof, too.
        (node.deleting && unmet.every((name) => name === 'OwnVCenterAnswers')),
    )
}
