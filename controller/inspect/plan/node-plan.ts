import type { Condition, ConditionType, IdentityLevel } from '../../../agent/shared/node-report.ts'
import { escapeUnprintable, printable } from '../../../agent/shared/printable.ts'
import type { DecisionConfig } from '../../config/config.ts'
import { counted } from '../../lib/format.ts'
import type { Decision } from '../../loops/node/decide/decision.ts'
import type { ProbeRequest } from '../../loops/node/decide/lifecycle/evidence.ts'
import { mayGoUnseen } from '../../loops/node/decide/lifecycle/missing-vm.ts'
import { isUnseen, machinesOf, machineUUID } from '../../loops/node/facts/machines.ts'
import { addAgent, isWindows } from '../../loops/node/facts/previous-status.ts'
import { mayProceed } from '../../loops/node/facts/removal.ts'
import type { Node, NodeReport } from '../../types/node.ts'
import { LABEL_IDENTITY_LEVEL } from '../../types/well-known.ts'

/** One thing that would be another. A list of addresses or taints is one text, as `kubectl` prints it. */
interface Change {
  /** `labels.KEY`, `addresses`, `taints`, `providerID`, `annotation` (`rollcall.dev/deletion`), `certificate` or `deletion`. */
  readonly what: string
  /** Undefined where it is not there. */
  readonly from: string | undefined
  readonly to: string | undefined
}

/** What would become of one Node. */
export interface NodePlan {
  readonly name: string
  /** How strongly its VM would be known; undefined where it would not. */
  readonly level: IdentityLevel | undefined
  /** The label that shows the level is Rollcall's own, and not among these. */
  readonly changes: readonly Change[]
  /** Whether the label that shows the level would change. */
  readonly levelLabel: boolean
  /** Why its level is not a higher one; undefined where it is `proven`, or where there is none, which the remarks explain. */
  readonly lacks: string | undefined
  /** What is not as it should be, or is not known: a condition's reason and message. */
  readonly remarks: readonly string[]
}

/** What a leader would make of one Node now. */
export interface FreshLook {
  /** The last one. */
  readonly decision: Decision | undefined
  readonly plan: NodePlan
}

/** Compares a Node with what the leader would make of it. */
export function planOf(options: {
  readonly before: Node
  readonly after: Node
  readonly report: NodeReport | undefined
  /** Before anything was written; by default the same. */
  readonly reportBefore?: NodeReport | undefined
  readonly decision: Decision | undefined
  readonly settings: Pick<DecisionConfig, 'identity' | 'lifecycle'>
}): NodePlan {
  const { before, after, report, decision, settings } = options
  const labels = [...new Set([...Object.keys(before.labels), ...Object.keys(after.labels)])].sort()
  const label = (key: string) => change(`labels.${key}`, before.labels[key], after.labels[key])
  const request = decision?.probePlan?.missing === true ? decision.probePlan.request : undefined
  const conditions = conditionsOf(report, decision)
  const goes =
    request !== undefined &&
    mayGo(request, {
      node: before,
      bound: machinesOf(before, report)?.bound === true,
      machineUUID: machineUUID(before, report, settings.identity),
      settings,
    })
  return {
    name: before.name,
    level: decision?.level,
    changes: [
      ...labels.filter((key) => key !== LABEL_IDENTITY_LEVEL).flatMap(label),
      ...change('providerID', before.providerID, after.providerID),
      ...change('addresses', addressText(before), addressText(after)),
      ...change('taints', taintText(before), taintText(after)),
      ...change('annotation', before.deletionAnnotation, after.deletionAnnotation),
      ...change(
        'certificate',
        undefined,
        approvalOf(conditions, conditionsOf(options.reportBefore, undefined)),
      ),
      ...(goes ? change('deletion', undefined, 'once its VM is proven gone') : []),
    ],
    levelLabel: label(LABEL_IDENTITY_LEVEL).length > 0,
    lacks:
      decision?.level === 'asserted' || decision?.level === 'reported'
        ? conditions.find(({ type }) => type === 'IdentityVerified')?.message
        : undefined,
    remarks: [
      ...conditions.flatMap(({ type, status, reason, message }) =>
        isTold(type, status, request !== undefined, decision) ? [`${reason}: ${message}`] : [],
      ),
      // Without a report there are no conditions.
      ...(decision?.refusal?.reason === 'NoReport' && conditions.length === 0 ? [noReport(before)] : []),
    ],
  }
}

/** Whether nothing but time and proof is missing: what only a person or another configuration can change holds it otherwise. */
function mayGo(
  { vm, others }: Pick<ProbeRequest, 'vm' | 'others'>,
  { bound, ...facts }: Parameters<typeof mayGoUnseen>[0] & Parameters<typeof mayGoUnseen>[1],
): boolean {
  const { node, settings } = facts
  if (settings.lifecycle.deletion !== 'on' || node.ready?.status === 'True') return false
  if (node.deletionAnnotation !== undefined && !mayProceed(node)) return false
  return ![vm, ...others].some(isUnseen) || mayGoUnseen({ bound }, facts)
}

