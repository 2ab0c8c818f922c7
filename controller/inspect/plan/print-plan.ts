import { escapeUnprintable, printable } from '../../../agent/shared/printable.ts'
import { counted } from '../../lib/listed.ts'
import type { NodePlan } from './node-plan.ts'

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
