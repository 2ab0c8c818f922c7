import { printable } from '../printable.ts'
import type { Explanation, StepState } from './facts.ts'

const MAX_LINE = 2_000
const SIGN: Readonly<Record<StepState, string>> = { ok: 'ok', no: 'no', unknown: '?' }

/** For people; ends with a newline. */
export function printExplanation(explanation: Explanation): string {
  const { node, verdict, chain, deletion, changes, leader, assumed, unknown } = explanation
  const width = Math.max(...chain.map(({ name }) => name.length))
  const lines = [
    `Node ${node} ${verdict}`,
    '',
    ...chain.flatMap(({ name, state, says }) =>
      says.map((text, index) =>
        index === 0
          ? `  ${SIGN[state].padEnd(2)}  ${name.padEnd(width)}  ${text}`
          : `${' '.repeat(width + 8)}${text}`,
      ),
    ),
    ...(deletion === undefined
      ? []
      : [
          '',
          'before it is deleted, all of this must hold:',
          ...deletion.map(
            ({ state, what, why }) =>
              `  ${SIGN[state].padEnd(2)}  ${what}${why === undefined ? '' : ` (${why})`}`,
          ),
        ]),
    ...(changes.length === 0 ? [] : ['', 'what would change it:', ...changes.map((each) => `  - ${each}`)]),
    '',
    leader,
    ...[...assumed, ...unknown].map((each) => `! ${each}`),
  ]
  return `${lines.map((line) => printable(line, MAX_LINE)).join('\n')}\n`
}

/** For programs; one object, and a newline. */
export function explanationJSON(explanation: Explanation): string {
  return `${JSON.stringify(explanation, null, 2)}\n`
}
