import { columns } from '../../../agent/shared/columns.ts'
import { escapeUnprintable, printable } from '../../../agent/shared/printable.ts'
import type { Explanation, StepState } from './facts.ts'

const MAX_LINE = 2_000
const SIGN: Readonly<Record<StepState, string>> = { ok: 'ok', no: 'no', unknown: '?' }

/** For people; ends with a newline. */
export function printExplanation(explanation: Explanation): string {
  const { node, summary, chain, deletion, changes, leader, assumed, unknown } = explanation
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
    ...[...assumed, ...unknown].map((each) => `! ${each}`),
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
