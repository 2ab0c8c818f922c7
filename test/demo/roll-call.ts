import { binary } from '../../build/binaries.ts'
import { startAgent } from '../fixtures/agent.ts'
import type { Program } from '../fixtures/program.ts'
import { createBoard } from './board.ts'
import { type Member, register } from './fleet.ts'
import { observe, type Snapshot } from './observe.ts'
import type { Site } from './site.ts'
import type { Row } from './table.ts'
import type { Terminal } from './terminal.ts'
import { isDone, viewOf } from './view.ts'

/** What came of it. */
export interface RollCall {
  readonly snapshot: Snapshot
  readonly agents: ReadonlyMap<string, Program>
  /** Milliseconds from registration to the end of the taint, of the Nodes that got there. */
  readonly times: readonly number[]
  /** From the first registration until nothing was left to wait for. */
  readonly elapsed: number
  /** Why it was given up before all Nodes were there. */
  readonly problem: string | undefined
}

const PATIENCE = 60_000

/** Registers the Nodes, starts an agent for each, and shows them until all are initialised and proven. */
export async function rollCall(
  site: Site,
  { terminal, stack, signal }: { terminal: Terminal; stack: AsyncDisposableStack; signal: AbortSignal },
): Promise<RollCall> {
  const board = createBoard(terminal)
  // However it ends, the cursor comes back.
  stack.defer(() => board.end())
  const start = performance.now()
  const members = new Map<string, Member>()
  const agents = new Map<string, Program>()
  const after = new Map<string, number>()
  let problem: string | undefined

  const seen = (snapshot: Snapshot): boolean => {
    const rows = site.nodes.map(({ name }): Row => {
      const view = viewOf(name, snapshot.nodes.get(name), snapshot.reports.get(name))
      const member = members.get(name)
      if (view.state === 'initialised' && member && !after.has(name)) {
        after.set(name, performance.now() - member.registeredAt)
      }
      const time = after.get(name)
      return time === undefined ? view : { ...view, after: time }
    })
    const elapsed = performance.now() - start
    board.show(rows, elapsed)
    problem = whatEnded(site.controller, agents)
    if (elapsed > PATIENCE)
      problem ??= `not all Nodes were initialised and proven within ${PATIENCE / 1000} s`
    return problem !== undefined || rows.every(isDone)
  }

  const command = await binary('rollcall-agent')
  const populate = async () => {
    for (const planned of site.nodes) members.set(planned.name, await register(site, planned))
    for (const [name, { kubeconfig, root }] of members) {
      agents.set(name, stack.use(await startAgent({ kubeconfig, root, command })))
    }
  }
  const stopWatching = new AbortController()
  const [snapshot] = await Promise.all([
    observe(site.cluster, seen, AbortSignal.any([signal, stopWatching.signal])),
    populate().catch((error: unknown) => {
      stopWatching.abort(error)
      throw error
    }),
  ])
  board.end()
  return { snapshot, agents, times: [...after.values()], elapsed: performance.now() - start, problem }
}

/** Neither the controller nor an agent has a reason to end. */
function whatEnded(controller: Program, agents: ReadonlyMap<string, Program>): string | undefined {
  const all = new Map([
    ['controller', controller],
    ...[...agents].map(([name, agent]) => [`agent of ${name}`, agent] as const),
  ])
  for (const [name, program] of all) {
    const exit = program.exit()
    if (exit) return `the ${name} ended with ${exit.signal ?? `code ${exit.code}`}`
  }
  return undefined
}
