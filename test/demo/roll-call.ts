import { binary } from '../../build/binaries.ts'
import { startAgent } from '../world/agent.ts'
import type { Program } from '../world/program.ts'
import type { Board } from './board.ts'
import { whatEnded } from './ended.ts'
import { type DemoMember, register } from './fleet.ts'
import { observeDuring, type Snapshot } from './observe.ts'
import type { DemoSite } from './site.ts'
import type { NodeRow } from './table.ts'
import { isDone, viewOf } from './view.ts'

export interface RollCallContext {
  readonly board: Board
  /** Every agent is handed to it, to be stopped in reverse. */
  readonly stack: AsyncDisposableStack
  readonly signal: AbortSignal
}

/** What came of it. */
export interface RollCall {
  readonly snapshot: Snapshot
  /** As the board has them. */
  readonly rows: readonly NodeRow[]
  readonly agents: ReadonlyMap<string, Program>
  /** Milliseconds from registration to the end of the taint, of the Nodes that got there. */
  readonly times: readonly number[]
  /** `performance.now()`, before the first registration. */
  readonly startedAt: number
  /** Why it was given up before all Nodes were there. */
  readonly problem: string | undefined
}

const PATIENCE = 60_000

/** Registers the Nodes, starts an agent for each, and shows them until all are initialized and proven. */
export async function rollCall(site: DemoSite, { board, stack, signal }: RollCallContext): Promise<RollCall> {
  const startedAt = performance.now()
  const members = new Map<string, DemoMember>()
  const agents = new Map<string, Program>()
  const after = new Map<string, number>()
  let rows: readonly NodeRow[] = []
  let problem: string | undefined

  const seen = (snapshot: Snapshot): boolean => {
    rows = site.nodes.map(({ name }): NodeRow => {
      const view = viewOf(name, snapshot.nodes.get(name), snapshot.reports.get(name))
      const member = members.get(name)
      if (view.state === 'initialized' && member && !after.has(name)) {
        after.set(name, performance.now() - member.registeredAt)
      }
      const time = after.get(name)
      return time === undefined ? view : { ...view, after: time }
    })
    const elapsed = performance.now() - startedAt
    board.show(rows, elapsed)
    problem = whatEnded(site.controller, agents)
    if (elapsed > PATIENCE)
      problem ??= `not all Nodes were initialized and proven within ${PATIENCE / 1000} s`
    return problem !== undefined || rows.every(isDone)
  }
  const populate = async () => {
    const command = await binary('rollcall-agent')
    for (const planned of site.nodes) members.set(planned.name, await register(site, planned))
    for (const [name, { kubeconfig, root }] of members) {
      agents.set(name, stack.use(await startAgent({ kubeconfig, root, command })))
    }
  }
  const snapshot = await observeDuring(populate, site.cluster, seen, signal)
  return { snapshot, rows, agents, times: [...after.values()], startedAt, problem }
}
