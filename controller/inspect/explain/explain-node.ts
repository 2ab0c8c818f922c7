import { didYouMean } from '../../../agent/shared/did-you-mean.ts'
import type { Condition } from '../../../agent/shared/node-report.ts'
import { columns, escapeUnprintable, printable } from '../../../agent/shared/printable.ts'
import { PROOFS } from '../../loops/node/decide/lifecycle/absence-proofs.ts'
import {
  heldBy,
  holdsByList,
  PRECONDITIONS,
} from '../../loops/node/decide/lifecycle/deletion-preconditions.ts'
import { isShutdownTaint } from '../../loops/node/decide/lifecycle/shutdown-taint.ts'
import { addAgent, isWindows, previousStatus } from '../../loops/node/facts/previous-status.ts'
import { ANNOTATION_DELETION, type Node, type NodeReport } from '../../types/node.ts'
import { type LeaderTroubles, troubleLines, unsaid } from '../status/leader.ts'
import { type NodeStatus, statusOf } from '../status/node-status.ts'
import { type ChainStep, chainOf, type ExplainFacts } from './chain.ts'

/** Something that must hold before a Node is deleted. */
interface DeletionItem {
  readonly name: string
  /** In plain words. */
  readonly what: string
  readonly state: ChainStep['state']
  /** Why it does not hold, or is not known. */
  readonly why?: string
}

export interface Explanation {
  readonly node: string
  /** One sentence. */
  readonly summary: string
  readonly chain: readonly ChainStep[]
  /** Of a Node whose VM is missing. */
  readonly deletion?: readonly DeletionItem[]
  /** What would change it. */
  readonly changes: readonly string[]
  readonly leader: string
  /** Whether somebody leads; undefined where that is not known. */
  readonly leads?: boolean
  /** What the leader says of itself. */
  readonly troubles?: LeaderTroubles | undefined
  /** What was taken for granted, and may be otherwise. */
  readonly assumed: readonly string[]
  readonly unknown: readonly string[]
}

/** Why a Node is as it is: from its machine and its report to vCenter and the decision. Pure. */
export function explainNode(facts: ExplainFacts): Explanation {
  const { node, report, fresh, leader, leads, troubles, assumed, unknown, reportsRead } = facts
  const status = statusOf(node, reportsRead ? report : 'unread')
  const { conditions } = previousStatus(report, node)
  const pending = conditions?.find(({ type }) => type === 'DeletionPending')
  const written = pending?.status === 'False' ? undefined : pending
  // Of a Node that is being deleted already, nothing is to be proven any more.
  const missing =
    status.state !== 'deleting' && (written !== undefined || fresh?.decision?.probePlan?.missing === true)
  return {
    node: node.name,
    summary: summaryOf(status, leads),
    chain: chainOf(facts),
    ...(missing ? { deletion: deletionItems(facts, written) } : {}),
    changes: changesOf(node, status, missing, idleness(facts, status)),
    leader,
    ...(leads === undefined ? {} : { leads }),
    ...(troubles === undefined ? {} : { troubles }),
    assumed,
    unknown,
  }
}

function summaryOf({ state, level, vm, vCenter, pending }: NodeStatus, leads: boolean | undefined): string {
  // The message of a condition stands in the chain.
  const why = pending?.condition === undefined ? pending?.message : pending.reason
  const because = why === undefined ? '' : `: ${why}`
  const known =
    vm === undefined ? '' : ` as VM "${vm}" of vCenter ${vCenter}, identity ${level ?? 'no longer verified'}`
  switch (state) {
    case 'waiting':
      return `waits for a cloud provider${because}`
    case 'initialized':
      return `is initialized${known}${pending === undefined ? '' : `; needs attention${because}`}`
    case 'doubted':
      return level === undefined
        ? `was verified before${known}${because}`
        : `keeps what was verified before${known}, which cannot be verified now or is contradicted${because}`
    case 'VM off':
      return `is initialized, and its VM is off${because}`
    case 'VM missing':
      return `is kept, as it is unknown whether its VM is gone${because}`
    case 'VM gone':
      return pending?.reason === 'VMGone'
        ? `is ${leads === false ? 'to be deleted by the next leader' : 'deleted'}${because}`
        : `is kept for now, although its VM is gone${because}`
    case 'deleting':
      return 'is being deleted'
    case 'unknown':
      return 'cannot be explained: NodeReports cannot be read'
    case 'unmanaged':
      return `is left alone by Rollcall${because || ': it has no report, and does not wait for a cloud provider'}`
  }
}

const LOOKS_AGAIN =
  'it is checked again automatically: at once when a new report or a change in vCenter arrives, otherwise within five minutes'

