import { isInitialized } from '../world/objects.ts'
import { formatDuration, wrap } from './screen.ts'
import type { Show } from './show.ts'

/** Milliseconds. */
export interface Times {
  /** From a VM's end to its Node's, and from power-off to taint; undefined where it was not seen. */
  deletedAfter?: number
  taintedAfter?: number
}

const MARGIN = 15

/**
 * Sums up what is known of the Nodes and vCenter now; the list of calls goes on in the next line before it is too long.
 *
 * @param right how many Nodes are as they should be
 * @param forger what became of the forger
 */
export async function summarize(
  { stage, cast, screen }: Show,
  right: number,
  forger: string,
): Promise<string[]> {
  const took = cast.flatMap(({ name }) => {
    const [first, ...more] = stage.nodes.of(name)
    const done = more.find(({ object }) => isInitialized(object))
    return first && done ? [done.at - first.at] : []
  })
  const [fastest, slowest] = [Math.min(...took), Math.max(...took)].map(formatDuration)
  const { total, operations } = await stage.vcsim.calls()
  const calls = Object.entries(operations)
    .toSorted(([a, m], [b, n]) => n - m || (a < b ? -1 : 1))
    .map(([operation, count]) => `${count} ${operation.replace('/rest/com/vmware/cis/', '')}`)
  const all = right === cast.length ? 'all' : `${right} of`
  return [
    row('Nodes', `${all} ${cast.length} proven, and initialized as vCenter says; ${forger}`),
    row(
      'initialized',
      took.length === 0 ? 'none' : `the first ${fastest} after its registration, the last ${slowest}`,
    ),
    row('vCenter calls', `${total} until all of that was so`),
    ...wrap(calls, screen.columns - MARGIN, ', ').map((line, i, lines) =>
      row('', i < lines.length - 1 ? `${line},` : line),
    ),
  ]
}

export function row(name: string, text: string): string {
  return `${name.padEnd(MARGIN)}${text}`
}