function conditionsOf(report: NodeReport | undefined, decision: Decision | undefined): readonly Condition[] {
  return decision?.status?.conditions ?? report?.status.conditions ?? []
}

/** The request that would be approved, and for what; undefined where none would be. */
function approvalOf(after: readonly Condition[], before: readonly Condition[]): string | undefined {
  const find = (conditions: readonly Condition[]) =>
    conditions.find(({ type, status }) => type === 'ServingCertificate' && status === 'True')?.message
  const message = find(after)
  return message === find(before) ? undefined : message
}

function noReport(node: Node): string {
  const waits = isWindows(node) ? addAgent(node) : 'waiting for its agent to report'
  return `NoReport: ${waits}; nothing more is known until then`
}

/** Conditions of which anything but True is worth telling. */
const WANTED: readonly ConditionType[] = [
  'VMFound',
  'VMUnique',
  'IdentityVerified',
  'TopologyResolved',
  'LabelsResolved',
  'AddressesResolved',
  'ServingCertificate',
]

function isTold(
  type: ConditionType,
  status: Condition['status'],
  missing: boolean,
  decision: Decision | undefined,
): boolean {
  if (type === 'DeletionPending') return missing
  return status !== 'True' && (WANTED.includes(type) || type === decision?.refusal?.condition)
}

function change(what: string, from: string | undefined, to: string | undefined): readonly Change[] {
  return from === to ? [] : [{ what, from, to }]
}

function addressText({ addresses }: Node): string | undefined {
  return addresses.map(({ type, address }) => `${type}=${address}`).join(', ') || undefined
}

function taintText({ taints }: Node): string | undefined {
  return (
    taints.map(({ key, value, effect }) => `${key}${value ? `=${value}` : ''}:${effect}`).join(', ') ||
    undefined
  )
}

/** A list of addresses or taints is some hundred characters long. */
const MAX_VALUE = 2_000

export interface Plan {
  readonly nodes: readonly NodePlan[]
  /** Of each vCenter that has not answered for all Nodes, why. */
  readonly remarks: readonly string[]
  /** Where the CPI was looked for: what there is of it, and the steps of the hand-over. */
  readonly handOver?: readonly string[]
}

/** Whether anything would change, but for the label of Rollcall's own. */
export function changesSomething({ nodes }: Plan): boolean {
  return nodes.some(({ changes }) => changes.length > 0)
}

/** Whether every vCenter has answered for every Node. */
export function isWhole({ remarks }: Plan): boolean {
  return remarks.length === 0
}

/** For people: the Nodes that would change or that lack something, then totals. Ends with a newline. */
export function printPlan(plan: Plan): string {
  const told = plan.nodes.filter(({ changes, remarks }) => changes.length > 0 || remarks.length > 0)
  const lines = told.flatMap(({ name, level, changes, remarks }) => [
    `${name}  identity ${level ?? 'not verified'}`,
    ...changes.map(({ what, from, to }) => `  ${symbol(from, to)} ${what}: ${values(from, to)}`),
    ...remarks.map((remark) => `  ! ${printable(remark, 1024)}`),
    '',
  ])
  const changing = plan.nodes.filter(({ changes }) => changes.length > 0).length
  const at = (wanted: NodePlan['level']) =>
    plan.nodes.filter(({ level }) => level === wanted).map(({ name }) => name)
  const [asserted, reported] = [at('asserted'), at('reported')]
  const labeled = plan.nodes.filter(({ levelLabel }) => levelLabel).map(({ name }) => name)
  return [
    ...lines,
    ...plan.remarks.map((remark) => `! ${printable(remark, 1024)}`),
    changing === 0
      ? `no change to any of ${plan.nodes.length} Nodes`
      : `${changing} of ${plan.nodes.length} Nodes would change`,
    ...(labeled.length === 0 ? [] : [`Nodes that would get a new identity level label: ${counted(labeled)}`]),
    ...(asserted.length === 0 ? [] : [`Nodes that need an agent to reach reported: ${counted(asserted)}`]),
    ...(reported.length === 0
      ? []
      : [
          `Nodes that need a claim by their VM to reach proven: ${counted(reported)}; --output json has the reasons`,
        ]),
    ...(plan.handOver === undefined ? [] : ['', ...plan.handOver.map((line) => printable(line, 1024))]),
    '',
  ].join('\n')
}

/** For programs; one object, and a newline. */
export function planJSON(plan: Plan): string {
  return `${escapeUnprintable(JSON.stringify({ changes: changesSomething(plan), ...plan }, null, 2))}\n`
}

function symbol(from: string | undefined, to: string | undefined): string {
  if (from === undefined) return '+'
  return to === undefined ? '-' : '~'
}

function values(from: string | undefined, to: string | undefined): string {
  const shown = [from, to].filter((value) => value !== undefined).map((value) => printable(value, MAX_VALUE))
  return shown.join(' -> ')
}