/** Why the leader changes nothing of this Node, as what would end that; undefined where it does. */
function idleness(
  { node, report, leads, troubles }: ExplainFacts,
  { vCenter }: NodeStatus,
): string | undefined {
  if (leads === false)
    return 'a replica of rollcall-controller becomes the leader; until then nothing changes the Node, whatever happens to its VM'
  const stops = (troubles?.troubles ?? []).map((each) => each.stops)
  if (stops.includes(''))
    return 'the other controller stops handling Nodes; until then this one does not change the Node (see the line with "!")'
  if (vCenter !== undefined)
    return stops.includes(vCenter)
      ? `the leader can ask vCenter ${vCenter} again; until then it does not see what happens to the VM (see the line with "!")`
      : undefined
  const away = stops.filter((stopped) => stopped !== undefined)
  const unseen = previousStatus(report, node).conditions?.some(
    ({ type, status }) => type === 'VMFound' && status === 'Unknown',
  )
  return unseen === true && away.length > 0
    ? `the leader can ask vCenter ${away.join(', ')} again; until then it is not known whether the VM of this Node is there (see the line with "!")`
    : undefined
}

/** @param idle see {@link idleness}; it takes the place of all that the leader would do by itself */
function changesOf(
  node: Node,
  { name, state, level, pending }: NodeStatus,
  missing: boolean,
  idle: string | undefined,
): readonly string[] {
  const byLeader = (...lines: readonly string[]) => (idle === undefined ? lines : [idle])
  if (missing)
    return [
      ...byLeader('its VM is found again, or its kubelet or its agent reports: it is kept'),
      `to keep it, whatever is proven: kubectl annotate node ${name} ${ANNOTATION_DELETION}=hold`,
      `to delete it now: kubectl delete node ${name}`,
    ]
  const explained = pending === undefined ? [] : [`what to do about ${pending.reason}: docs/reasons.md`]
  switch (state) {
    case 'waiting':
      return pending?.reason === 'NoReport'
        ? [reportOfAgent(node), ...byLeader()]
        : [...explained, ...byLeader(LOOKS_AGAIN)]
    case 'doubted':
      return [
        ...explained,
        ...byLeader(LOOKS_AGAIN),
        ...(level === undefined
          ? []
          : ['the previous verification remains valid until something contradicts it']),
      ]
    case 'VM off':
      return pending?.condition === 'VMFound'
        ? byLeader('the VM runs again: the taints that say it is off are removed, usually within a second')
        : [
            ...explained,
            ...byLeader('the API server accepts the write: the Node gets the taint that keeps new pods away'),
          ]
    case 'initialized':
      return [
        ...explained,
        ...(level === 'proven'
          ? []
          : ['what is missing for the next level of identity is said above, under identity']),
        ...byLeader(
          ofShutdown(node, pending?.reason),
          'no vCenter knows its VM any more, and its kubelet and its agent are silent: the Node is deleted, if lifecycle.deletion is on (docs/lifecycle.md)',
        ),
      ]
    case 'unmanaged':
      return [
        `${isWindows(node) ? '' : 'an agent that reports from it; '}the taint of Nodes that wait for a cloud provider`,
        ...byLeader(),
      ]
    case 'deleting':
      return [
        'its finalizers are removed: the API server then deletes it',
        ...byLeader(
          'its VM is proven gone, and its kubelet and its agent are silent: it holds no address any more, whatever its finalizers',
        ),
      ]
    case 'VM missing':
    case 'VM gone':
      return byLeader()
    case 'unknown':
      return []
  }
}

function ofShutdown({ taints }: Node, reason: string | undefined): string {
  if (reason === 'NodePatchRefused')
    return 'the API server accepts the write; until then the Node might not be tainted if its VM is powered off'
  return taints.some(isShutdownTaint)
    ? 'the leader sees that its VM runs: the taint is removed, unless lifecycle.shutdownTaint is false'
    : 'its VM is powered off: the Node is tainted, unless lifecycle.shutdownTaint is false'
}

function reportOfAgent(node: Node): string {
  return isWindows(node)
    ? 'the Node is exempted: there is no agent for Windows ("identity.exempt", docs/configuration.md)'
    : `a report of its agent: on the machine "journalctl -u rollcall-agent", or "kubectl get pods -A -l app.kubernetes.io/name=rollcall-agent --field-selector spec.nodeName=${node.name}" and the log of that Pod; if there is none: ${addAgent(node)}`
}

/** What one look answers: it depends on vCenter, the configuration and the cluster alone. */
const BY_ONE_LOOK: ReadonlySet<string> = new Set([
  ...PROOFS.map(({ name }) => name),
  'DeletionOn',
  'SeenOrWanted',
  'VolumesDetached',
  'NotDryRun',
])
const LEADER_ALONE = 'only the leader knows'
const NOT_ASKED = 'not asked: give --config'
const NOT_PROBED = 'nothing was probed: a vCenter has not answered, or shows the VM'
const READY = 'the Node is Ready, so its machine runs somewhere'

