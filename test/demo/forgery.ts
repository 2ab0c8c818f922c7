import { binary } from '../../build/binaries.ts'
import { startAgent } from '../world/agent.ts'
import type { Program } from '../world/program.ts'
import { REFUSED_BECAUSE } from './check-forger.ts'
import { whatEnded } from './ended.ts'
import { eventsOn, type ObservedEvent } from './events.ts'
import { register } from './fleet.ts'
import { observeDuring, type Snapshot } from './observe.ts'
import type { RollCall, RollCallContext } from './roll-call.ts'
import type { DemoSite } from './site.ts'
import { viewOf } from './view.ts'

/** What came of it. */
export interface Forgery {
  /** The forger's among them. */
  readonly agents: ReadonlyMap<string, Program>
  /** Events on the forger's Node. */
  readonly events: readonly ObservedEvent[]
  /** Why it was given up before it was decided. */
  readonly problem: string | undefined
}

const PATIENCE = 30_000

/** Lets the forger register its Node and report among the others, and shows it until it is refused or let in. */
export async function tryForgery(
  site: DemoSite,
  { rows, agents: others, startedAt }: RollCall,
  { board, stack, signal }: RollCallContext,
): Promise<Forgery> {
  const { pretense, vm } = site.forger
  const { name } = pretense
  const agents = new Map(others)
  const start = performance.now()
  let problem: string | undefined

  const seen = ({ nodes, reports }: Snapshot): boolean => {
    const view = viewOf(name, nodes.get(name), reports.get(name))
    const now = performance.now()
    board.show([...rows, view], now - startedAt)
    problem = whatEnded(site.controller, agents)
    if (now - start > PATIENCE) problem ??= `nothing was decided about ${name} within ${PATIENCE / 1000} s`
    return problem !== undefined || view.state === 'refused' || view.state === 'initialized'
  }
  const begin = async () => {
    const command = await binary('rollcall-agent')
    const { root, kubeconfig } = await register(site, pretense, vm)
    agents.set(name, stack.use(await startAgent({ root, kubeconfig, command })))
  }
  await observeDuring(begin, site.cluster, seen, signal)
  const events = problem === undefined ? await eventsOn(site.cluster, name, REFUSED_BECAUSE, signal) : []
  return { agents, events, problem }
}