/**
 * All that must hold before a Node is deleted, and what of it does, by the leader's own lists. The report's status has what
 * is missing; for how long an absence has been proven is in the leader's memory alone.
 */
function deletionItems(facts: ExplainFacts, leader: Condition | undefined): readonly DeletionItem[] {
  return [...PROOFS, ...PRECONDITIONS].map((row) => ({
    name: row.name,
    what: row.holds,
    ...find(row, facts, leader),
  }))
}

/** @param leader DeletionPending as the leader wrote it; undefined where it has not */
function find(
  row: Parameters<typeof holdsByList>[1],
  { node, report, asked, fresh }: ExplainFacts,
  leader: Condition | undefined,
): Pick<DeletionItem, 'state' | 'why'> {
  const { name } = row
  const { deletionUnmet: listed } = previousStatus(report, node)
  // What is missing by one probe of the VM that was made now.
  const unmet = fresh?.decision?.deletionUnmet
  if (name === 'NotHeld') return notBy(heldBy(node)?.message)
  if (name === 'NodeNotReady') return notBy(node.ready?.status === 'True' ? READY : undefined)
  const byOneLook = BY_ONE_LOOK.has(name)
  if (unmet !== undefined && byOneLook) return notBy(unmet.find((each) => each.name === name)?.message)
  const holds = listed && holdsByList(listed, row)
  if (holds === true) return { state: 'ok' }
  if (holds === false) {
    // The condition gives the reason of the first.
    const reason = name === listed?.[0] ? `${leader?.reason}, ` : ''
    return { state: 'no', why: `${reason}as the leader says above` }
  }
  const unprobed = asked ? NOT_PROBED : NOT_ASKED
  return { state: 'unknown', why: byOneLook ? unprobed : LEADER_ALONE }
}

function notBy(why: string | undefined): Pick<DeletionItem, 'state' | 'why'> {
  return why === undefined ? { state: 'ok' } : { state: 'no', why }
}

const MAX_LINE = 2_000
const SIGN: Readonly<Record<ChainStep['state'], string>> = { ok: 'ok', no: 'no', unknown: '?' }

/** For people; ends with a newline. */
export function printExplanation(explanation: Explanation): string {
  const { node, summary, chain, deletion, changes, leader, leads, troubles, assumed, unknown } = explanation
  const lines = [
    `Node ${node} ${summary}`,
    '',
    ...indented(
      chain.flatMap(({ name, state, says }) =>
        says.map((text, index) => (index === 0 ? [SIGN[state], name, text] : ['', '', text])),
      ),
    ),
    ...(deletion === undefined
      ? []
      : [
          '',
          'before it is deleted, all of this must hold:',
          ...indented(
            deletion.map(({ state, what, why }) => [
              SIGN[state],
              `${what}${why === undefined ? '' : ` (${why})`}`,
            ]),
          ),
        ]),
    ...(changes.length === 0 ? [] : ['', 'what would change it:', ...changes.map((each) => `  - ${each}`)]),
    '',
    leader,
    ...unsaid(leads, troubles),
    ...[...troubleLines(troubles), ...assumed, ...unknown].map((each) => `! ${each}`),
  ]
  return `${lines.map((line) => printable(line, MAX_LINE)).join('\n')}\n`
}

function indented(rows: readonly (readonly string[])[]): readonly string[] {
  return columns(rows).map((line) => `  ${line}`)
}

/** For programs; one object, and a newline. */
export function explanationJSON(explanation: Explanation): string {
  return `${escapeUnprintable(JSON.stringify(explanation, null, 2))}\n`
}

/** What may be said where no Node has this name: the Node that was probably meant, and why. */
export function suggestNode(
  word: string,
  nodes: readonly Node[],
  report: (name: string) => NodeReport | undefined,
): string {
  const names = nodes.map(({ name }) => name)
  const ofVM = nodes.find((node) => previousStatus(report(node.name), node).vm?.name === word)
  if (ofVM !== undefined) return `; VM "${word}" is Node ${ofVM.name}`
  const ofAddress = nodes.find(({ addresses }) => addresses.some(({ address }) => address === word))
  if (ofAddress !== undefined) return `; ${word} is an address of Node ${ofAddress.name}`
  const near =
    names.find((name) => name.startsWith(`${word}.`) || word.startsWith(`${name}.`)) ??
    didYouMean(word, names)
  if (near !== undefined) return `: did you mean ${near}?`
  return nodes.length === 0 ? '; there are no Nodes' : '; "kubectl get nodes" lists them all'
}
